// The h2spec peer: h2spec's own cases for servers of HTTP/2, behind the common command line.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/summerwind/h2spec/config"
	"github.com/summerwind/h2spec/generic"
	"github.com/summerwind/h2spec/hpack"
	"github.com/summerwind/h2spec/http2"
	"github.com/summerwind/h2spec/spec"
)

// A server that has not answered by then will not.
const patience = time.Second

func main() {
	if len(os.Args) < 2 {
		fail("usage: h2spec-peer capabilities | client FLAGS")
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
	json.NewEncoder(os.Stdout).Encode([]map[string]any{{
		"protocol": "grpc", "transport": "buffered", "multiplexed": false,
		"roles": []string{"client"}, "unix": false, "reason": "h2spec's cases are for servers",
	}})
}

func client(arguments []string) {
	flags := flag.NewFlagSet("client", flag.ExitOnError)
	flags.String("protocol", "grpc", "always grpc")
	flags.String("transport", "buffered", "always buffered")
	address := flags.String("address", "", "HOST:PORT")
	only := flags.String("case", "", "run only this one, like http2/5.1.1/2")
	flags.Parse(arguments)
	host, port, err := net.SplitHostPort(*address)
	if err != nil {
		fail(err.Error())
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		fail(err.Error())
	}
	how := &config.Config{Host: host, Port: number, Path: "/", Timeout: patience, MaxHeaderLen: 4000, Strict: true}
	if *only != "" {
		how.Sections = []string{*only}
	}
	// h2spec prints what it does for people.
	out := os.Stdout
	os.Stdout = os.Stderr
	code := 0
	for _, group := range []*spec.TestGroup{generic.Spec(), http2.Spec(), hpack.Spec()} {
		group.Test(how)
		code |= report(out, group)
	}
	os.Exit(code)
}

// Prints how the cases of a group went, and gives 1 where one failed.
func report(out *os.File, group *spec.TestGroup) int {
	code := 0
	for _, each := range append(group.Tests, group.StrictTests...) {
		if each.Result == nil {
			continue
		}
		result, detail := "ok", ""
		if each.Result.Skipped {
			result = "skip"
		} else if each.Result.Failed {
			result, detail, code = "fail", explain(each), 1
		}
		name := fmt.Sprintf("%s/%d", group.ID(), each.Result.Sequence)
		line, _ := json.Marshal(map[string]string{"case": name, "result": result, "detail": detail})
		fmt.Fprintln(out, string(line))
	}
	for _, part := range group.Groups {
		code |= report(out, part)
	}
	return code
}

func explain(failed *spec.TestCase) string {
	why := failed.Result.Error.Error()
	if known, ok := failed.Result.Error.(*spec.TestError); ok {
		why = fmt.Sprintf("want %s; got %s", strings.Join(known.Expected, ", or "), known.Actual)
	}
	return failed.Desc + ": " + why
}
