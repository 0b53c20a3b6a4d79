// The Connect peer: Connect's own library for Go, spoken to through the common command line.
package main

import "dovetail.test/line"

func main() {
	line.Run(map[string]func([]string){"capabilities": capabilities, "client": client})
}

func capabilities([]string) {
	var all []line.Capability
	for _, protocol := range []string{"connect-json", "connect-proto"} {
		all = append(all, line.Capability{Protocol: protocol, Transport: "http", Roles: []string{"client"}})
	}
	line.Capabilities(all...)
}

func client(arguments []string) {
	o := line.Parse(arguments, "connect-json", "http")
	server := peer{"http://" + o.Address, o.Protocol == "connect-json"}
	report := line.NewReport(o.Only)
	for _, each := range cases {
		report.Try(each.name, func() error { return each.run(server) })
	}
	report.Exit()
}
