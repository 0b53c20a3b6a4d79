package main

import (
	"context"
	"time"

	"dovetail.test/line"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/interop"
	testing "google.golang.org/grpc/interop/grpc_testing"
)

// How often a soak calls.
const soak = 10

type calling func(context.Context, testing.TestServiceClient, ...grpc.CallOption)

// The cases by gRPC's names. What is compressed is not among gRPC's for Go: the same calls are, with gzip.
var cases = []struct {
	name string
	run  func(server peer)
}{
	{"empty_unary", call(interop.DoEmptyUnaryCall)},
	{"large_unary", call(interop.DoLargeUnaryCall)},
	{"large_unary_gzip", call(interop.DoLargeUnaryCall, grpc.UseCompressor(gzip.Name))},
	{"client_streaming", call(interop.DoClientStreaming)},
	{"client_streaming_gzip", call(interop.DoClientStreaming, grpc.UseCompressor(gzip.Name))},
	{"server_streaming", call(interop.DoServerStreaming)},
	{"server_streaming_gzip", call(interop.DoServerStreaming, grpc.UseCompressor(gzip.Name))},
	{"ping_pong", call(interop.DoPingPong)},
	{"ping_pong_gzip", call(interop.DoPingPong, grpc.UseCompressor(gzip.Name))},
	{"empty_stream", call(interop.DoEmptyStream)},
	{"custom_metadata", call(interop.DoCustomMetadata)},
	{"status_code_and_message", call(interop.DoStatusCodeAndMessage)},
	{"special_status_message", call(interop.DoSpecialStatusMessage)},
	{"unimplemented_method", func(server peer) {
		interop.DoUnimplementedMethod(context.Background(), dial(server))
	}},
	{"unimplemented_service", func(server peer) {
		interop.DoUnimplementedService(context.Background(), testing.NewUnimplementedServiceClient(dial(server)))
	}},
	{"cancel_after_begin", call(interop.DoCancelAfterBegin)},
	{"cancel_after_first_response", call(interop.DoCancelAfterFirstResponse)},
	{"timeout_on_sleeping_server", call(interop.DoTimeoutOnSleepingServer)},
	{"rpc_soak", func(server peer) {
		connection := dial(server)
		soaked(server, func() (*grpc.ClientConn, func()) { return connection, func() {} })
	}},
	{"channel_soak", func(server peer) {
		soaked(server, func() (*grpc.ClientConn, func()) {
			connection := dial(server)
			return connection, func() { connection.Close() }
		})
	}},
}

// The only place that says how a connection is made.
func dial(server peer) *grpc.ClientConn {
	connection, err := grpc.NewClient(server.address, grpc.WithTransportCredentials(secure(server.transport)))
	if err != nil {
		line.Fail(err)
	}
	return connection
}

func call(run calling, options ...grpc.CallOption) func(peer) {
	return func(server peer) {
		run(context.Background(), testing.NewTestServiceClient(dial(server)), options...)
	}
}

func soaked(server peer, channel func() (*grpc.ClientConn, func())) {
	interop.DoSoakTest(context.Background(), interop.SoakTestConfig{
		RequestSize:                      271828,
		ResponseSize:                     314159,
		PerIterationMaxAcceptableLatency: 10 * time.Second,
		OverallTimeout:                   time.Minute,
		ServerAddr:                       server.address,
		NumWorkers:                       1,
		Iterations:                       soak,
		ChannelForTest:                   channel,
	})
}
