package slirp

import (
	"context"
	"errors"
	"time"

	"interleave/gonet"
)

// echoTime bounds the wait for the reply to a ping. A guess.
const echoTime = 10 * time.Second

// echo handles an echo request of the guest. The gateway answers itself; for all others the host
// pings, and the guest gets a reply when the host has one.
func (s *Slirp) echo(r *gonet.EchoRequest) {
	if !s.echoes.enter() {
		return // pings may be lost
	}
	defer s.echoes.leave()
	if s.cfg.Network.isGateway(r.Destination()) {
		_ = r.Reply() // a dropped reply is counted by the stack
		return
	}
	to, ok := s.outside(r.Destination())
	if !ok {
		r.Unreachable(gonet.UnreachableProhibited)
		return
	}
	ctx, cancel := context.WithTimeout(s.ctx, echoTime)
	defer cancel()
	err := s.cfg.Host.Ping(ctx, to, r.Seq(), r.Data())
	switch {
	case err == nil:
		s.counters.echoes.Add(1)
		_ = r.Reply() // a dropped reply is counted by the stack
	case errors.Is(err, ErrNoPing):
		s.noPing.Do(func() { s.log("ping: %v; this is said once", err) })
		r.Unreachable(gonet.UnreachableProhibited)
	case ctx.Err() == nil:
		s.fail("ping %v: %v", to, err)
		why, _ := reason(err)
		r.Unreachable(why)
	}
}
