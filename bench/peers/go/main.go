// The Go program of the benchmark suite: Apache Thrift and gRPC. bench/README.md is the contract that it fulfils.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"sync"
)

// system is one configuration of a library.
type system struct {
	name, configuration string
	module              string // The Go module that it measures.
	sharesConnections   bool
	serve               func(address string) (string, error) // Starts a server in the background; says where it listens.
	connect             func(address string) (connection, error)
}

// connection makes the task of one of its callers.
type connection func(work) (task, error)

var systems = []system{thriftBuffered, thriftFramed, grpcGo}

// gcPercent lets the heap grow to five times what is alive: with the default, a third of a large call is collection.
const gcPercent = 400

// misuse is an error of whoever started the program.
type misuse string

func (m misuse) Error() string { return string(m) }

func misused(format string, values ...any) error { return misuse(fmt.Sprintf(format, values...)) }

func main() {
	debug.SetGCPercent(gcPercent)
	if err := run(os.Args[1:]); err != nil {
		fail(err)
	}
}

var failing sync.Mutex

// fail ends the program with one line: of several callers that fail at once, with the first one's.
func fail(err error) {
	failing.Lock()
	line, _, _ := strings.Cut(err.Error(), "\n")
	fmt.Fprintln(os.Stderr, line)
	if errors.As(err, new(misuse)) {
		os.Exit(2)
	}
	os.Exit(1)
}

func run(arguments []string) error {
	if len(arguments) == 1 && arguments[0] == "picks" {
		return picks()
	}
	options, err := parseOptions(arguments)
	if err != nil {
		return err
	}
	if options.describe {
		return describe()
	}
	system, err := find(options.system)
	if err != nil {
		return err
	}
	switch options.mode {
	case "server":
		return serve(system, options)
	case "client":
		return callServer(system, options)
	case "both":
		return callOneself(system, options)
	}
	return misused("--mode is server, client or both, not `%s`", options.mode)
}

func find(name string) (system, error) {
	for _, system := range systems {
		if system.name == name {
			return system, nil
		}
	}
	return system{}, misused("no system `%s` in this program", name)
}

func describe() error {
	type about struct {
		Version       string `json:"version"`
		Configuration string `json:"configuration"`
	}
	all := map[string]about{}
	for _, system := range systems {
		all[system.name] = about{moduleVersion(system.module), fmt.Sprintf("%s, GOGC=%d", system.configuration, gcPercent)}
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"systems": all})
}

func moduleVersion(path string) string {
	build, _ := debug.ReadBuildInfo()
	for _, module := range build.Deps {
		if module.Path == path {
			return strings.TrimPrefix(module.Version, "v")
		}
	}
	return "unknown"
}

func serve(system system, options options) error {
	address, err := options.listenAddress()
	if err != nil {
		return err
	}
	address, err = system.serve(address)
	if err != nil {
		return err
	}
	fmt.Println("READY", address)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func callServer(system system, options options) error {
	load, err := options.load(system)
	if err != nil {
		return err
	}
	address, err := options.serverAddress()
	if err != nil {
		return err
	}
	return call(system, address, load)
}

func callOneself(system system, options options) error {
	load, err := options.load(system)
	if err != nil {
		return err
	}
	address, err := options.listenAddress()
	if err != nil {
		return err
	}
	address, err = system.serve(address)
	if err != nil {
		return err
	}
	return call(system, address, load)
}

func call(system system, address string, load load) error {
	connections := make([]connection, load.connections)
	for i := range connections {
		var err error
		if connections[i], err = system.connect(address); err != nil {
			return err
		}
	}
	callers := warmUp(load, connections)
	fmt.Println("READY")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return fmt.Errorf("standard input ended before the line that starts: %w", err)
	}
	return json.NewEncoder(os.Stdout).Encode(callers.measure())
}
