// The h2spec peer: h2spec's own cases for servers of HTTP/2, behind the common command line.
package main

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"dovetail.test/line"
	"github.com/summerwind/h2spec/config"
	"github.com/summerwind/h2spec/generic"
	"github.com/summerwind/h2spec/hpack"
	"github.com/summerwind/h2spec/http2"
	"github.com/summerwind/h2spec/spec"
)

// A server that has not answered by then will not.
const patience = time.Second

func main() {
	line.Run(map[string]func([]string){"capabilities": capabilities, "client": client})
}

func capabilities([]string) {
	line.Capabilities(line.Capability{
		Protocol: "grpc", Transport: "buffered",
		Roles: []string{"client"}, Reason: "h2spec's cases are for servers",
	})
}

func client(arguments []string) {
	o := line.Parse(arguments, "grpc", "buffered")
	host, port, err := net.SplitHostPort(o.Address)
	if err != nil {
		line.Fail(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		line.Fail(err)
	}
	how := &config.Config{Host: host, Port: number, Path: "/", Timeout: patience, MaxHeaderLen: 4000, Strict: true}
	if o.Only != "" {
		how.Sections = []string{o.Only}
	}
	report := line.NewReport("")
	// h2spec prints what it does for people.
	os.Stdout = os.Stderr
	for _, group := range []*spec.TestGroup{generic.Spec(), http2.Spec(), hpack.Spec()} {
		group.Test(how)
		say(report, group)
	}
	report.Exit()
}

// Says how the cases of a group went.
func say(report *line.Report, group *spec.TestGroup) {
	for _, each := range append(group.Tests, group.StrictTests...) {
		if each.Result == nil {
			continue
		}
		result, detail := "ok", ""
		if each.Result.Skipped {
			result = "skip"
		} else if each.Result.Failed {
			result, detail = "fail", explain(each)
		}
		report.Say(fmt.Sprintf("%s/%d", group.ID(), each.Result.Sequence), result, detail)
	}
	for _, part := range group.Groups {
		say(report, part)
	}
}

func explain(failed *spec.TestCase) string {
	why := failed.Result.Error.Error()
	if known, ok := failed.Result.Error.(*spec.TestError); ok {
		why = fmt.Sprintf("want %s; got %s", strings.Join(known.Expected, ", or "), known.Actual)
	}
	return failed.Desc + ": " + why
}
