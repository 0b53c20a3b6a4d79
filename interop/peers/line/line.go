// Package line is the command line that all peers have, for those in Go.
package line

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// Run runs the command that the program's first argument names, with the other arguments.
func Run(commands map[string]func(arguments []string)) {
	if len(os.Args) > 1 {
		if command, known := commands[os.Args[1]]; known {
			command(os.Args[2:])
			return
		}
	}
	var names []string
	for name := range commands {
		names = append(names, name)
	}
	sort.Strings(names)
	Fail(fmt.Sprintf("usage: %s %s ...", filepath.Base(os.Args[0]), strings.Join(names, "|")))
}

// Fail ends the program, which cannot do what it should.
func Fail(what any) {
	fmt.Fprintln(os.Stderr, what)
	os.Exit(2)
}

// Options are what servers and clients are told.
type Options struct {
	Protocol, Transport, Address, Only string
	Multiplexed                        bool
}

// Parse reads the options of a server or client, which speaks this protocol and transport unless it is told otherwise.
func Parse(arguments []string, protocol, transport string) Options {
	var o Options
	flags := flag.NewFlagSet("peer", flag.ExitOnError)
	flags.StringVar(&o.Protocol, "protocol", protocol, "one of those that `capabilities` prints")
	flags.StringVar(&o.Transport, "transport", transport, "likewise")
	flags.StringVar(&o.Address, "address", "127.0.0.1:0", "HOST:PORT or unix:PATH")
	flags.BoolVar(&o.Multiplexed, "multiplexed", false, "name the service in each call")
	flags.StringVar(&o.Only, "case", "", "run this case only")
	flags.Parse(arguments)
	return o
}

// Addr is the address for the package net.
func (o Options) Addr() net.Addr {
	if path, isUnix := strings.CutPrefix(o.Address, "unix:"); isUnix {
		return &net.UnixAddr{Name: path, Net: "unix"}
	}
	addr, err := net.ResolveTCPAddr("tcp4", o.Address)
	if err != nil {
		Fail(err)
	}
	return addr
}

// Capability is a protocol over a transport, and who speaks it here.
type Capability struct {
	Protocol    string   `json:"protocol"`
	Transport   string   `json:"transport"`
	Multiplexed bool     `json:"multiplexed"`
	Roles       []string `json:"roles"`
	Unix        bool     `json:"unix"`
	// Why there is no role, or only one.
	Reason string `json:"reason,omitempty"`
}

// Capabilities prints what the peer can.
func Capabilities(all ...Capability) {
	out, _ := json.MarshalIndent(all, "", " ")
	fmt.Println(string(out))
}

// Ready says that a server listens. From then on it ends when its standard input does.
func Ready(addr net.Addr) {
	prefix := ""
	if addr.Network() == "unix" {
		prefix = "unix:"
	}
	fmt.Printf("READY %s%s\n", prefix, addr)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
}

// Report prints how cases go.
type Report struct {
	out  io.Writer
	only string
	code int
}

// NewReport makes one, for this case only where there is one. It goes to what is standard output now.
func NewReport(only string) *Report {
	return &Report{out: os.Stdout, only: only}
}

// Try runs a case, unless it is not wanted.
func (r *Report) Try(name string, run func() error) {
	if r.only != "" && r.only != name {
		return
	}
	if err := run(); err != nil {
		r.Say(name, "fail", err.Error())
	} else {
		r.Say(name, "ok", "")
	}
}

// Say prints how a case went: "ok", "fail" or "skip".
func (r *Report) Say(name, result, detail string) {
	if result == "fail" {
		r.code = 1
	}
	said, _ := json.Marshal(map[string]string{"case": name, "result": result, "detail": detail})
	fmt.Fprintln(r.out, string(said))
}

// Exit ends the program, with 1 where a case failed.
func (r *Report) Exit() {
	os.Exit(r.code)
}
