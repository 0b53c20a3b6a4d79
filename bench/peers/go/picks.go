package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc/balancer"
	_ "google.golang.org/grpc/balancer/leastrequest"
	_ "google.golang.org/grpc/balancer/roundrobin"
	"google.golang.org/grpc/connectivity"
	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
)

// endpoints is the number of servers that a pick chooses from.
const endpoints = 1000

// pickSeconds is how long each row picks.
const pickSeconds = 2

// pickers are the policies of gRPC that are measured, and their settings.
var pickers = []struct{ policy, config string }{
	{"round_robin", "{}"},
	{"least_request_experimental", `{"choiceCount": 2}`},
}

// channel takes the place of gRPC's channel: it keeps the last picker that a balancer has made.
type channel struct {
	balancer.ClientConn
	lock  sync.Mutex
	state balancer.State
}

func (c *channel) NewSubConn(_ []resolver.Address, options balancer.NewSubConnOptions) (balancer.SubConn, error) {
	return &connected{listener: options.StateListener}, nil
}

func (c *channel) UpdateState(state balancer.State) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.state = state
}

func (c *channel) ResolveNow(resolver.ResolveNowOptions)                {}
func (c *channel) RemoveSubConn(balancer.SubConn)                       {}
func (c *channel) Target() string                                       { return "picks" }
func (c *channel) MetricsRecorder() estats.MetricsRecorder              { return nil }
func (c *channel) UpdateAddresses(balancer.SubConn, []resolver.Address) {}

func (c *channel) picker() balancer.Picker {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.state.Picker
}

// connected is a connection that is there as soon as it is asked for.
type connected struct {
	balancer.SubConn
	listener func(balancer.SubConnState)
}

// Connect tells its listener from another goroutine, as a channel does: the balancer holds a lock here.
func (c *connected) Connect() {
	go func() {
		c.listener(balancer.SubConnState{ConnectivityState: connectivity.Connecting})
		c.listener(balancer.SubConnState{ConnectivityState: connectivity.Ready})
	}()
}

func (c *connected) Shutdown() {}

func (c *connected) RegisterHealthListener(listener func(balancer.SubConnState)) {
	go listener(balancer.SubConnState{ConnectivityState: connectivity.Ready})
}

// picks prints how long a pick takes, a line for each policy and number of threads.
func picks() error {
	for _, each := range pickers {
		picker, err := pickerOf(each.policy, each.config)
		if err != nil {
			return err
		}
		for _, threads := range []int{2, 16} {
			nanos, err := timePicks(picker, threads)
			if err != nil {
				return err
			}
			row := map[string]any{"system": "grpc-go " + each.policy, "threads": threads, "nanoseconds": nanos}
			if err := json.NewEncoder(os.Stdout).Encode(row); err != nil {
				return err
			}
		}
	}
	return nil
}

// pickerOf builds the balancer of a policy, with all connections ready.
func pickerOf(policy, config string) (balancer.Picker, error) {
	builder := balancer.Get(policy)
	if builder == nil {
		return nil, fmt.Errorf("gRPC has no policy %s", policy)
	}
	channel := &channel{}
	made := builder.Build(channel, balancer.BuildOptions{})
	state := resolver.State{}
	for number := range endpoints {
		address := resolver.Address{Addr: fmt.Sprintf("10.0.%d.%d:9090", number/250, number%250+1)}
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{address}})
		state.Addresses = append(state.Addresses, address)
	}
	var parsed serviceconfig.LoadBalancingConfig
	if parser, ok := builder.(balancer.ConfigParser); ok {
		var err error
		if parsed, err = parser.ParseConfig([]byte(config)); err != nil {
			return nil, err
		}
	}
	if err := made.UpdateClientConnState(balancer.ClientConnState{ResolverState: state, BalancerConfig: parsed}); err != nil {
		return nil, err
	}
	made.ExitIdle()
	// All connections become ready one after the other.
	time.Sleep(2 * time.Second)
	return channel.picker(), nil
}

// timePicks picks in some threads, and returns the time of one pick in nanoseconds.
func timePicks(picker balancer.Picker, threads int) (float64, error) {
	var waiting sync.WaitGroup
	counts, failures := make([]int, threads), make([]error, threads)
	begin := time.Now()
	end := begin.Add(pickSeconds * time.Second)
	for thread := range threads {
		waiting.Add(1)
		go func() {
			defer waiting.Done()
			for time.Now().Before(end) {
				for range 1000 {
					result, err := picker.Pick(balancer.PickInfo{})
					if err != nil {
						failures[thread] = err
						return
					}
					if result.Done != nil {
						result.Done(balancer.DoneInfo{})
					}
					counts[thread]++
				}
			}
		}()
	}
	waiting.Wait()
	total := 0
	for thread := range threads {
		if failures[thread] != nil {
			return 0, failures[thread]
		}
		total += counts[thread]
	}
	return float64(time.Since(begin).Nanoseconds()) / float64(total), nil
}
