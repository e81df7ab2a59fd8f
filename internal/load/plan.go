// Package load makes load and measures how a server takes it. A driver for each protocol decides
// what is sent and checks what comes back (driver.go); connections, the clock, the stages of a load
// and the counters are the same for all.
//
// The engine is a process of its own: one locked OS thread for each core it is given, with an
// epoll loop, raw system calls and no allocation, channel or lock while it measures. The trade:
// package net would make it a third of the code, but costs 1.5 times the CPU for each round trip
// and wakes 1 ms late where epoll_pwait2 wakes 0.04 ms late, so that the instrument would be
// what is measured.
//
// A controller talks to the engine by Start, Next and Go; Main is the engine's side of that.
package load

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"interleave/internal/manifest"
)

// A Plan is everything that the engine needs to know; it is sent to the engine's process as JSON.
type Plan struct {
	Protocol string         `json:"protocol"` // one that speak has entered
	Load     manifest.Load  `json:"load"`
	Addr     netip.AddrPort `json:"addr"` // no port for pings
	// connections bind to these in turn; empty = the kernel's choice
	Sources []netip.Addr  `json:"sources,omitempty"`
	Seed    uint64        `json:"seed"`
	WarmUp  time.Duration `json:"warm_up_ns"`
	// 0 = until every connection has its Requests
	Window time.Duration `json:"window_ns"`
	// the engine gives up after this, whatever happens
	Limit time.Duration `json:"limit_ns"`
	// for what is under way when the load has ended; 0 = each protocol's own time
	Drain time.Duration `json:"drain_ns,omitempty"`
	// parts of the window that replies are counted in; 0 = 20
	Slices int   `json:"slices"`
	CPUs   []int `json:"cpus,omitempty"`
	// the load rests, and runs when it is asked to: its window is the sum of the stints that count
	Stints bool `json:"stints,omitempty"`
}

// An Event is one line that the engine's process prints.
type Event struct {
	At     Stage   `json:"at"`
	Result *Result `json:"result,omitempty"` // at Done
	Error  string  `json:"error,omitempty"`  // at Failed
	// at Rested: the counted stints so far, and all errors so far
	Window time.Duration `json:"window_ns,omitempty"`
	Errors int64         `json:"errors,omitempty"`
}

// Stage is how far the engine is.
type Stage string

// The stages, in order. The engine waits for a line on standard input after Connected, so that the
// caller decides when the load starts.
const (
	Connected Stage = "connected" // every connection is open (shape connect: at once)
	Opened    Stage = "opened"    // the measuring window is open
	Closed    Stage = "closed"    // the measuring window is closed
	Rested    Stage = "rested"    // a stint has ended, and all that it sent is answered
	Done      Stage = "done"
	Failed    Stage = "failed"
)

const (
	defaultSlices = 20
	maxMessage    = 64 << 20 // bytes; more is a mistake, not a load
	maxPipeline   = 1 << 16
	maxInFlight   = 1 << 24 // requests; 256 MiB of memory
)

