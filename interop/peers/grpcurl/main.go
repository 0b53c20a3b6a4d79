// The grpcurl peer: what the command grpcurl is made of, spoken to through the common command line.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"dovetail.test/line"
)

func main() {
	line.Run(map[string]func([]string){"capabilities": capabilities, "client": client, "call": callOnce})
}

func capabilities([]string) {
	line.Capabilities(line.Capability{
		Protocol: "grpc", Transport: "buffered",
		Roles: []string{"client"}, Unix: true, Reason: "grpcurl is a client",
	})
}

func client(arguments []string) {
	o := line.Parse(arguments, "grpc", "buffered")
	report := line.NewReport(o.Only)
	for _, each := range cases {
		report.Try(each.name, func() error {
			got, err := each.run(o.Address)
			if err != nil {
				return err
			}
			if got = strings.Join(strings.Fields(got), " "); got != each.want {
				return fmt.Errorf("got %s, want %s", got, each.want)
			}
			return nil
		})
	}
	report.Exit()
}

// What grpcurl prints of one call, with what reflection says.
func callOnce(arguments []string) {
	if len(arguments) != 3 {
		line.Fail("usage: grpcurl-peer call ADDRESS SERVICE/METHOD JSON")
	}
	asked := question{ask: call(arguments[1], arguments[2]), from: reflection}
	printed, err := asked.run(arguments[0])
	if err != nil {
		line.Fail(err)
	}
	fmt.Println(strings.Join(strings.Fields(printed), " "))
}

// The contracts lie beside the program's sources when it is built, and it beside that folder.
func contracts() string {
	program, err := os.Executable()
	if err != nil {
		line.Fail(err)
	}
	return filepath.Join(filepath.Dir(program), "build")
}
