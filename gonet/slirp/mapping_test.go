package slirp

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
)

// portHost is a Host that only dials flows: from the port that is asked for, or from the next one.
type portHost struct {
	Host
	next  uint16
	fails bool // for chosen ports
	dead  bool // for all
}

var errPort = errors.New("the port is in use")

func (h *portHost) DialFlow(_ context.Context, port uint16, _ string) (net.Conn, error) {
	if h.dead || port != 0 && h.fails {
		return nil, errPort
	}
	if port == 0 {
		h.next++
		port = h.next
	}
	return portConn{port: port}, nil
}

// portConn is a connection that has but a port.
type portConn struct {
	net.Conn
	port uint16
}

func (c portConn) LocalAddr() net.Addr { return &net.UDPAddr{Port: int(c.port)} }

// FuzzMappings opens and ends flows of some endpoints in any order, while ports are refused. All
// flows of an endpoint have one port, as long as there is one of them, unless the host refuses it;
// nothing is left at the end.
func FuzzMappings(f *testing.F) {
	f.Add([]byte{0, 0, 4, 8, 2, 2, 6, 10})
	f.Add([]byte{0, 1, 3, 2, 2, 3, 0, 2})
	f.Fuzz(func(t *testing.T, ops []byte) {
		var table mappings
		h := &portHost{next: 32767}
		type endpoint struct {
			flows int
			port  uint16
		}
		endpoints := map[netip.AddrPort]*endpoint{}
		for _, op := range ops {
			at := netip.AddrPortFrom(netip.MustParseAddr("10.0.2.100"), uint16(op>>2))
			e := endpoints[at]
			if e == nil {
				e = &endpoint{}
				endpoints[at] = e
			}
			if op&3 == 2 {
				if e.flows > 0 {
					table.release(at)
					e.flows--
				}
				continue
			}
			h.fails, h.dead = op&3 == 1, op&3 == 3
			c, err := table.dial(t.Context(), h, at, "192.0.2.1:7")
			if h.dead {
				if err == nil {
					t.Fatal("a flow of a host that dials none")
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			port := c.(portConn).port
			if e.flows == 0 {
				e.port = port
			} else if port != e.port && !h.fails {
				t.Fatalf("a flow has the port %d, its endpoint %d", port, e.port)
			}
			e.flows++
		}
		for at, e := range endpoints {
			if m := table.all[at]; (m != nil) != (e.flows > 0) || m != nil && (m.flows != e.flows ||
				m.port != e.port) {
				t.Fatalf("%v: %+v, want %+v", at, m, e)
			}
			for range e.flows {
				table.release(at)
			}
		}
		if len(table.all) != 0 {
			t.Fatalf("%d mappings are left", len(table.all))
		}
	})
}
