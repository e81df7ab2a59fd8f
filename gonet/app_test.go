package gonet

import (
	"net"
	"net/netip"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
)

// pairing is a client and a server, each a host of its own on one wire, for protocols
// of applications.
type pairing struct {
	client, server *Stack
	addr           netip.Addr // the server's
	unhurried      bool       // nobody waits for a write
}

// at is a port of the server.
func (p *pairing) at(port int) string {
	return net.JoinHostPort(p.addr.String(), strconv.Itoa(port))
}

// listen opens a port of the server, until the test is over.
func (p *pairing) listen(t *testing.T, port int) net.Listener {
	t.Helper()
	l, err := p.server.Listen("tcp", ":"+strconv.Itoa(port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // a server may have closed it
	if p.unhurried {
		return unhurriedListener{l}
	}
	return l
}

// applications runs f for each family and each kind of wire: plain frames, super-frames, and a wire
// that is mildly bad. What is lost there is sent again after a while, which is fake time, so nobody
// may wait for a write on it.
func applications(t *testing.T, f func(t *testing.T, p *pairing)) {
	wires(t, func(t *testing.T, bad bool, make func(t *testing.T) *pairing) {
		if !bad {
			f(t, make(t))
			return
		}
		synctest.Test(t, func(t *testing.T) {
			p := make(t)
			p.unhurried = true
			f(t, p)
		})
	})
}

// bubbled is applications in fake time. It is for programs none of whose goroutines waits for a
// mutex while another writes under it, as those of HTTP/2 and SSH do: time stands still in
// testing/synctest while somebody waits for a mutex.
func bubbled(t *testing.T, f func(t *testing.T, p *pairing)) {
	wires(t, func(t *testing.T, _ bool, make func(t *testing.T) *pairing) {
		synctest.Test(t, func(t *testing.T) { f(t, make(t)) })
	})
}

// wires runs f for each kind of wire; make makes the two hosts.
func wires(t *testing.T, f func(t *testing.T, bad bool, make func(t *testing.T) *pairing)) {
	bad := link.Fault{Loss: 0.01, Duplicate: 0.01, Corrupt: 0.005, Reorder: 0.02,
		Delay: 3 * time.Millisecond, Jitter: 2 * time.Millisecond}
	for _, c := range []struct {
		name    string
		server  string
		options []link.Option
		fault   link.Fault
	}{
		{"IPv4", "10.0.0.2", nil, link.Fault{Delay: time.Millisecond}},
		{"IPv6", "2001:db8::2", nil, link.Fault{Delay: time.Millisecond}},
		{"IPv4 in super-frames", "10.0.0.2", []link.Option{link.Offload()}, link.Fault{}},
		{"IPv6 in super-frames", "2001:db8::2", []link.Option{link.Offload()}, link.Fault{}},
		{"IPv4 on a bad wire", "10.0.0.2", nil, bad},
		{"IPv6 on a bad wire", "2001:db8::2", nil, bad},
	} {
		t.Run(c.name, func(t *testing.T) {
			f(t, c.fault == bad, func(t *testing.T) *pairing {
				var ends [2]link.Link
				a, b := link.Pair(c.options...)
				ends[0], ends[1] = a, b
				if c.fault != (link.Fault{}) { // a wire with faults, which carries plain frames
					ends[0], ends[1] = link.NewFaults(a, 1, link.Fault{}, c.fault),
						link.NewFaults(b, 2, link.Fault{}, c.fault)
				}
				return &pairing{client: host6(t, ends[0], "1"), server: host6(t, ends[1], "2"),
					addr: netip.MustParseAddr(c.server)}
			})
		})
	}
}

// elapse lets time pass in a bubble, where it is fake.
func elapse(d time.Duration) {
	synctest.Wait() // outside a bubble it panics
	time.Sleep(d)
}
