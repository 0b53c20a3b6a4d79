package main

import (
	"context"
	"embed"
	"fmt"
	"io"
	"net/http"

	"connectrpc.com/connect"
	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// The contracts, copied here when the peer is built.
//
//go:embed *.proto
var contracts embed.FS

// Files of the contract, compiled when the program starts: the library needs no generated code.
var files = compile("calls.proto", "mapped.proto", "second.proto")

func compile(names ...string) map[string]protoreflect.FileDescriptor {
	open := func(name string) (io.ReadCloser, error) { return contracts.Open(name) }
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{Accessor: open}),
	}
	compiled, err := compiler.Compile(context.Background(), names...)
	if err != nil {
		panic(err)
	}
	all := map[string]protoreflect.FileDescriptor{}
	for _, file := range compiled {
		all[file.Path()] = file
	}
	return all
}

func method(file, service, name string) protoreflect.MethodDescriptor {
	services := files[file].Services()
	return services.ByName(protoreflect.Name(service)).Methods().ByName(protoreflect.Name(name))
}

// A server to be called.
type peer struct {
	url  string
	json bool
}

// What a call is made with, besides its message.
type how struct {
	options []connect.ClientOption
	headers map[string]string
	context context.Context
}

// What calls a method.
type caller = connect.Client[dynamicpb.Message, dynamicpb.Message]

func (p peer) client(method protoreflect.MethodDescriptor, with how) *caller {
	options := append([]connect.ClientOption{
		connect.WithSchema(method),
		connect.WithResponseInitializer(func(spec connect.Spec, message any) error {
			*message.(*dynamicpb.Message) = *dynamicpb.NewMessage(method.Output())
			return nil
		}),
	}, with.options...)
	if p.json {
		options = append(options, connect.WithProtoJSON())
	}
	path := fmt.Sprintf("/%s/%s", method.Parent().FullName(), method.Name())
	return connect.NewClient[dynamicpb.Message, dynamicpb.Message](http.DefaultClient, p.url+path, options...)
}

// Calls a method with the fields of its request, and gives the answer.
func (p peer) call(method protoreflect.MethodDescriptor, with how, fields fields) (*dynamicpb.Message, error) {
	client := p.client(method, with)
	request := connect.NewRequest(message(method.Input(), fields))
	for name, value := range with.headers {
		request.Header().Set(name, value)
	}
	if with.context == nil {
		with.context = context.Background()
	}
	response, err := client.CallUnary(with.context, request)
	if err != nil {
		return nil, err
	}
	return response.Msg, nil
}

// The fields of a message by name.
type fields map[string]any

func message(of protoreflect.MessageDescriptor, fields fields) *dynamicpb.Message {
	made := dynamicpb.NewMessage(of)
	for name, value := range fields {
		made.Set(of.Fields().ByName(protoreflect.Name(name)), protoreflect.ValueOf(value))
	}
	return made
}

func get(message *dynamicpb.Message, name string) any {
	return message.Get(message.Descriptor().Fields().ByName(protoreflect.Name(name))).Interface()
}
