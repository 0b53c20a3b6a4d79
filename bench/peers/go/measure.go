package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// task is what one caller does.
type task struct {
	call       func() error  // Makes a call, and keeps its result.
	difference func() string // What is wrong with the last result; empty when it is right.
}

type caller struct {
	task
	latencies  []time.Duration // All of them: percentiles are exact.
	start, end time.Time
}

// callers have made their connections and warm-up calls.
type callers struct {
	load
	all []caller
}

// warmUp returns when every caller has made its warm-up calls.
func warmUp(load load, connections []connection) *callers {
	c := &callers{load, make([]caller, load.clients)}
	c.each(func(i int, self *caller) (err error) {
		share := load.calls / load.clients
		if i < load.calls%load.clients {
			share++
		}
		self.latencies = make([]time.Duration, share)
		if self.task, err = connections[i%len(connections)](load.work); err != nil {
			return err
		}
		return self.warmUp(load)
	})
	return c
}

func (self *caller) warmUp(load load) error {
	if err := self.call(); err != nil {
		return err
	}
	if err := self.check(load.workload); err != nil {
		return err
	}
	start := time.Now()
	for i := 1; i < load.warmup && time.Since(start) < load.limit; i++ {
		if err := self.call(); err != nil {
			return err
		}
	}
	return nil
}

// each lets all callers do something at once, and waits for them; an error ends the program.
func (c *callers) each(body func(i int, self *caller) error) {
	var all sync.WaitGroup
	for i := range c.all {
		all.Go(func() {
			if err := body(i, &c.all[i]); err != nil {
				fail(err)
			}
		})
	}
	all.Wait()
}

func (self *caller) check(workload string) error {
	if difference := self.difference(); difference != "" {
		return fmt.Errorf("%s returned %s", workload, difference)
	}
	return nil
}

func (c *callers) measure() figures {
	before, start := usage(), time.Now()
	c.each(func(i int, self *caller) error {
		if c.rate > 0 {
			return self.openLoop(start.Add(c.gap(i)), c.gap(c.clients))
		}
		return self.closedLoop(c.limit)
	})
	after := usage()
	c.each(func(_ int, self *caller) error { return self.check(c.workload) })
	latency := c.latency()
	return figures{
		Calls:               latency.Count,
		ElapsedNs:           c.elapsed(),
		CPUNs:               cpuTime(after) - cpuTime(before),
		VoluntarySwitches:   after.Nvcsw - before.Nvcsw,
		InvoluntarySwitches: after.Nivcsw - before.Nivcsw,
		PeakRSSKb:           peakRSS(),
		Latency:             latency,
	}
}

// gap is the time in which so many calls are due.
func (c *callers) gap(calls int) time.Duration {
	return time.Duration(float64(calls) / c.rate * float64(time.Second))
}

// closedLoop makes one call after the other, until the limit.
func (self *caller) closedLoop(limit time.Duration) error {
	self.start = time.Now()
	self.end = self.start
	made := 0
	for made < len(self.latencies) && (made == 0 || self.end.Sub(self.start) < limit) {
		start := time.Now()
		if err := self.call(); err != nil {
			return err
		}
		self.end = time.Now()
		self.latencies[made] = self.end.Sub(start)
		made++
	}
	self.latencies = self.latencies[:made]
	return nil
}

// openLoop makes each call at its time, or as soon as the one before has returned; its latency counts from that time.
func (self *caller) openLoop(due time.Time, period time.Duration) error {
	alarm, err := newAlarm()
	if err != nil {
		return err
	}
	defer alarm.close()
	self.start = due
	for i := range self.latencies {
		if err := alarm.sleepUntil(due); err != nil {
			return err
		}
		if err := self.call(); err != nil {
			return err
		}
		self.latencies[i] = time.Since(due)
		due = due.Add(period)
	}
	self.end = time.Now()
	return nil
}

func (c *callers) elapsed() time.Duration {
	busy := slices.DeleteFunc(slices.Clone(c.all), func(each caller) bool { return len(each.latencies) == 0 })
	first := slices.MinFunc(busy, func(a, b caller) int { return a.start.Compare(b.start) })
	last := slices.MaxFunc(busy, func(a, b caller) int { return a.end.Compare(b.end) })
	return last.end.Sub(first.start)
}

func usage() (used syscall.Rusage) {
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		fail(err)
	}
	return used
}

// peakRSS is not that of getrusage, which counts what the process was before it became this program.
func peakRSS() (kb int64) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		fail(err)
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscan(peak, &kb); err != nil {
		fail(err)
	}
	return kb
}

func cpuTime(used syscall.Rusage) int64 { return used.Utime.Nano() + used.Stime.Nano() }

type figures struct {
	Calls               int           `json:"calls"`
	ElapsedNs           time.Duration `json:"elapsed_ns"`
	CPUNs               int64         `json:"cpu_ns"`
	VoluntarySwitches   int64         `json:"voluntary_switches"`
	InvoluntarySwitches int64         `json:"involuntary_switches"`
	PeakRSSKb           int64         `json:"peak_rss_kb"`
	Latency             latency       `json:"latency"`
}

type latency struct {
	Count  int           `json:"count"`
	MeanNs float64       `json:"mean_ns"`
	SdNs   float64       `json:"sd_ns"`
	MinNs  time.Duration `json:"min_ns"`
	P50Ns  time.Duration `json:"p50_ns"`
	P90Ns  time.Duration `json:"p90_ns"`
	P99Ns  time.Duration `json:"p99_ns"`
	P999Ns time.Duration `json:"p999_ns"`
	MaxNs  time.Duration `json:"max_ns"`
}

func (c *callers) latency() latency {
	var sorted []time.Duration
	for _, each := range c.all {
		sorted = append(sorted, each.latencies...)
	}
	slices.Sort(sorted)
	count := float64(len(sorted))
	var sum, squares float64
	for _, value := range sorted {
		sum += float64(value)
	}
	mean := sum / count
	for _, value := range sorted {
		squares += (float64(value) - mean) * (float64(value) - mean)
	}
	percentile := func(share float64) time.Duration { return sorted[int(math.Ceil(share*count))-1] }
	return latency{
		Count: len(sorted), MeanNs: mean, SdNs: math.Sqrt(squares / count),
		MinNs: sorted[0], P50Ns: percentile(0.5), P90Ns: percentile(0.9),
		P99Ns: percentile(0.99), P999Ns: percentile(0.999), MaxNs: sorted[len(sorted)-1],
	}
}
