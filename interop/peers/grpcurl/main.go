// The grpcurl peer: what the command grpcurl is made of, spoken to through the common command line.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if len(os.Args) < 2 {
		fail("usage: grpcurl-peer capabilities | client FLAGS | call ADDRESS SERVICE/METHOD JSON")
	}
	switch os.Args[1] {
	case "capabilities":
		capabilities()
	case "client":
		client(os.Args[2:])
	case "call":
		callOnce(os.Args[2:])
	default:
		fail("no such command: " + os.Args[1])
	}
}

func fail(what any) {
	fmt.Fprintln(os.Stderr, what)
	os.Exit(2)
}

func capabilities() {
	json.NewEncoder(os.Stdout).Encode([]map[string]any{{
		"protocol": "grpc", "transport": "buffered", "multiplexed": false,
		"roles": []string{"client"}, "unix": true, "reason": "grpcurl is a client",
	}})
}

func client(arguments []string) {
	flags := flag.NewFlagSet("client", flag.ExitOnError)
	flags.String("protocol", "grpc", "always grpc")
	flags.String("transport", "buffered", "always buffered")
	address := flags.String("address", "", "HOST:PORT or unix:PATH")
	only := flags.String("case", "", "run only this one")
	flags.Parse(arguments)
	code := 0
	for _, each := range cases {
		if *only != "" && *only != each.name {
			continue
		}
		result, detail := "ok", ""
		got, err := each.run(*address)
		if err != nil {
			result, detail, code = "fail", err.Error(), 1
		} else if got = strings.Join(strings.Fields(got), " "); got != each.want {
			result, detail, code = "fail", fmt.Sprintf("got %s, want %s", got, each.want), 1
		}
		line, _ := json.Marshal(map[string]string{"case": each.name, "result": result, "detail": detail})
		fmt.Println(string(line))
	}
	os.Exit(code)
}

// What grpcurl prints of one call, with what reflection says.
func callOnce(arguments []string) {
	if len(arguments) != 3 {
		fail("usage: grpcurl-peer call ADDRESS SERVICE/METHOD JSON")
	}
	asked := question{ask: call(arguments[1], arguments[2]), from: reflection}
	printed, err := asked.run(arguments[0])
	if err != nil {
		fail(err)
	}
	fmt.Println(strings.Join(strings.Fields(printed), " "))
}

// The contracts lie beside the program's sources when it is built, and it beside that folder.
func contracts() string {
	program, err := os.Executable()
	if err != nil {
		fail(err)
	}
	return filepath.Join(filepath.Dir(program), "build")
}
