package neighbour

import (
	"bytes"
	"net/netip"
	"slices"
	"testing"
	"time"

	"interleave/gonet/wire"
)

var (
	addrA  = netip.MustParseAddr("10.0.0.7")
	first  = wire.MAC{2, 5: 1}
	second = wire.MAC{2, 5: 2}
	start  = time.Unix(1_000_000, 0)
)

// fixture is a cache with one neighbour, addrA, in a state; and the time.
type fixture struct {
	t *testing.T
	Cache
	now time.Time
}

// in brings the neighbour into a state by the events that lead there.
func in(t *testing.T, want State) *fixture {
	t.Helper()
	f := &fixture{t: t, now: start}
	if want != Permanent {
		f.lookup(Asking)
	}
	switch want {
	case Incomplete:
	case Failed:
		f.wait(MaxMulticastSolicit * RetransTimer)
	case Permanent:
		f.AddPermanent(addrA, first)
	case Reachable:
		f.Advertise(addrA, Advertisement{MAC: first, HasMAC: true, Solicited: true}, f.now)
	default:
		f.Advertise(addrA, Advertisement{MAC: first, HasMAC: true}, f.now)
		if want >= Delay {
			f.lookup(Found)
		}
		if want == Probe {
			f.wait(DelayFirstProbeTime)
		}
	}
	f.Actions()
	f.expect(want)
	return f
}

// wait lets time pass, and runs each timer when it is due.
func (f *fixture) wait(d time.Duration) {
	end := f.now.Add(d)
	for {
		due, ok := f.Deadline()
		if !ok || due.After(end) {
			break
		}
		f.now = due
		f.Expire(f.now)
	}
	f.now = end
}

func (f *fixture) lookup(want Answer) {
	f.t.Helper()
	if _, got := f.Lookup(addrA, f.now); got != want {
		f.t.Errorf("the answer is %d, want %d", got, want)
	}
}

// expect compares the neighbour's state, and whether packets are sent without a Lookup.
func (f *fixture) expect(want State) {
	f.t.Helper()
	e := f.Get(addrA)
	if e == nil {
		f.t.Fatalf("the neighbour is gone, want %v", want)
	}
	if e.State() != want {
		f.t.Errorf("%v, want %v", e.State(), want)
	}
	fast := want == Reachable || want == Delay || want == Probe || want == Permanent
	if (e.Station() != nil) != fast {
		f.t.Errorf("in %v the station is %v", want, e.Station())
	}
}

// expectStation compares the station that is known, whatever the state.
func (f *fixture) expectStation(want wire.MAC) {
	f.t.Helper()
	if mac := f.Get(addrA).mac; mac == nil || *mac != want {
		f.t.Errorf("the station is %v, want %v", mac, want)
	}
}

// TestAdvertisements is the table of RFC 4861 appendix C for advertisements.
func TestAdvertisements(t *testing.T) {
	const unchanged = Permanent + 1
	none, same, other := Advertisement{}, Advertisement{MAC: first, HasMAC: true},
		Advertisement{MAC: second, HasMAC: true}
	for _, c := range []struct {
		name                string
		in                  []State
		mac                 Advertisement
		solicited, override []bool
		want                State
		station             wire.MAC // zero: as before
	}{
		{"INCOMPLETE, unsolicited", []State{Incomplete}, same, no, any2, Stale, first},
		{"INCOMPLETE, solicited", []State{Incomplete}, same, yes, any2, Reachable, first},
		{"INCOMPLETE, without a station", []State{Incomplete}, none, any2, any2, unchanged,
			wire.MAC{}},
		{"another station may not replace it", []State{Reachable}, other, any2, no, Stale, first},
		{"nor in other states", []State{Stale, Delay, Probe}, other, any2, no, unchanged, first},
		{"another station, confirmed", []State{Reachable, Stale, Delay, Probe}, other, yes, yes,
			Reachable, second},
		{"another station", []State{Reachable, Stale, Delay, Probe}, other, no, yes, Stale, second},
		{"confirmed", []State{Reachable, Stale, Delay, Probe}, same, yes, any2, Reachable, first},
		{"confirmed without a station", []State{Reachable, Stale, Delay, Probe}, none, yes, any2,
			Reachable, first},
		{"nothing new", []State{Reachable, Stale, Delay, Probe}, same, no, any2, unchanged, first},
		{"a late answer", []State{Failed}, same, yes, any2, Reachable, first},
		{"a permanent station", []State{Permanent}, other, any2, any2, unchanged, first},
	} {
		for _, state := range c.in {
			for _, solicited := range c.solicited {
				for _, override := range c.override {
					f := in(t, state)
					n := c.mac
					n.Solicited, n.Override = solicited, override
					f.Advertise(addrA, n, f.now)
					want := c.want
					if want == unchanged {
						want = state
					}
					f.expect(want)
					if c.station != (wire.MAC{}) {
						f.expectStation(c.station)
					}
					if t.Failed() {
						t.Fatalf("%s: in %v, %+v", c.name, state, n)
					}
				}
			}
		}
	}
}

