// The Go peer for uuid.thrift: Apache Thrift 0.25 has uuid, and the compiler that we have does not,
// so the stubs are written by hand.
package main

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"dovetail.test/line"
	"github.com/apache/thrift/lib/go/thrift"
)

func main() {
	line.Run(map[string]func([]string){
		"capabilities": capabilities,
		"golden":       func(arguments []string) { golden(arguments[0]) },
		"server":       func(arguments []string) { serve(parse(arguments)) },
		"client":       func(arguments []string) { runClient(parse(arguments)) },
	})
}

// What the cases are told.
type options struct{ line.Options }

func parse(arguments []string) options {
	return options{line.Parse(arguments, "binary", "buffered")}
}

func capabilities([]string) {
	var all []line.Capability
	for _, transport := range []string{"buffered", "framed", "header"} {
		for _, protocol := range []string{"binary", "binary-nonstrict", "compact", "json"} {
			if transport == "header" && (protocol == "json" || protocol == "binary-nonstrict") {
				continue
			}
			for _, multiplexed := range []bool{false, true} {
				all = append(all, line.Capability{
					Protocol: protocol, Transport: transport, Multiplexed: multiplexed,
					Roles: []string{"client", "server"}, Unix: true,
				})
			}
		}
	}
	line.Capabilities(all...)
}

func (o options) protocolFactory() thrift.TProtocolFactory {
	strict := o.Protocol != "binary-nonstrict"
	conf := &thrift.TConfiguration{TBinaryStrictRead: &strict, TBinaryStrictWrite: &strict}
	if o.Transport == "header" {
		id := thrift.THeaderProtocolBinary
		if o.Protocol == "compact" {
			id = thrift.THeaderProtocolCompact
		}
		conf.THeaderProtocolID = &id
		return thrift.NewTHeaderProtocolFactoryConf(conf)
	}
	switch o.Protocol {
	case "compact":
		return thrift.NewTCompactProtocolFactoryConf(conf)
	case "json":
		return thrift.NewTJSONProtocolFactory()
	}
	return thrift.NewTBinaryProtocolFactoryConf(conf)
}

func (o options) transportFactory() thrift.TTransportFactory {
	switch o.Transport {
	case "framed":
		return thrift.NewTFramedTransportFactoryConf(thrift.NewTTransportFactory(), &thrift.TConfiguration{})
	case "header":
		return thrift.NewTTransportFactory()
	}
	return thrift.NewTBufferedTransportFactory(8192)
}

func serve(o options) {
	var serves thrift.TProcessor = processor{}
	if o.Multiplexed {
		multi := thrift.NewTMultiplexedProcessor()
		multi.RegisterProcessor("UuidService", serves)
		serves = multi
	}
	socket := thrift.NewTServerSocketFromAddrTimeout(o.Addr(), 0)
	if err := socket.Listen(); err != nil {
		line.Fail(err)
	}
	line.Ready(socket.Addr())
	server := thrift.NewTSimpleServer4(serves, socket, o.transportFactory(), o.protocolFactory())
	if err := server.Serve(); err != nil {
		line.Fail(err)
	}
}

func (o options) client() (*thrift.TStandardClient, error) {
	conf := &thrift.TConfiguration{SocketTimeout: time.Minute}
	trans, err := o.transportFactory().GetTransport(thrift.NewTSocketFromAddrConf(o.Addr(), conf))
	if err != nil {
		return nil, err
	}
	if err := trans.Open(); err != nil {
		return nil, err
	}
	protocol := o.protocolFactory().GetProtocol(trans)
	if o.Multiplexed {
		return thrift.NewTStandardClient(protocol, thrift.NewTMultiplexedProtocol(protocol, "UuidService")), nil
	}
	return thrift.NewTStandardClient(protocol, protocol), nil
}

// expect calls the method and compares what it returns.
func expect(o options, method string, args *wrapper, want any) error {
	client, err := o.client()
	if err != nil {
		return err
	}
	result := &wrapper{id: 0, value: reflect.New(reflect.TypeOf(want)).Interface()}
	if _, err := client.Call(ctx, method, args, result); err != nil {
		return err
	}
	got := reflect.ValueOf(result.value).Elem().Interface()
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("got %v, want %v", got, want)
	}
	return nil
}

func runClient(o options) {
	cases := []struct {
		name string
		run  func() error
	}{
		{"echo_uuid", func() error {
			for _, value := range known {
				if err := expect(o, "echo_uuid", &wrapper{1, &value}, value); err != nil {
					return err
				}
			}
			return nil
		}},
		{"echo_uuids", func() error { return expect(o, "echo_uuids", &wrapper{1, &example}, example) }},
		{"echo_uuids_empty", func() error {
			empty := uuids{many: []thrift.Tuuid{}, pairs: map[thrift.Tuuid]thrift.Tuuid{}, distinct: []thrift.Tuuid{}}
			return expect(o, "echo_uuids", &wrapper{1, &empty}, empty)
		}},
		{"known_uuids", func() error { return expect(o, "known_uuids", &wrapper{1, nil}, known) }},
	}
	report := line.NewReport(o.Only)
	for _, each := range cases {
		report.Try(each.name, each.run)
	}
	report.Exit()
}

// golden writes the example of uuid.json, bare, in each protocol.
func golden(directory string) {
	for _, protocol := range []string{"binary", "compact", "json"} {
		memory := thrift.NewTMemoryBuffer()
		out := options{line.Options{Protocol: protocol}}.protocolFactory().GetProtocol(memory)
		folder := filepath.Join(directory, "go-uuid", protocol)
		err := example.Write(ctx, out)
		if err == nil {
			err = out.Flush(ctx)
		}
		if err == nil {
			err = os.MkdirAll(folder, 0o755)
		}
		if err == nil {
			line := hex.EncodeToString(memory.Bytes()) + "\n"
			err = os.WriteFile(filepath.Join(folder, "uuids.hex"), []byte(line), 0o644)
		}
		if err != nil {
			line.Fail(err)
		}
	}
}
