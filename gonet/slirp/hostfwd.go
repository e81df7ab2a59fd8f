package slirp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"

	"interleave/gonet"
	"interleave/gonet/relay"
)

// maxForwards bounds the port forwards: as many as there are ports for one address. The API is not
// the guest's, so this bound is against mistakes.
const maxForwards = 1 << 16

// forward is a port of the host that is forwarded to the guest. One of both families has a pair of
// addresses for each.
type forward struct {
	id    int
	proto string // "tcp" or "udp"
	pairs []pair

	cancel context.CancelFunc
	ended  sync.WaitGroup
}

// pair is an endpoint of the host and the guest's endpoint behind it, of one family.
type pair struct{ host, guest netip.AddrPort }

// network returns the name of a protocol for a family, as "tcp4".
func (p pair) network(proto string) string {
	if p.host.Addr().Is4() {
		return proto + "4"
	}
	return proto + "6"
}

// forwards has the forwards of a Slirp.
type forwards struct {
	mu     sync.Mutex
	last   int // the identifier of the latest one
	all    []*forward
	closed bool
}

var (
	errManyForwards = fmt.Errorf("%d ports are forwarded already", maxForwards)
	errNoForward    = errors.New("no such forward")
)

// addForward begins to forward a port of the host, and returns the identifier of the forward.
func (s *Slirp) addForward(proto string, pairs []pair) (int, error) {
	t := &s.forwards
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return 0, net.ErrClosed
	case len(t.all) >= maxForwards:
		return 0, errManyForwards
	}
	ctx, cancel := context.WithCancel(s.ctx)
	f := &forward{id: t.last + 1, proto: proto, pairs: pairs, cancel: cancel}
	for _, p := range pairs {
		serve, err := s.openForward(proto, p)
		if err != nil {
			f.close()
			return 0, err
		}
		f.ended.Go(func() {
			if err := serve(ctx); err != nil {
				s.fail("forwarding %v: %v", p.host, err)
			}
		})
	}
	t.last = f.id
	t.all = append(t.all, f)
	return f.id, nil
}

// openForward opens the host's socket of a forward, and returns the function that serves it.
func (s *Slirp) openForward(proto string, p pair) (func(context.Context) error, error) {
	network := p.network(proto)
	if proto == "udp" {
		in, err := s.cfg.Host.ListenPacket(network, p.host.String())
		if err != nil {
			return nil, err
		}
		flows := &relay.Flows{Log: s.cfg.Log, Dial: func(ctx context.Context) (net.Conn, error) {
			return s.dialGuest(ctx, network, p.guest)
		}}
		return func(ctx context.Context) error { return flows.Serve(ctx, in) }, nil
	}
	l, err := s.cfg.Host.Listen(network, p.host.String())
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		return relay.Serve(ctx, l, func(ctx context.Context, c net.Conn) {
			s.accept(ctx, c, network, p.guest)
		})
	}, nil
}

// accept handles a connection from the outside. If the guest does not take it, it is reset.
func (s *Slirp) accept(ctx context.Context, c net.Conn, network string, guest netip.AddrPort) {
	if !s.connections.enter() {
		s.fail("%v to %v: too many connections", c.RemoteAddr(), guest)
		relay.Reset(c)
		return
	}
	defer s.connections.leave()
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	near, err := s.dialGuest(ctx, network, guest)
	cancel()
	if err != nil {
		s.fail("%v to %v: %v", c.RemoteAddr(), guest, err)
		relay.Reset(c)
		return
	}
	s.join(near, c)
}

// dialGuest connects to the guest from the gateway's address.
func (s *Slirp) dialGuest(ctx context.Context, network string,
	guest netip.AddrPort) (net.Conn, error) {
	from := netip.AddrPortFrom(s.cfg.Network.Gateway, 0)
	if guest.Addr().Is6() {
		from = netip.AddrPortFrom(s.cfg.Network.Gateway6, 0)
	}
	d := gonet.Dialer{Stack: s.stack, LocalAddr: net.TCPAddrFromAddrPort(from)}
	if network[:3] == "udp" {
		d.LocalAddr = net.UDPAddrFromAddrPort(from)
	}
	return d.DialContext(ctx, network, guest.String())
}

// removeForward ends a forward and its connections.
func (s *Slirp) removeForward(id int) error {
	t := &s.forwards
	t.mu.Lock()
	i, found := slices.BinarySearchFunc(t.all, id,
		func(f *forward, id int) int { return cmp.Compare(f.id, id) })
	var f *forward
	if found {
		f = t.all[i]
		t.all = slices.Delete(t.all, i, i+1)
	}
	t.mu.Unlock()
	if !found {
		return errNoForward
	}
	f.close()
	return nil
}

// list returns the forwards by their identifiers.
func (t *forwards) list() []*forward {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.all)
}

// close ends all forwards, and lets no other begin.
func (t *forwards) close() {
	t.mu.Lock()
	t.closed = true
	all := t.all
	t.all = nil
	t.mu.Unlock()
	for _, f := range all {
		f.close()
	}
}

// close ends a forward, and returns when its sockets are closed.
func (f *forward) close() {
	f.cancel()
	f.ended.Wait()
}
