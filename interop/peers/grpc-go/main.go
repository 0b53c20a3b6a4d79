// The peer of gRPC's library for Go: gRPC's own interop cases, as that library ships them, behind the common command line; and
// servers and a client of its weighted balancing.
package main

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"

	"dovetail.test/line"
	"google.golang.org/grpc"
	"google.golang.org/grpc/interop"
	testing "google.golang.org/grpc/interop/grpc_testing"
)

func main() {
	line.Run(map[string]func([]string){
		"capabilities": capabilities,
		"server":       func(arguments []string) { server(parse(arguments)) },
		"client":       func(arguments []string) { client(parse(arguments)) },
		"case":         func(arguments []string) { run(arguments[0], peer{arguments[1], arguments[2]}) },
		"reporting":    reporting,
		"weighing":     weighing,
	})
}

// Where the other end is, and how to reach it.
type peer struct {
	address, transport string
}

func parse(arguments []string) line.Options {
	return line.Parse(arguments, "grpc", "buffered")
}

func capabilities([]string) {
	var all []line.Capability
	for _, transport := range []string{"buffered", overTLS} {
		all = append(all, line.Capability{
			Protocol: "grpc", Transport: transport,
			Roles: []string{"client", "server"}, Unix: transport != overTLS,
		})
	}
	line.Capabilities(all...)
}

func server(o line.Options) {
	address := o.Addr()
	listener, err := net.Listen(address.Network(), address.String())
	if err != nil {
		line.Fail(err)
	}
	server := grpc.NewServer(grpc.Creds(secure(o.Transport)))
	testing.RegisterTestServiceServer(server, interop.NewTestServer())
	line.Ready(listener.Addr())
	line.Fail(server.Serve(listener))
}

// Each case in a process of its own: gRPC's cases end theirs where they fail.
func client(o line.Options) {
	report := line.NewReport(o.Only)
	for _, each := range cases {
		report.Try(each.name, func() error {
			output, err := exec.Command(os.Args[0], "case", each.name, o.Address, o.Transport).CombinedOutput()
			if err != nil {
				return errors.New(strings.TrimSpace(string(output)))
			}
			return nil
		})
	}
	report.Exit()
}

func run(name string, server peer) {
	for _, each := range cases {
		if each.name == name {
			each.run(server)
			return
		}
	}
	line.Fail("no such case: " + name)
}
