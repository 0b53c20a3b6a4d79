package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"dovetail.test/line"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/balancer/weightedroundrobin"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/orca"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// A server that answers any method with its number, and reports its load with each answer, as gRPC's library does it (ORCA):
// `reporting ADDRESS NUMBER UTILIZATION`.
func reporting(arguments []string) {
	number, err := strconv.Atoi(arguments[1])
	check(err)
	utilization, err := strconv.ParseFloat(arguments[2], 64)
	check(err)
	answer := wrapperspb.Int32(int32(number))
	handler := func(_ any, stream grpc.ServerStream) error {
		report := orca.CallMetricsRecorderFromContext(stream.Context())
		report.SetApplicationUtilization(utilization)
		report.SetQPS(100)
		if err := stream.RecvMsg(new(emptypb.Empty)); err != nil {
			return err
		}
		return stream.SendMsg(answer)
	}
	listener, err := net.Listen("tcp", arguments[0])
	check(err)
	server := grpc.NewServer(orca.CallMetricsServerOption(nil), grpc.UnknownServiceHandler(handler))
	line.Ready(listener.Addr())
	line.Fail(server.Serve(listener))
}

// A client that calls several servers by the load that they report, and prints which of them have answered the second half of its
// calls: `weighing CALLS ADDRESS…`.
func weighing(arguments []string) {
	calls, err := strconv.Atoi(arguments[0])
	check(err)
	servers := manual.NewBuilderWithScheme("fleet")
	var addresses []resolver.Address
	for _, address := range arguments[1:] {
		addresses = append(addresses, resolver.Address{Addr: address})
	}
	servers.InitialState(resolver.State{Addresses: addresses})
	connection, err := grpc.NewClient("fleet:///localhost",
		grpc.WithResolvers(servers),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"weighted_round_robin":{"blackoutPeriod":"0.5s"}}]}`))
	check(err)
	answers := map[int32]int{}
	for call := range calls {
		var number wrapperspb.Int32Value
		check(connection.Invoke(context.Background(), "/fleet.v1.Fleet/read", &emptypb.Empty{}, &number))
		if call >= calls/2 {
			answers[number.Value]++
		}
		time.Sleep(time.Millisecond)
	}
	for number, answered := range answers {
		fmt.Printf("server %d: %d calls\n", number, answered)
	}
}

func check(err error) {
	if err != nil {
		line.Fail(err)
	}
}