var no, yes, any2 = []bool{false}, []bool{true}, []bool{false, true}

// TestSources is the same table for messages in which a neighbour names its own station.
func TestSources(t *testing.T) {
	for state := Incomplete; state <= Failed; state++ {
		f := in(t, state)
		f.Learn(addrA, second, f.now)
		f.expect(Stale)
		f.expectStation(second)
	}
	for _, state := range []State{Reachable, Stale, Delay, Probe, Permanent} {
		f := in(t, state)
		f.Learn(addrA, first, f.now)
		f.expect(state)
	}
	f := &fixture{t: t, now: start}
	f.Learn(addrA, first, f.now)
	f.expect(Stale)
	f.Advertise(netip.MustParseAddr("10.0.0.8"), Advertisement{MAC: first, HasMAC: true}, f.now)
	if f.Len() != 1 {
		t.Errorf("an advertisement of nobody that is known makes %d entries", f.Len())
	}
}

// TestUnreachable holds how often a neighbour is asked for that never answers, and for how long
// nobody asks again.
func TestUnreachable(t *testing.T) {
	f := &fixture{t: t, now: start}
	f.lookup(Asking)
	f.Hold(addrA, []byte("waits"))
	f.lookup(Asking) // no second request
	for i := range MaxMulticastSolicit {
		a := f.Actions()
		if len(a.Solicit) != 1 || a.Solicit[0] != (Solicitation{Addr: addrA}) || a.Dropped != 0 ||
			len(a.Unreachable) != 0 {
			t.Fatalf("request %d: %+v", i, a)
		}
		f.wait(RetransTimer - 1)
		if a := f.Actions(); len(a.Solicit) != 0 {
			t.Fatalf("too early: %+v", a)
		}
		f.wait(1)
	}
	if a := f.Actions(); len(a.Unreachable) != 1 || a.Unreachable[0] != addrA || a.Dropped != 1 ||
		len(a.Solicit) != 0 {
		t.Errorf("at the end: %+v", a)
	}
	f.expect(Failed)
	f.lookup(RateLimited)
	f.Hold(addrA, []byte("too late"))
	if a := f.Actions(); a.Dropped != 1 || f.Waiting() != 0 {
		t.Errorf("a packet for it waits: %+v", a)
	}
	e := f.Get(addrA)
	f.wait(RetryDelay)
	if f.Get(addrA) != nil || !e.Removed() || e.Station() != nil {
		t.Error("it is remembered")
	}
	f.lookup(Asking)
	if a := f.Actions(); len(a.Solicit) != 1 {
		t.Errorf("asked again: %+v", a)
	}
}

