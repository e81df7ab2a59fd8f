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

// hostPair is a client's and a server's host on one wire, for application protocols.
type hostPair struct {
	client, server *Stack
	addr           netip.Addr // the server's address
	asyncWrites    bool       // writes do not block, see asyncConn
}

// at returns the address of a port of the server.
func (p *hostPair) at(port int) string {
	return net.JoinHostPort(p.addr.String(), strconv.Itoa(port))
}

// listen listens at a port of the server, until the test is over.
func (p *hostPair) listen(t *testing.T, port int) net.Listener {
	t.Helper()
	l, err := p.server.Listen("tcp", ":"+strconv.Itoa(port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // a server may have closed it
	if p.asyncWrites {
		return asyncListener{l}
	}
	return l
}

// overWires runs f for each family and each kind of wire: plain frames, super-frames, and a
// slightly lossy wire. On the latter f runs in fake time, in which retransmissions take no time,
// and with writes that do not block.
func overWires(t *testing.T, f func(t *testing.T, p *hostPair)) {
	wires(t, func(t *testing.T, bad bool, make func(t *testing.T) *hostPair) {
		if !bad {
			f(t, make(t))
			return
		}
		synctest.Test(t, func(t *testing.T) {
			p := make(t)
			p.asyncWrites = true
			f(t, p)
		})
	})
}

// inFakeTime is overWires with fake time on all wires. It is for programs in which no goroutine
// waits for a mutex while another writes under it, as in HTTP/2 and SSH: time stands still in
// testing/synctest while a goroutine waits for a mutex.
func inFakeTime(t *testing.T, f func(t *testing.T, p *hostPair)) {
	wires(t, func(t *testing.T, _ bool, make func(t *testing.T) *hostPair) {
		synctest.Test(t, func(t *testing.T) { f(t, make(t)) })
	})
}

// wires runs f for each kind of wire; make makes the two hosts.
func wires(t *testing.T, f func(t *testing.T, bad bool, make func(t *testing.T) *hostPair)) {
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
			f(t, c.fault == bad, func(t *testing.T) *hostPair {
				var ends [2]link.Link
				a, b := link.Pair(c.options...)
				ends[0], ends[1] = a, b
				if c.fault != (link.Fault{}) { // a wire with faults carries plain frames
					ends[0], ends[1] = link.NewFaults(a, 1, link.Fault{}, c.fault),
						link.NewFaults(b, 2, link.Fault{}, c.fault)
				}
				return &hostPair{client: host6(t, ends[0], "1"), server: host6(t, ends[1], "2"),
					addr: netip.MustParseAddr(c.server)}
			})
		})
	}
}

// advanceTime lets fake time pass. Outside a synctest bubble it panics.
func advanceTime(d time.Duration) {
	synctest.Wait() // outside a bubble it panics
	time.Sleep(d)
}
