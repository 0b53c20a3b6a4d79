// The Connect peer: Connect's own library for Go, spoken to through the common command line.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) < 2 {
		fail("usage: connect-peer capabilities | client FLAGS")
	}
	switch os.Args[1] {
	case "capabilities":
		capabilities()
	case "client":
		client(os.Args[2:])
	default:
		fail("no such command: " + os.Args[1])
	}
}

func fail(what string) {
	fmt.Fprintln(os.Stderr, what)
	os.Exit(2)
}

func capabilities() {
	var all []map[string]any
	for _, protocol := range []string{"connect-json", "connect-proto"} {
		all = append(all, map[string]any{
			"protocol": protocol, "transport": "http", "multiplexed": false,
			"roles": []string{"client"}, "unix": false,
		})
	}
	json.NewEncoder(os.Stdout).Encode(all)
}

func client(arguments []string) {
	flags := flag.NewFlagSet("client", flag.ExitOnError)
	protocol := flags.String("protocol", "connect-json", "connect-json or connect-proto")
	flags.String("transport", "http", "always http")
	address := flags.String("address", "", "HOST:PORT")
	only := flags.String("case", "", "run only this one")
	flags.Parse(arguments)
	code := 0
	for _, each := range cases {
		if *only != "" && *only != each.name {
			continue
		}
		result, detail := "ok", ""
		if err := each.run(peer{"http://" + *address, *protocol == "connect-json"}); err != nil {
			result, detail, code = "fail", err.Error(), 1
		}
		line, _ := json.Marshal(map[string]string{"case": each.name, "result": result, "detail": detail})
		fmt.Println(string(line))
	}
	os.Exit(code)
}
