package dhcp

import (
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/ip"
	"interleave/gonet/link"
)

// before returns the configuration of a client that has had a lease.
func before(expires time.Time) Config {
	return Config{MAC: ours, Seed: 1, Previous: Lease{Address: netip.PrefixFrom(address, 24),
		Server: server, Expires: expires}}
}

// TestReboot requests the previous address without a DISCOVER, and starts again if that is refused
// or not answered, or if the lease has expired.
func TestReboot(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer func(Type, int) Type
		left   time.Duration
		want   []string
	}{
		{"granted", nil, time.Minute, append(append([]string{"0 REQUEST to all"}, taken(0)[2:]...),
			"1 announce 192.168.7.20")},
		{"refused", func(m Type, n int) Type {
			return map[Type]Type{Discover: Offer, Request: []Type{Nak, Ack}[min(n, 1)]}[m]
		}, time.Minute, append(append([]string{"0 REQUEST to all"}, taken(1)...),
			"2 announce 192.168.7.20")},
		{"too old", nil, -time.Minute, append(taken(0), "1 announce 192.168.7.20")},
	} {
		with(t, func(t *testing.T, l link.Link, s *serverHost) {
			s.answer = c.answer
			cl, err := Acquire(t.Context(), l, before(time.Now().Add(c.left)))
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if got := cl.Lease(); got.Address != netip.PrefixFrom(address, 24) ||
				got.Server != server {
				t.Errorf("%s: %+v", c.name, got)
			}
			synctest.Wait() // the announcement is in flight
			holdSaid(t, s, c.want...)
			select {
			case <-cl.Lost():
				t.Errorf("%s: nothing was used yet, and is lost", c.name)
			default:
			}
		})
	}
}

func TestRebootUnanswered(t *testing.T) {
	now := time.Now()
	m := NewMachine(before(time.Time{}), now)
	var said []Type
	for range 4 {
		now = m.Deadline()
		m.Expire(now)
		for p, ok := m.Output(); ok; p, ok = m.Output() {
			said = append(said, p.Message.Type())
		}
	}
	if want := []Type{Request, Request, Discover, Discover}; !slices.Equal(said, want) {
		t.Errorf("%v, want %v", said, want)
	}
}

// TestRoutes parses option 121: two networks, one of them on the link, and a default route, which
// replaces the router option.
func TestRoutes(t *testing.T) {
	router := netip.MustParseAddr("192.168.7.254")
	whole := []byte{16, 172, 20, 192, 168, 7, 3, 25, 10, 1, 2, 255, 0, 0, 0, 0, 0, 192, 168, 7, 254,
		8, 11, 1, 1, 1, 1}
	want := []ip.Route{
		{Network: netip.MustParsePrefix("172.20.0.0/16"), Via: netip.MustParseAddr("192.168.7.3")},
		{Network: netip.MustParsePrefix("10.1.2.128/25")},
	}
	for _, c := range []struct {
		name   string
		option []byte
		routes []ip.Route
		router netip.Addr
	}{
		{"whole", whole, want, router},
		{"cut", whole[:len(whole)-1], nil, server},
		{"33 bits", []byte{33, 1, 2, 3, 4, 5, 192, 168, 7, 3}, nil, server},
		{"empty", []byte{}, nil, server},
		{"no way to everywhere", whole[:7], want[:1], netip.Addr{}},
		{"through ourselves", []byte{8, 9, 192, 168, 7, 20}, nil, netip.Addr{}},
	} {
		in := sample()
		in.Set(OptionMask, 255, 255, 255, 0)
		in.SetAddr(OptionRouter, server)
		in.Set(OptionRoutes, c.option...)
		m := NewMachine(Config{MAC: ours, Seed: 1}, time.Now())
		l, ok := m.read(&in, time.Now())
		if !ok || !slices.Equal(l.Routes, c.routes) || l.Router != c.router {
			t.Errorf("%s: %v, router %v, %v, want %v, %v", c.name, l.Routes, l.Router, ok, c.routes,
				c.router)
		}
	}
}
