package main

import (
	"bytes"
	"context"
	"strings"
	"time"

	"github.com/fullstorydev/grpcurl"
	"github.com/jhump/protoreflect/grpcreflect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
)

const patience = 30 * time.Second

// What is asked, and what grpcurl prints then, blanks aside.
type question struct {
	name string
	// Where it looks for what it does not know.
	ask  func(source grpcurl.DescriptorSource, connection *grpc.ClientConn) (string, error)
	from func(connection *grpc.ClientConn) (grpcurl.DescriptorSource, error)
	want string
}

var cases = []question{
	{"list", list, reflection, "calls.v1.Calls"},
	{"list_v1alpha", list, reflectionV1Alpha, "calls.v1.Calls"},
	{"describe", describe("calls.v1.Text"), reflection, "message Text { string text = 1; }"},
	{"describe_v1alpha", describe("calls.v1.Text"), reflectionV1Alpha, "message Text { string text = 1; }"},
	{"unary", call("calls.v1.Calls/Echo", `{"text": "Grüße", "part": {"count": 3}}`), reflection,
		`{ "text": "Grüße", "part": { "count": 3 } }`},
	{"server_stream", call("calls.v1.Calls/MakeMany", `{"count": 2, "size": 3}`), reflection,
		`{ "blob": "AAEC" } { "blob": "AAEC" }`},
	{"client_stream", call("calls.v1.Calls/Sum", `{"number": 1} {"number": 2} {"number": 39}`), reflection,
		`{ "number": "42" }`},
	{"both_streams", call("calls.v1.Calls/EchoMany", `{"number": 1} {} {"number": 2}`), reflection,
		`{ "number": 1 } {} { "number": 2 }`},
	{"header", call("calls.v1.Calls/Header", `{"text": "colour"}`, "colour: blue"), reflection,
		`{ "text": "626c7565" }`},
	{"failure", call("calls.v1.Calls/Fail", `{"code": 5, "message": "100% gone"}`), reflection,
		"ERROR: Code: NotFound Message: 100% gone"},
	{"deadline", whoeverIsFirst(within(200*time.Millisecond, calling("calls.v1.Calls/Wait", `{"number": 1}`))), reflection,
		"ERROR: Code: DeadlineExceeded Message: context deadline exceeded"},
	{"mapped", call("mapped.Mapped/add", `{"left": 1, "right": -3}`), files("mapped.proto"), `{ "result": -2 }`},
	{"mapped_stream", call("mapped.Mapped/numbers", `{"to": 3}`), files("mapped.proto"), `{} { "item": 1 } { "item": 2 }`},
	{"mapped_exception", call("mapped.Mapped/fail", `{"how": "refused"}`), files("mapped.proto"),
		`ERROR: Code: Unknown Message: the method has thrown ` + "`mapped.Refused`" + ` Details: 1) { "@type": "type.googleapis.com/mapped.Refused", "count": 3, "why": "no" }`},
}

func (asked question) run(address string) (string, error) {
	credentials := grpc.WithTransportCredentials(insecure.NewCredentials())
	connection, err := grpc.NewClient(address, credentials)
	if err != nil {
		return "", err
	}
	defer connection.Close()
	source, err := asked.from(connection)
	if err != nil {
		return "", err
	}
	return asked.ask(source, connection)
}

func reflection(connection *grpc.ClientConn) (grpcurl.DescriptorSource, error) {
	client := grpcreflect.NewClientAuto(context.Background(), connection)
	return grpcurl.DescriptorSourceFromServer(context.Background(), client), nil
}

func reflectionV1Alpha(connection *grpc.ClientConn) (grpcurl.DescriptorSource, error) {
	stub := alpha.NewServerReflectionClient(connection)
	client := grpcreflect.NewClientV1Alpha(context.Background(), stub)
	return grpcurl.DescriptorSourceFromServer(context.Background(), client), nil
}

// What the option -proto names.
func files(name string) func(*grpc.ClientConn) (grpcurl.DescriptorSource, error) {
	return func(*grpc.ClientConn) (grpcurl.DescriptorSource, error) {
		return grpcurl.DescriptorSourceFromProtoFiles([]string{contracts()}, name)
	}
}

func list(source grpcurl.DescriptorSource, _ *grpc.ClientConn) (string, error) {
	names, err := grpcurl.ListServices(source)
	return strings.Join(names, " "), err
}

func describe(name string) func(grpcurl.DescriptorSource, *grpc.ClientConn) (string, error) {
	return func(source grpcurl.DescriptorSource, _ *grpc.ClientConn) (string, error) {
		found, err := source.FindSymbol(name)
		if err != nil {
			return "", err
		}
		return grpcurl.GetDescriptorText(found, source)
	}
}

type asking func(ctx context.Context, source grpcurl.DescriptorSource, connection *grpc.ClientConn) (string, error)

// Both ends keep a deadline: what our server says of it counts as what the client says.
func whoeverIsFirst(ask func(grpcurl.DescriptorSource, *grpc.ClientConn) (string, error)) func(grpcurl.DescriptorSource, *grpc.ClientConn) (string, error) {
	return func(source grpcurl.DescriptorSource, connection *grpc.ClientConn) (string, error) {
		printed, err := ask(source, connection)
		return strings.ReplaceAll(printed, "the deadline of the call has passed", "context deadline exceeded"), err
	}
}

func within(limit time.Duration, ask asking) func(grpcurl.DescriptorSource, *grpc.ClientConn) (string, error) {
	return func(source grpcurl.DescriptorSource, connection *grpc.ClientConn) (string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		return ask(ctx, source, connection)
	}
}

func call(method, input string, headers ...string) func(grpcurl.DescriptorSource, *grpc.ClientConn) (string, error) {
	return within(patience, calling(method, input, headers...))
}

// Calls a method as the command does, and gives what that prints.
func calling(method, input string, headers ...string) asking {
	return func(ctx context.Context, source grpcurl.DescriptorSource, connection *grpc.ClientConn) (string, error) {
		options := grpcurl.FormatOptions{}
		parser, formatter, err := grpcurl.RequestParserAndFormatter(grpcurl.FormatJSON, source, strings.NewReader(input), options)
		if err != nil {
			return "", err
		}
		var out bytes.Buffer
		handler := &grpcurl.DefaultEventHandler{Out: &out, Formatter: formatter}
		err = grpcurl.InvokeRPC(ctx, source, connection, method, headers, handler, parser.Next)
		if err != nil {
			if failed, ok := status.FromError(err); ok {
				handler.Status = failed
			} else {
				return "", err
			}
		}
		if handler.Status.Err() != nil {
			grpcurl.PrintStatus(&out, handler.Status, formatter)
		}
		return out.String(), nil
	}
}
