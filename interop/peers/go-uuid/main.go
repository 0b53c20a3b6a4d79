// The Go peer for uuid.thrift: Apache Thrift 0.25 has uuid, and the compiler that we have does not,
// so the stubs are written by hand.
package main

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
)

type options struct {
	protocol, transport, address, only string
	multiplexed                        bool
}

func main() {
	if len(os.Args) < 2 {
		fail("usage: go-uuid-peer server|client|capabilities|golden ...")
	}
	var o options
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	flags.StringVar(&o.protocol, "protocol", "binary", "binary, binary-nonstrict, compact or json")
	flags.StringVar(&o.transport, "transport", "buffered", "buffered, framed or header")
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

func capabilities() {
	type capability struct {
		Protocol    string   `json:"protocol"`
		Transport   string   `json:"transport"`
		Multiplexed bool     `json:"multiplexed"`
		Roles       []string `json:"roles"`
		Unix        bool     `json:"unix"`
	}
	all := []capability{}
	for _, transport := range []string{"buffered", "framed", "header"} {
		for _, protocol := range []string{"binary", "binary-nonstrict", "compact", "json"} {
			if transport == "header" && (protocol == "json" || protocol == "binary-nonstrict") {
				continue
			}
			for _, multiplexed := range []bool{false, true} {
				both := []string{"client", "server"}
				all = append(all, capability{protocol, transport, multiplexed, both, true})
			}
		}
	}
	out, _ := json.MarshalIndent(all, "", " ")
	fmt.Println(string(out))
}

func (o options) protocolFactory() thrift.TProtocolFactory {
	strict := o.protocol != "binary-nonstrict"
	conf := &thrift.TConfiguration{TBinaryStrictRead: &strict, TBinaryStrictWrite: &strict}
	if o.transport == "header" {
		id := thrift.THeaderProtocolBinary
		if o.protocol == "compact" {
			id = thrift.THeaderProtocolCompact
		}
		conf.THeaderProtocolID = &id
		return thrift.NewTHeaderProtocolFactoryConf(conf)
	}
	switch o.protocol {
	case "compact":
		return thrift.NewTCompactProtocolFactoryConf(conf)
	case "json":
		return thrift.NewTJSONProtocolFactory()
	}
	return thrift.NewTBinaryProtocolFactoryConf(conf)
}

func (o options) transportFactory() thrift.TTransportFactory {
	switch o.transport {
	case "framed":
		return thrift.NewTFramedTransportFactoryConf(thrift.NewTTransportFactory(), &thrift.TConfiguration{})
	case "header":
		return thrift.NewTTransportFactory()
	}
	return thrift.NewTBufferedTransportFactory(8192)
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

func serve(o options) {
	var serves thrift.TProcessor = processor{}
	if o.multiplexed {
		multi := thrift.NewTMultiplexedProcessor()
		multi.RegisterProcessor("UuidService", serves)
		serves = multi
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	socket := thrift.NewTServerSocketFromAddrTimeout(o.netAddr(), 0)
	if err := socket.Listen(); err != nil {
		fail(err.Error())
	}
	prefix := ""
	if socket.Addr().Network() == "unix" {
		prefix = "unix:"
	}
	fmt.Printf("READY %s%s\n", prefix, socket.Addr())
	server := thrift.NewTSimpleServer4(serves, socket, o.transportFactory(), o.protocolFactory())
	if err := server.Serve(); err != nil {
		fail(err.Error())
	}
}

func (o options) client() (*thrift.TStandardClient, error) {
	conf := &thrift.TConfiguration{SocketTimeout: time.Minute}
	trans, err := o.transportFactory().GetTransport(thrift.NewTSocketFromAddrConf(o.netAddr(), conf))
	if err != nil {
		return nil, err
	}
	if err := trans.Open(); err != nil {
		return nil, err
	}
	protocol := o.protocolFactory().GetProtocol(trans)
	if o.multiplexed {
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

func runClient(o options) int {
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
	code := 0
	for _, each := range cases {
		if o.only != "" && o.only != each.name {
			continue
		}
		result, detail := "ok", ""
		if err := each.run(); err != nil {
			result, detail, code = "fail", err.Error(), 1
		}
		line, _ := json.Marshal(map[string]string{"case": each.name, "result": result, "detail": detail})
		fmt.Println(string(line))
	}
	return code
}

// golden writes the example of uuid.json, bare, in each protocol.
func golden(directory string) {
	for _, protocol := range []string{"binary", "compact", "json"} {
		memory := thrift.NewTMemoryBuffer()
		out := options{protocol: protocol}.protocolFactory().GetProtocol(memory)
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
			fail(err.Error())
		}
	}
}
