package main

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"dovetail.test/line"
	"dovetail.test/peer/gen/interop"
	"github.com/apache/thrift/lib/go/thrift"
)

// described is one entry of values.json.
type described struct {
	Name    string
	Type    string
	Message *struct {
		Kind, Name string
		Seqid      int32
	}
}

// blank returns a new value of the type that values.json names.
func blank(name string) thrift.TStruct {
	switch name {
	case "Empty":
		return interop.NewEmpty()
	case "Everything":
		return interop.NewEverything()
	case "Presence":
		return interop.NewPresence()
	case "Containers":
		return interop.NewContainers()
	case "Nested":
		return interop.NewNested()
	case "Keyed":
		return interop.NewKeyed()
	case "Tree":
		return interop.NewTree()
	case "Choice":
		return interop.NewChoice()
	case "Wide":
		return interop.NewWide()
	case "Newer":
		return interop.NewNewer_()
	case "Interop.ping_args":
		return interop.NewBasePingArgs()
	case "Interop.ping_result":
		return interop.NewBasePingResult()
	case "Interop.echo_i32_args":
		return interop.NewInteropEchoI32Args()
	case "Interop.echo_i32_result":
		return interop.NewInteropEchoI32Result()
	case "Interop.echo_bool_result":
		return interop.NewInteropEchoBoolResult()
	case "Interop.echo_string_args":
		return interop.NewInteropEchoStringArgs()
	case "Interop.join_args":
		return interop.NewInteropJoinArgs()
	case "Interop.notify_args":
		return interop.NewInteropNotifyArgs()
	case "Interop.may_fail_result":
		return interop.NewInteropMayFailResult()
	case "TApplicationException":
		return thrift.NewTApplicationException(0, "")
	}
	line.Fail("values.json names a type unknown here: " + name)
	return nil
}

// golden reads what Python captured in binary and writes what this library makes of it, where
// that differs from what Python makes of it.
func golden(directory string) {
	text := must(os.ReadFile(filepath.Join(directory, "values.json")))
	var file struct{ Values []described }
	done(json.Unmarshal(text, &file))
	plain := []string{"binary", "binary-nonstrict", "compact", "json"}
	wrapped := []string{"binary-framed", "compact-framed", "json-framed", "binary-header", "compact-header",
		"binary-header-zlib", "compact-header-zlib"}
	for _, name := range append(plain, wrapped...) {
		folder := filepath.Join(directory, "go", name)
		done(os.MkdirAll(folder, 0o755))
		for _, each := range file.Values {
			if each.Message == nil && strings.Contains(strings.TrimPrefix(name, "binary-nonstrict"), "-") {
				continue
			}
			bytes := capture(name, each, read(directory, each))
			line := hex.EncodeToString(bytes) + "\n"
			known, _ := os.ReadFile(filepath.Join(directory, "python", name, each.Name+".hex"))
			if string(known) == line {
				continue
			}
			done(os.WriteFile(filepath.Join(folder, each.Name+".hex"), []byte(line), 0o644))
		}
	}
}

func read(directory string, each described) thrift.TStruct {
	text := must(os.ReadFile(filepath.Join(directory, "python", "binary", each.Name+".hex")))
	memory := thrift.NewTMemoryBuffer()
	must(memory.Write(must(hex.DecodeString(strings.TrimSpace(string(text))))))
	protocol := thrift.NewTBinaryProtocolConf(memory, nil)
	if each.Message != nil {
		_, _, _, err := protocol.ReadMessageBegin(ctx)
		done(err)
	}
	value := blank(each.Type)
	done(value.Read(ctx, protocol))
	return value
}

func capture(name string, each described, value thrift.TStruct) []byte {
	memory := thrift.NewTMemoryBuffer()
	protocolName, transport, _ := strings.Cut(name, "-")
	o := options{line.Options{Protocol: protocolName, Transport: transport}}
	if name == "binary-nonstrict" {
		o = options{line.Options{Protocol: name}}
	}
	var trans thrift.TTransport = memory
	if transport == "framed" {
		trans = thrift.NewTFramedTransportConf(memory, o.configuration())
	}
	protocol := o.protocolFactory().GetProtocol(trans)
	if transport == "header-zlib" {
		done(protocol.(*thrift.THeaderProtocol).AddTransform(thrift.TransformZlib))
	}
	if each.Message != nil {
		kind := map[string]thrift.TMessageType{"call": thrift.CALL, "reply": thrift.REPLY,
			"exception": thrift.EXCEPTION, "oneway": thrift.ONEWAY}[each.Message.Kind]
		done(protocol.WriteMessageBegin(ctx, each.Message.Name, kind, each.Message.Seqid))
	}
	done(value.Write(ctx, protocol))
	if each.Message != nil {
		done(protocol.WriteMessageEnd(ctx))
	}
	done(protocol.Flush(ctx))
	return memory.Bytes()
}
