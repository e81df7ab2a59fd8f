package slirp

import (
	"context"
	"net"
	"net/netip"

	"interleave/gonet"
	"interleave/gonet/relay"
)

// start begins a connection of the guest. It runs in the stack's dealer, and returns the handler.
// The guest is answered once the host has connected, at once if the host is by then.
func (s *Slirp) start(r *gonet.TCPRequest) (handle func()) {
	if !s.connections.enter() {
		return func() { // the guest sends its SYN again
			s.fail("%v to %v: too many connections", r.Source(), r.Destination())
		}
	}
	to, ok := s.outside(r.Destination().Addr())
	o := outward{to: netip.AddrPortFrom(to, r.Destination().Port()), prohibited: !ok}
	if s.cfg.StartTCP != nil && ok {
		o.started, o.err = s.cfg.StartTCP(o.to)
		if o.err == nil && o.started.Connected() {
			r.SetReadBuffer(s.buffers.first(len(s.connections)))
			_ = r.Answer() // if it fails, so does Accept
		}
	}
	return func() { s.connect(r, &o) }
}

// outward is the host's side of a connection that the guest wants.
type outward struct {
	to         netip.AddrPort
	prohibited bool
	started    Starting // nil if the host is yet to dial
	err        error    // of StartTCP
}

// dial returns the host's connection when it is established.
func (o *outward) dial(ctx context.Context, host Host) (net.Conn, error) {
	switch {
	case o.err != nil:
		return nil, o.err
	case o.started != nil:
		return o.started.Wait(ctx)
	}
	return host.DialContext(ctx, "tcp", o.to.String())
}

// connect handles a connection of the guest: it is accepted once the host has connected. The
// request ends after connectTime, and with the stack.
func (s *Slirp) connect(r *gonet.TCPRequest, o *outward) {
	defer s.connections.leave()
	if o.prohibited {
		r.Unreachable(gonet.UnreachableProhibited)
		return
	}
	far, err := o.dial(r.Context(), s.cfg.Host)
	if err != nil {
		if r.Context().Err() == nil { // else the guest has given up
			s.fail("%v to %v: %v", r.Source(), r.Destination(), err)
			if why, refused := reason(err); refused {
				r.Refuse()
			} else {
				r.Unreachable(why)
			}
		}
		return
	}
	r.SetReadBuffer(s.buffers.first(len(s.connections)))
	near, err := r.Accept()
	if err != nil {
		relay.Reset(far) // the guest has gone
		return
	}
	s.counters.connections.Add(1)
	s.join(near, far)
}

// join copies between the guest and the host until both have ended.
func (s *Slirp) join(near, far net.Conn) {
	if c, ok := near.(*gonet.Conn); ok { // as all are
		s.buffers.add(c, len(s.connections))
		defer func() { s.buffers.remove(c, len(s.connections)-1) }()
	}
	err := relay.Join(s.ctx, near, relay.Count(far, &s.counters.received, &s.counters.sent))
	if err != nil && s.ctx.Err() == nil {
		s.log("%v and %v: %v", near.RemoteAddr(), far.RemoteAddr(), err)
	}
}

func hostPort(a netip.Addr, port uint16) string { return netip.AddrPortFrom(a, port).String() }
