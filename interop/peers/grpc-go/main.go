// The peer of gRPC's library for Go: gRPC's own interop cases, as that library ships them, behind the common command line.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/interop"
	testing "google.golang.org/grpc/interop/grpc_testing"
)

func main() {
	if len(os.Args) < 2 {
		fail("usage: grpc-go-peer capabilities | server FLAGS | client FLAGS")
	}
	switch os.Args[1] {
	case "capabilities":
		capabilities()
	case "server":
		server(parse(os.Args[2:]))
	case "client":
		client(parse(os.Args[2:]))
	case "case":
		run(os.Args[2], peer{os.Args[3], os.Args[4]})
	default:
		fail("no such command: " + os.Args[1])
	}
}

func fail(what any) {
	fmt.Fprintln(os.Stderr, what)
	os.Exit(2)
}

// Where the other end is, and how to reach it.
type peer struct {
	address, transport string
}

type options struct {
	peer
	only string
}

func parse(arguments []string) options {
	var said options
	flags := flag.NewFlagSet("peer", flag.ExitOnError)
	flags.String("protocol", "grpc", "always grpc")
	flags.StringVar(&said.transport, "transport", "buffered", "buffered or tls")
	flags.StringVar(&said.address, "address", "", "HOST:PORT or unix:PATH")
	flags.StringVar(&said.only, "case", "", "run only this one")
	flags.Parse(arguments)
	return said
}

func capabilities() {
	var all []map[string]any
	for _, transport := range []string{"buffered", overTLS} {
		all = append(all, map[string]any{
			"protocol": "grpc", "transport": transport, "multiplexed": false,
			"roles": []string{"client", "server"}, "unix": transport != overTLS,
		})
	}
	json.NewEncoder(os.Stdout).Encode(all)
}

func server(said options) {
	network, address := "tcp", said.address
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		network, address = "unix", path
	}
	listener, err := net.Listen(network, address)
	if err != nil {
		fail(err)
	}
	server := grpc.NewServer(grpc.Creds(secure(said.transport)))
	testing.RegisterTestServiceServer(server, interop.NewTestServer())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	if network == "tcp" {
		address = listener.Addr().String()
	} else {
		address = said.address
	}
	fmt.Println("READY", address)
	fail(server.Serve(listener))
}

// Each case in a process of its own: gRPC's cases end theirs where they fail.
func client(said options) {
	code := 0
	for _, each := range cases {
		if said.only != "" && said.only != each.name {
			continue
		}
		result, detail := "ok", ""
		output, err := exec.Command(os.Args[0], "case", each.name, said.address, said.transport).CombinedOutput()
		if err != nil {
			result, detail, code = "fail", strings.TrimSpace(string(output)), 1
		}
		line, _ := json.Marshal(map[string]string{"case": each.name, "result": result, "detail": detail})
		fmt.Println(string(line))
	}
	os.Exit(code)
}

func run(name string, server peer) {
	for _, each := range cases {
		if each.name == name {
			each.run(server)
			return
		}
	}
	fail("no such case: " + name)
}
