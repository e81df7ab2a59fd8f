package slirp

import (
	"context"
	"errors"
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
	near, err := r.Accept()
	if err != nil {
		relay.Reset(far) // the guest has gone
		return
	}
	s.counters.connections.Add(1)
	s.join(near, far)
}

// The bounds on the bytes that wait in each direction of a connection: that of one, what many
// share, and what each gets in any case. With 64 KiB at a time, windows of 4 MiB take a tenth less
// processor time than those of 512 KiB.
const (
	maxBuffer    = 4 << 20
	sharedBuffer = 64 << 20
	leastBuffer  = 128 << 10
)

// bufferShare returns the bound for a connection, if there are so many with it. Earlier ones keep
// theirs, so those of 4096 connections sum up to less than 800 MiB.
func bufferShare(connections int) int {
	return max(leastBuffer, min(maxBuffer, sharedBuffer/max(connections, 1)))
}

// join copies between the guest and the host until both have ended.
func (s *Slirp) join(near, far net.Conn) {
	if c, ok := near.(*gonet.Conn); ok { // as all are
		share := bufferShare(len(s.connections))
		// an error is that of a connection which has ended, as the copies will find
		_ = errors.Join(c.SetReadBuffer(share), c.SetWriteBuffer(share))
	}
	err := relay.Join(s.ctx, near, relay.Count(far, &s.counters.received, &s.counters.sent))
	if err != nil && s.ctx.Err() == nil {
		s.log("%v and %v: %v", near.RemoteAddr(), far.RemoteAddr(), err)
	}
}

func hostPort(a netip.Addr, port uint16) string { return netip.AddrPortFrom(a, port).String() }