// TestReachability follows a neighbour through all states, until it does not answer any more.
func TestReachability(t *testing.T) {
	f := in(t, Reachable)
	f.wait(ReachableTime - 1)
	f.expect(Reachable)
	f.wait(1)
	f.expect(Stale)
	f.wait(24 * time.Hour) // as long as nothing is sent
	f.expect(Stale)
	f.lookup(Found)
	f.expect(Delay)
	f.wait(DelayFirstProbeTime - 1)
	if a := f.Actions(); len(a.Solicit) != 0 {
		t.Errorf("in DELAY: %+v", a)
	}
	f.wait(1)
	for range MaxUnicastSolicit {
		f.expect(Probe)
		f.lookup(Found)
		if a := f.Actions(); len(a.Solicit) != 1 || a.Solicit[0].To == nil ||
			*a.Solicit[0].To != first {
			t.Errorf("in PROBE: %+v", a)
		}
		f.wait(RetransTimer)
	}
	f.expect(Failed)
	if a := f.Actions(); len(a.Unreachable) != 1 {
		t.Errorf("at the end: %+v", a)
	}
}

// TestHold holds which packets are kept for a neighbour, and that they are sent once.
func TestHold(t *testing.T) {
	f := in(t, Incomplete)
	for i := range maxWaiting + 3 {
		f.Hold(addrA, []byte{byte(i)})
	}
	if a := f.Actions(); a.Dropped != 3 || f.Waiting() != maxWaiting {
		t.Errorf("%d packets were dropped, %d bytes wait", a.Dropped, f.Waiting())
	}
	f.Advertise(addrA, Advertisement{MAC: first, HasMAC: true}, f.now)
	a := f.Actions()
	if len(a.Send) != 1 || *a.Send[0].Station != first || f.Waiting() != 0 {
		t.Fatalf("sent: %+v", a.Send)
	}
	if got := bytes.Join(a.Send[0].Packets, nil); len(got) != maxWaiting || got[0] != 3 {
		t.Errorf("the packets % x were sent", got)
	}
	f.Advertise(addrA, Advertisement{MAC: first, HasMAC: true, Solicited: true}, f.now)
	if a := f.Actions(); len(a.Send) != 0 {
		t.Errorf("sent again: %+v", a.Send)
	}
}

func TestBytesThatWaitAreBounded(t *testing.T) {
	f := &fixture{t: t, now: start}
	const size = 1500
	for i := range maxWaitingBytes/size + 500 {
		a := netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)})
		f.Lookup(a, f.now)
		f.Hold(a, make([]byte, size))
	}
	most := maxWaitingBytes / size * size
	if f.Waiting() != most {
		t.Errorf("%d bytes wait, want %d", f.Waiting(), most)
	}
	f.wait(time.Minute)
	if f.Waiting() != 0 || f.Len() != 0 {
		t.Errorf("%d bytes and %d neighbours are left", f.Waiting(), f.Len())
	}
}

// TestAFullCache holds that a flood removes its own kind, and leaves a neighbour that is used.
func TestAFullCache(t *testing.T) {
	f := in(t, Reachable)
	used := f.Get(addrA)
	for i := range 5 * MaxEntries {
		a := netip.AddrFrom4([4]byte{10, byte(i>>16) + 1, byte(i >> 8), byte(i)})
		f.Lookup(a, f.now)
		f.Hold(a, []byte("x"))
		if i%100 == 0 && used.Station() == nil {
			t.Fatalf("after %d: it is gone", i)
		}
	}
	if f.Len() != MaxEntries || len(f.timers) != MaxEntries || f.Waiting() >= MaxEntries {
		t.Errorf("%d entries, %d timers, %d bytes", f.Len(), len(f.timers), f.Waiting())
	}
	f.expect(Reachable)
}

