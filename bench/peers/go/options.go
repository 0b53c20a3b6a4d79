package main

import (
	"flag"
	"io"
	"math"
	"net/netip"
	"strconv"
	"time"
)

const unlimited = time.Duration(math.MaxInt64)

type options struct {
	mode, system, address string
	workload, workCase    string
	clients, connections  int
	calls, warmup         int
	rate                  float64       // Calls per second; zero where each call follows the one before.
	limit                 time.Duration // After it no caller begins another call.
	describe              bool
}

// work is what --workload and --case ask for.
type work struct {
	workload string
	size     int32 // Bytes or rows.
	waitMs   int32
}

// load is what a client is to do.
type load struct {
	work
	clients, connections, calls, warmup int
	rate                                float64
	limit                               time.Duration
}

func parseOptions(arguments []string) (options, error) {
	o := options{limit: unlimited}
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.mode, "mode", "", "")
	flags.StringVar(&o.system, "system", "", "")
	flags.StringVar(&o.address, "address", "", "")
	flags.StringVar(&o.workload, "workload", "", "")
	flags.StringVar(&o.workCase, "case", "", "")
	flags.IntVar(&o.clients, "clients", 0, "")
	flags.IntVar(&o.connections, "connections", 0, "")
	flags.IntVar(&o.calls, "calls", 0, "")
	flags.IntVar(&o.warmup, "warmup", -1, "")
	flags.Func("rate", "", o.setRate)
	flags.Func("limit-ms", "", o.setLimit)
	flags.BoolVar(&o.describe, "describe", false, "")
	if err := flags.Parse(arguments); err != nil {
		return o, misuse(err.Error())
	}
	if flags.NArg() > 0 {
		return o, misused("`%s` is no option", flags.Arg(0))
	}
	return o, nil
}

func (o *options) setRate(text string) (err error) {
	o.rate, err = strconv.ParseFloat(text, 64)
	if err == nil && !(o.rate > 0) {
		err = misuse("must be more than zero")
	}
	return err
}

func (o *options) setLimit(text string) error {
	ms, err := strconv.ParseUint(text, 10, 31)
	o.limit = time.Duration(ms) * time.Millisecond
	return err
}

func (o options) load(system system) (load, error) {
	work, err := parseWork(o.workload, o.workCase)
	if err != nil {
		return load{}, err
	}
	counts := []struct {
		name         string
		value, least int
	}{
		{"clients", o.clients, 1}, {"connections", o.connections, 1}, {"calls", o.calls, 1}, {"warmup", o.warmup, 0},
	}
	for _, count := range counts {
		if count.value < count.least {
			return load{}, misused("--%s must be given, and at least %d", count.name, count.least)
		}
	}
	if o.connections > o.clients {
		return load{}, misuse("--connections cannot be more than --clients")
	}
	if o.connections < o.clients && !system.sharesConnections {
		return load{}, misused("%s cannot share a connection: --connections must equal --clients", system.name)
	}
	if o.rate > 0 && o.limit != unlimited {
		return load{}, misuse("--limit-ms does not go with --rate")
	}
	return load{work, o.clients, o.connections, o.calls, o.warmup, o.rate, o.limit}, nil
}

func parseWork(workload, text string) (work, error) {
	fixed := map[[2]string]work{
		{"get_answer", "-"}:   {},
		{"get_structs", "-"}:  {},
		{"blob_100k", "-"}:    {size: 100000},
		{"structs_100k", "-"}: {},
		{"db_work", "10"}:     {size: 10},
		{"db_work", "10+1ms"}: {size: 10, waitMs: 1},
		{"agent_small", "-"}:  {size: 16},
		{"agent_large", "-"}:  {size: 1100},
	}
	found, known := fixed[[2]string{workload, text}]
	if workload == "get_blob" {
		size, err := strconv.ParseUint(text, 10, 31)
		found.size, known = int32(size), err == nil
	}
	if !known {
		return work{}, misused("no workload `%s` with the case `%s`", workload, text)
	}
	found.workload = workload
	return found, nil
}

func (o options) listenAddress() (string, error) {
	if o.address == "" {
		return "127.0.0.1:0", nil
	}
	return o.serverAddress()
}

func (o options) serverAddress() (string, error) {
	address, err := netip.ParseAddrPort(o.address)
	if err != nil || !address.Addr().Is4() {
		return "", misused("--address is HOST:PORT with an IPv4 address, not `%s`", o.address)
	}
	return o.address, nil
}
