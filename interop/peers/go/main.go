// The Go peer: Apache Thrift's own library, spoken to through the common command line.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"dovetail.test/peer/gen/interop"
	"github.com/apache/thrift/lib/go/thrift"
)

const timeout = 30 * time.Second

type options struct {
	protocol, transport, address, only string
	multiplexed                        bool
}

func main() {
	if len(os.Args) < 2 {
		fail("usage: go-peer server|client|capabilities|golden ...")
	}
	var o options
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	flags.StringVar(&o.protocol, "protocol", "binary", "binary, binary-nonstrict, compact or json")
	flags.StringVar(&o.transport, "transport", "buffered", "buffered, framed, header, header-zlib, http or zlib")
	flags.StringVar(&o.address, "address", "127.0.0.1:0", "HOST:PORT or unix:PATH")
	flags.BoolVar(&o.multiplexed, "multiplexed", false, "name the service in each call")
	flags.StringVar(&o.only, "case", "", "run this case only")
	_ = flags.Parse(os.Args[2:])
	switch os.Args[1] {
	case "capabilities":
		capabilities()
	case "golden":
		golden(flags.Arg(0))
	case "server":
		serve(o)
	case "client":
		os.Exit(runClient(o))
	default:
		fail("no such command: " + os.Args[1])
	}
}

func fail(message string) {
	fmt.Fprintln(os.Stderr, message)
	os.Exit(2)
}

var protocols = []string{"binary", "binary-nonstrict", "compact", "json"}

func capabilities() {
	type capability struct {
		Protocol    string   `json:"protocol"`
		Transport   string   `json:"transport"`
		Multiplexed bool     `json:"multiplexed"`
		Roles       []string `json:"roles"`
		Unix        bool     `json:"unix"`
		Reason      string   `json:"reason,omitempty"`
	}
	all := []capability{}
	add := func(protocols []string, transport string, unix bool) {
		for _, protocol := range protocols {
			for _, multiplexed := range []bool{false, true} {
				all = append(all, capability{protocol, transport, multiplexed, []string{"client", "server"}, unix, ""})
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
	all = append(all, capability{"json", "header", false, []string{}, false, reason})
	all = append(all, capability{"binary-nonstrict", "header", false, []string{}, false, reason})
	out, _ := json.MarshalIndent(all, "", " ")
	fmt.Println(string(out))
}

func (o options) configuration() *thrift.TConfiguration {
	conf := &thrift.TConfiguration{ConnectTimeout: timeout, SocketTimeout: timeout}
	strict := o.protocol != "binary-nonstrict"
	conf.TBinaryStrictRead, conf.TBinaryStrictWrite = &strict, &strict
	id := thrift.THeaderProtocolBinary
	if o.protocol == "compact" {
		id = thrift.THeaderProtocolCompact
	}
	conf.THeaderProtocolID = thrift.THeaderProtocolIDPtrMust(id)
	return conf
}

func (o options) protocolFactory() thrift.TProtocolFactory {
	if strings.HasPrefix(o.transport, "header") {
		if o.protocol != "binary" && o.protocol != "compact" {
			fail("header carries binary or compact, not " + o.protocol)
		}
		return thrift.NewTHeaderProtocolFactoryConf(o.configuration())
	}
	switch o.protocol {
	case "binary", "binary-nonstrict":
		return thrift.NewTBinaryProtocolFactoryConf(o.configuration())
	case "compact":
		return thrift.NewTCompactProtocolFactoryConf(o.configuration())
	case "json":
		return thrift.NewTJSONProtocolFactory()
	}
	fail("no such protocol: " + o.protocol)
	return nil
}

func (o options) transportFactory() thrift.TTransportFactory {
	switch o.transport {
	case "buffered":
		return thrift.NewTBufferedTransportFactory(8192)
	case "framed":
		return thrift.NewTFramedTransportFactoryConf(thrift.NewTTransportFactory(), o.configuration())
	case "zlib":
		return thrift.NewTZlibTransportFactoryWithFactory(6, thrift.NewTBufferedTransportFactory(8192))
	case "header", "header-zlib":
		return thrift.NewTTransportFactory() // THeaderProtocol brings its own transport
	}
	fail("no such transport: " + o.transport)
	return nil
}

func (o options) netAddr() net.Addr {
	if path, isUnix := strings.CutPrefix(o.address, "unix:"); isUnix {
		return &net.UnixAddr{Name: path, Net: "unix"}
	}
	addr, err := net.ResolveTCPAddr("tcp4", o.address)
	if err != nil {
		fail(err.Error())
	}
	return addr
}

func ready(addr net.Addr) {
	prefix := ""
	if addr.Network() == "unix" {
		prefix = "unix:"
	}
	fmt.Printf("READY %s%s\n", prefix, addr)
}

func serve(o options) {
	var processor thrift.TProcessor = interop.NewInteropProcessor(&handler{})
	if o.multiplexed {
		multi := thrift.NewTMultiplexedProcessor()
		multi.RegisterProcessor("Interop", processor)
		multi.RegisterProcessor("Second", interop.NewSecondProcessor(second{}))
		processor = multi
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	factory := o.protocolFactory()
	if o.transport == "http" {
		listener, err := net.Listen("tcp4", o.address)
		if err != nil {
			fail(err.Error())
		}
		ready(listener.Addr())
		server := http.Server{Handler: http.HandlerFunc(thrift.NewThriftHandlerFunc(processor, factory, factory))}
		fail(server.Serve(listener).Error())
	}
	socket := thrift.NewTServerSocketFromAddrTimeout(o.netAddr(), 0)
	if err := socket.Listen(); err != nil {
		fail(err.Error())
	}
	ready(socket.Addr())
	server := thrift.NewTSimpleServer4(processor, socket, o.transportFactory(), factory)
	if err := server.Serve(); err != nil {
		fail(err.Error())
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
	if c.transport == "http" {
		trans, err = thrift.NewTHttpClientWithOptions("http://"+c.address+"/",
			thrift.THttpClientOptions{Client: &http.Client{Timeout: timeout}})
	} else {
		socket := thrift.NewTSocketFromAddrConf(c.netAddr(), c.configuration())
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
	if c.transport == "header-zlib" {
		if err := protocol.(*thrift.THeaderProtocol).AddTransform(thrift.TransformZlib); err != nil {
			panic(err)
		}
	}
	return protocol
}

// named returns a client on the protocol that calls the service by name where that is asked for.
func (c *connector) named(protocol thrift.TProtocol, service string) thrift.TClient {
	if c.multiplexed {
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

func runClient(o options) int {
	c := &connector{options: o}
	code := 0
	for _, each := range cases {
		if o.only != "" && o.only != each.name {
			continue
		}
		result, detail := attempt(c, each.run)
		if result == "fail" {
			code = 1
		}
		c.closeAll()
		if len(detail) > 300 {
			detail = detail[:300]
		}
		line, _ := json.Marshal(struct {
			Case   string `json:"case"`
			Result string `json:"result"`
			Detail string `json:"detail"`
		}{each.name, result, detail})
		fmt.Println(string(line))
	}
	return code
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
