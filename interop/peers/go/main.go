// The Go peer: Apache Thrift's own library, spoken to through the common command line.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"dovetail.test/line"
	"dovetail.test/peer/gen/interop"
	"github.com/apache/thrift/lib/go/thrift"
)

const timeout = 30 * time.Second

// What the cases are told.
type options struct{ line.Options }

func main() {
	line.Run(map[string]func([]string){
		"capabilities": capabilities,
		"golden":       func(arguments []string) { golden(arguments[0]) },
		"server":       func(arguments []string) { serve(parse(arguments)) },
		"client":       func(arguments []string) { runClient(parse(arguments)) },
	})
}

func parse(arguments []string) options {
	return options{line.Parse(arguments, "binary", "buffered")}
}

var protocols = []string{"binary", "binary-nonstrict", "compact", "json"}

func capabilities([]string) {
	var all []line.Capability
	add := func(protocols []string, transport string, unix bool) {
		for _, protocol := range protocols {
			for _, multiplexed := range []bool{false, true} {
				all = append(all, line.Capability{
					Protocol: protocol, Transport: transport, Multiplexed: multiplexed,
					Roles: []string{"client", "server"}, Unix: unix,
				})
			}
		}
	}
	add(protocols, "buffered", true)
	add(protocols, "framed", true)
	add(protocols, "zlib", true)
	add(protocols, "http", false)
	add([]string{"binary", "compact"}, "header", true)
	add([]string{"binary", "compact"}, "header-zlib", true)
	reason := "THeaderProtocol knows the subprotocols binary (strict) and compact only"
	for _, protocol := range []string{"json", "binary-nonstrict"} {
		all = append(all, line.Capability{Protocol: protocol, Transport: "header", Roles: []string{}, Reason: reason})
	}
	line.Capabilities(all...)
}

func (o options) configuration() *thrift.TConfiguration {
	conf := &thrift.TConfiguration{ConnectTimeout: timeout, SocketTimeout: timeout}
	strict := o.Protocol != "binary-nonstrict"
	conf.TBinaryStrictRead, conf.TBinaryStrictWrite = &strict, &strict
	id := thrift.THeaderProtocolBinary
	if o.Protocol == "compact" {
		id = thrift.THeaderProtocolCompact
	}
	conf.THeaderProtocolID = thrift.THeaderProtocolIDPtrMust(id)
	return conf
}

func (o options) protocolFactory() thrift.TProtocolFactory {
	if strings.HasPrefix(o.Transport, "header") {
		if o.Protocol != "binary" && o.Protocol != "compact" {
			line.Fail("header carries binary or compact, not " + o.Protocol)
		}
		return thrift.NewTHeaderProtocolFactoryConf(o.configuration())
	}
	switch o.Protocol {
	case "binary", "binary-nonstrict":
		return thrift.NewTBinaryProtocolFactoryConf(o.configuration())
	case "compact":
		return thrift.NewTCompactProtocolFactoryConf(o.configuration())
	case "json":
		return thrift.NewTJSONProtocolFactory()
	}
	line.Fail("no such protocol: " + o.Protocol)
	return nil
}

func (o options) transportFactory() thrift.TTransportFactory {
	switch o.Transport {
	case "buffered":
		return thrift.NewTBufferedTransportFactory(8192)
	case "framed":
		return thrift.NewTFramedTransportFactoryConf(thrift.NewTTransportFactory(), o.configuration())
	case "zlib":
		return thrift.NewTZlibTransportFactoryWithFactory(6, thrift.NewTBufferedTransportFactory(8192))
	case "header", "header-zlib":
		return thrift.NewTTransportFactory() // THeaderProtocol brings its own transport
	}
	line.Fail("no such transport: " + o.Transport)
	return nil
}

func serve(o options) {
	var processor thrift.TProcessor = interop.NewInteropProcessor(&handler{})
	if o.Multiplexed {
		multi := thrift.NewTMultiplexedProcessor()
		multi.RegisterProcessor("Interop", processor)
		multi.RegisterProcessor("Second", interop.NewSecondProcessor(second{}))
		processor = multi
	}
	factory := o.protocolFactory()
	if o.Transport == "http" {
		listener, err := net.Listen("tcp4", o.Address)
		if err != nil {
			line.Fail(err)
		}
		line.Ready(listener.Addr())
		server := http.Server{Handler: http.HandlerFunc(thrift.NewThriftHandlerFunc(processor, factory, factory))}
		line.Fail(server.Serve(listener))
	}
	socket := thrift.NewTServerSocketFromAddrTimeout(o.Addr(), 0)
	if err := socket.Listen(); err != nil {
		line.Fail(err)
	}
	line.Ready(socket.Addr())
	server := thrift.NewTSimpleServer4(processor, socket, o.transportFactory(), factory)
	if err := server.Serve(); err != nil {
		line.Fail(err)
	}
}

// connector opens connections as the options say; cases ask it for clients.
type connector struct {
	options
	open []thrift.TTransport
}

func (c *connector) protocol() thrift.TProtocol {
	var trans thrift.TTransport
	var err error
	if c.Transport == "http" {
		trans, err = thrift.NewTHttpClientWithOptions("http://"+c.Address+"/",
			thrift.THttpClientOptions{Client: &http.Client{Timeout: timeout}})
	} else {
		socket := thrift.NewTSocketFromAddrConf(c.Addr(), c.configuration())
		trans, err = c.transportFactory().GetTransport(socket)
	}
	if err == nil {
		err = trans.Open()
	}
	if err != nil {
		panic(err)
	}
	c.open = append(c.open, trans)
	protocol := c.protocolFactory().GetProtocol(trans)
	if c.Transport == "header-zlib" {
		if err := protocol.(*thrift.THeaderProtocol).AddTransform(thrift.TransformZlib); err != nil {
			panic(err)
		}
	}
	return protocol
}

// named returns a client on the protocol that calls the service by name where that is asked for.
func (c *connector) named(protocol thrift.TProtocol, service string) thrift.TClient {
	if c.Multiplexed {
		return thrift.NewTStandardClient(protocol, thrift.NewTMultiplexedProtocol(protocol, service))
	}
	return thrift.NewTStandardClient(protocol, protocol)
}

func (c *connector) client() *interop.InteropClient {
	return interop.NewInteropClient(c.named(c.protocol(), "Interop"))
}

func (c *connector) future() *interop.FutureClient {
	return interop.NewFutureClient(c.named(c.protocol(), "Interop"))
}

func (c *connector) closeAll() {
	for _, trans := range c.open {
		_ = trans.Close()
	}
	c.open = nil
}

// skip is panicked with by a case that does not exist here.
type skip string

func runClient(o options) {
	c := &connector{options: o}
	report := line.NewReport("")
	for _, each := range cases {
		if o.Only != "" && o.Only != each.name {
			continue
		}
		result, detail := attempt(c, each.run)
		c.closeAll()
		if len(detail) > 300 {
			detail = detail[:300]
		}
		report.Say(each.name, result, detail)
	}
	report.Exit()
}

func attempt(c *connector, run func(*connector) string) (result, detail string) {
	defer func() {
		switch caught := recover().(type) {
		case nil:
		case skip:
			result, detail = "skip", string(caught)
		default:
			result, detail = "fail", fmt.Sprint(caught)
		}
	}()
	return "ok", run(c)
}

var ctx = context.Background()