// Validate says what is wrong with a plan, before anything is opened.
func (p *Plan) Validate() error {
	l := &p.Load
	switch {
	case !p.Addr.Addr().Is4() || p.Addr.Port() == 0 && !p.portless():
		return fmt.Errorf("addr is %v, want an IPv4 address and port", p.Addr)
	case l.Connections < 1 || l.Connections > 1<<20:
		return fmt.Errorf("connections is %d, want 1 to %d", l.Connections, 1<<20)
	case l.Requests < 0 || l.Requests > 1<<40:
		return fmt.Errorf("requests is %d, want 0 to 2^40", l.Requests)
	case p.WarmUp < 0 || p.Window < 0 || p.Drain < 0:
		return errors.New("warm-up, window and drain cannot be negative")
	case p.Window == 0 && l.Requests == 0:
		return errors.New("neither a window nor a number of requests: the load would never end")
	case p.Limit <= 0:
		return errors.New("limit is missing: the load would not be bounded")
	case p.Slices < 0 || p.Slices > 1<<16:
		return fmt.Errorf("slices is %d, want 0 to %d", p.Slices, 1<<16)
	case l.Pipeline < 0 || l.Pipeline > maxPipeline:
		return fmt.Errorf("pipeline is %d, want 1 to %d", l.Pipeline, maxPipeline)
	case l.Connections*l.Pipeline > maxInFlight:
		return fmt.Errorf("%d connections with %d requests in flight are more than %d",
			l.Connections, l.Pipeline, maxInFlight)
	}
	for _, s := range p.Sources {
		if !s.Is4() {
			return fmt.Errorf("source %v is not an IPv4 address", s)
		}
	}
	for _, c := range p.CPUs {
		if c < 0 || c >= maxCPU {
			return fmt.Errorf("cpu is %d, want 0 to %d", c, maxCPU-1)
		}
	}
	known, err := protocolOf(p)
	if err != nil {
		return err
	}
	if err := p.validateShape(); err != nil {
		return err
	}
	if err := p.validateStints(); err != nil {
		return err
	}
	return known.validate(p)
}

// validateShape is for what the shapes need that several protocols are loaded by.
func (p *Plan) validateShape() error {
	l := &p.Load
	switch l.Shape {
	case manifest.Connect:
		return p.noPipeline()
	case manifest.Open:
		if !(l.Rate > 0 && l.Rate <= 1e8) {
			return fmt.Errorf("rate is %v requests a second, want more than 0 and at most 1e8",
				l.Rate)
		}
		if l.Gaps != "" && l.Gaps != "constant" && l.Gaps != "exponential" {
			return fmt.Errorf("gaps is %q, want constant or exponential", l.Gaps)
		}
	case manifest.Paced:
		if rate := p.pacedRate(); !(rate > 0 && rate <= 1e8) {
			return fmt.Errorf("bits is %v a second: that makes %v messages a second, want at "+
				"most 1e8", l.Bits, rate)
		}
	}
	return nil
}

// noPipeline is for shapes with one request at a time on a connection.
func (p *Plan) noPipeline() error {
	if p.Load.Pipeline > 1 {
		return fmt.Errorf("pipeline is set, but shape %s has none", p.Load.Shape)
	}
	return nil
}

func (p *Plan) slices() int {
	if p.Slices == 0 {
		return defaultSlices
	}
	return p.Slices
}

// pingRate is how many pings a second all pingers, or idle clients, send together, each
// at its interval.
func (p *Plan) pingRate() float64 {
	if p.Load.Interval <= 0 {
		return 1
	}
	return float64(p.Load.Connections) / p.Load.Interval.Seconds()
}

// pacedRate is how many messages, or bursts of a chat's, a second all connections send
// together, paced shape.
func (p *Plan) pacedRate() float64 {
	return p.Load.Bits / 8 / float64(p.Load.BurstBytes()) * float64(p.Load.Connections)
}

// LoopbackSources gives enough addresses of 127.0.0.0/8, from 127.0.1.1 on, for n connections to
// one server: at most 10,000 share one. A source address has about 28,000 ports
// (net.ipv4.ip_local_port_range) and the kernel tries every other one of them first: from 14,000
// connections on each new one took it a millisecond of looking. There are at least eight, for
// shape connect: a port rests for a second or more after its connection, and with one address the
// kernel came to search for free ones for milliseconds (14,000 connections a second with one,
// 32,000 with eight).
func LoopbackSources(n int) []netip.Addr {
	const least, perAddress = 8, 10_000
	sources := make([]netip.Addr, max(least, (n+perAddress-1)/perAddress))
	for i := range sources {
		sources[i] = netip.AddrFrom4([4]byte{127, 0, byte(1 + i/254), byte(1 + i%254)})
	}
	return sources
}