func TestRemovePermanent(t *testing.T) {
	f := in(t, Stale)
	var groups []*Entry
	for i := range 10 {
		groups = append(groups, f.AddPermanent(netip.AddrFrom4([4]byte{224, 0, 0, byte(i)}), first))
	}
	f.RemovePermanent()
	if f.Len() != 1 || f.Get(addrA) == nil {
		t.Errorf("%d entries are left", f.Len())
	}
	for _, e := range groups {
		if !e.Removed() || e.Station() != nil {
			t.Errorf("%v is kept", e.Addr())
		}
	}
	f = in(t, Incomplete)
	f.Hold(addrA, []byte("x"))
	f.AddPermanent(addrA, second)
	if a := f.Actions(); len(a.Send) != 1 || *a.Send[0].Station != second {
		t.Errorf("what has waited: %+v", a)
	}
}

func TestList(t *testing.T) {
	f := in(t, Reachable)
	other := netip.MustParseAddr("10.0.0.8")
	f.Lookup(other, f.now)
	f.AddPermanent(netip.MustParseAddr("224.0.0.1"), second)
	if got := f.List(); !slices.Equal(got, []Info{{addrA, first, Reachable},
		{other, wire.MAC{}, Incomplete}}) {
		t.Errorf("%v", got)
	}
	if got := f.List()[0].State.String(); got != "REACHABLE" {
		t.Errorf("the state is written as %s", got)
	}
}

// FuzzCache runs sequences of events: each byte is an event, an address and how much time passes.
// The tables of a cache must agree with each other after each.
func FuzzCache(f *testing.F) {
	f.Add([]byte("\x00\x08\x10\x18\x20\x28\x30\x38"))
	f.Add(bytes.Repeat([]byte{0, 1, 2, 0x47, 0x4f, 7, 6}, 30))
	f.Fuzz(func(t *testing.T, events []byte) {
		c, now := &Cache{}, start
		for _, b := range events {
			a := netip.AddrFrom4([4]byte{10, 3: b >> 3 & 7})
			mac := wire.MAC{2, 5: b >> 6}
			switch b & 7 {
			case 0, 1:
				if _, answer := c.Lookup(a, now); answer == Asking {
					c.Hold(a, []byte{b})
				}
			case 2:
				c.Learn(a, mac, now)
			case 3:
				c.Advertise(a, Advertisement{MAC: mac, HasMAC: b&128 == 0, Override: b&64 != 0,
					Solicited: b&32 != 0}, now)
			case 4:
				c.AddPermanent(a, mac)
			case 5:
				c.RemovePermanent()
			default:
				now = now.Add(time.Duration(b>>3) * 300 * time.Millisecond)
				c.Expire(now)
			}
			check(t, c)
		}
		now = now.Add(time.Hour)
		for range 100 { // each round ends what can end
			c.Expire(now)
			now = now.Add(time.Minute)
		}
		if _, runs := c.Deadline(); runs || c.Waiting() != 0 {
			t.Errorf("%d timers run, %d bytes wait", len(c.timers), c.Waiting())
		}
	})
}

func check(t *testing.T, c *Cache) {
	t.Helper()
	waiting, timers := 0, 0
	for i, e := range c.all {
		for _, p := range e.waiting {
			waiting += len(p)
		}
		if e.timer != 0 {
			timers++
			if c.timers[e.timer-1] != e {
				t.Fatalf("%v has the timer of another", e.addr)
			}
		}
		if e.index != i || c.Get(e.addr) != e || e.removed.Load() {
			t.Fatalf("%v is at %d, not at %d", e.addr, i, e.index)
		}
		if known := e.state != Incomplete && e.state != Failed; (e.mac != nil) != known ||
			known && len(e.waiting) > 0 {
			t.Fatalf("%v in %v: %v, %d packets", e.addr, e.state, e.mac, len(e.waiting))
		}
	}
	if waiting != c.waiting || timers != len(c.timers) {
		t.Fatalf("%d bytes wait, not %d; %d timers, not %d", waiting, c.waiting, timers,
			len(c.timers))
	}
	for _, s := range c.Actions().Solicit {
		if c.Get(s.Addr) == nil {
			t.Fatalf("%v is asked for, and not in the cache", s.Addr)
		}
	}
}
