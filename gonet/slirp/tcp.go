package slirp

import (
	"context"
	"net"
	"net/netip"

	"interleave/gonet"
	"interleave/gonet/relay"
)

// connect handles a connection of the guest: it is accepted once the host has connected.
func (s *Slirp) connect(r *gonet.TCPRequest) {
	if !s.connections.enter() {
		s.fail("%v to %v: too many connections", r.Source(), r.Destination())
		return // the guest sends its SYN again
	}
	defer s.connections.leave()
	to, ok := s.outside(r.Destination().Addr())
	if !ok {
		r.Unreachable(gonet.UnreachableProhibited)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), connectTime)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	far, err := s.cfg.Host.DialContext(ctx, "tcp", hostPort(to, r.Destination().Port()))
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
