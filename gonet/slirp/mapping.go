package slirp

import (
	"context"
	"net"
	"net/netip"
	"sync"
)

// mappings has a port of the host for each endpoint of the guest that sends datagrams. All flows of
// an endpoint come from its port, whatever their destinations, so that peers of the outside can
// tell each other where the guest is (RFC 4787 section 4.1). Each flow still has a socket of its
// own, which is connected: the guest hears only those to whom it has sent something.
type mappings struct {
	mu  sync.Mutex
	all map[netip.AddrPort]*mapping
}

// mapping is the port of an endpoint.
type mapping struct {
	port  uint16
	flows int // that use it
}

// dial connects a flow of an endpoint of the guest. Each call needs one of release. A dial of UDP
// sends nothing, so it is made under the lock.
func (t *mappings) dial(ctx context.Context, h Host, guest netip.AddrPort,
	to string) (net.Conn, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.all[guest]
	if m == nil {
		c, err := h.DialFlow(ctx, 0, to)
		if err != nil {
			return nil, err
		}
		m = &mapping{}
		if a, ok := c.LocalAddr().(*net.UDPAddr); ok {
			m.port = a.AddrPort().Port()
		}
		if t.all == nil {
			t.all = map[netip.AddrPort]*mapping{}
		}
		t.all[guest] = m
		m.flows++
		return c, nil
	}
	c, err := h.DialFlow(ctx, m.port, to)
	if err != nil { // another program may have the port at the address from which this flow leaves
		c, err = h.DialFlow(ctx, 0, to)
	}
	if err == nil {
		m.flows++
	}
	return c, err
}

// release ends a flow of an endpoint. The last one frees the port.
func (t *mappings) release(guest netip.AddrPort) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.all[guest]
	if m.flows--; m.flows == 0 {
		delete(t.all, guest)
	}
}
