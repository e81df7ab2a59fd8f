package gonet

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"interleave/gonet/internal/demux"
	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// TCPRequest is a connection that a client wants with a foreign address. Its SYN is not answered
// yet. The handler accepts, refuses or drops it; what is decided first counts. Any goroutine may
// use it.
type TCPRequest struct {
	stack    *Stack
	flow     demux.Flow
	src, dst netip.AddrPort
	quote    packet // the first SYN, as ICMP errors quote it
	ctx      context.Context
	cancel   context.CancelFunc
	timer    *time.Timer // goes off when the client has waited for RequestTime; nil if it need not
	released atomic.Bool // it does not count in the forwarder's pending any more
	// answered is the connection that Answer has made, until Accept takes it.
	answered atomic.Pointer[Conn]
	// readBuffer is the bound of SetReadBuffer, 0 if it was not called. The dealer reads it for
	// Accept.
	readBuffer int

	// Dealer only:
	syn  wire.TCP // the latest SYN
	over error    // why nothing can be decided any more; nil while the client waits
}

// ForwardTCP has the stack hand connections to foreign addresses (Config.Promiscuous) to handle. It
// is called in a goroutine of its own for each. A SYN that the client sends again is the same
// request. When handle returns without a decision, the request is dropped. A nil handle ends the
// forwarder: SYNs are dropped, and connections that were accepted stay.
//
// handle may first connect to the destination, with the request's Context, and then accept:
//
//	far, err := dialer.DialContext(r.Context(), "tcp", r.Destination().String())
//	if err != nil {
//		r.Refuse()
//		return
//	}
//	near, err := r.Accept()
func (s *Stack) ForwardTCP(handle func(*TCPRequest)) error {
	if handle == nil {
		return s.ForwardTCPStart(nil)
	}
	return s.ForwardTCPStart(func(r *TCPRequest) func() { return func() { handle(r) } })
}

// ForwardTCPStart is ForwardTCP for a program that can begin without waiting, as by a socket that
// does not block: it saves a switch of goroutines before that, and another one before the answer.
// The stack's own goroutine calls start for each request. So start must not block, and of the
// methods that decide it may call Answer only. It returns the handler, which is called in a
// goroutine of its own; nil drops the request.
func (s *Stack) ForwardTCPStart(start func(*TCPRequest) (handle func())) error {
	return s.setForwarder(func(f *forwarder) { f.startTCP = start })
}

// Source returns the client's address.
func (r *TCPRequest) Source() netip.AddrPort { return r.src }

// Destination returns the foreign address.
func (r *TCPRequest) Destination() netip.AddrPort { return r.dst }

// Context ends when the handler returns, and before that when the request has ended without a
// connection: it was refused, the client has given up or has waited for ForwardConfig.RequestTime,
// or the stack was closed. It does not end when the request is accepted.
func (r *TCPRequest) Context() context.Context { return r.ctx }

// SetReadBuffer bounds the received bytes that are not read, as that of Conn does for the
// connection that Accept returns, but before the client is told of a window. It must be called
// before Accept.
func (r *TCPRequest) SetReadBuffer(bytes int) { r.readBuffer = max(bytes, 1) }

// Answer answers the SYN. Only a function of ForwardTCPStart may call it, before it returns. Accept
// then waits for the end of the handshake only. If the handler does not call Accept, the connection
// is reset. An error is one that Accept would have.
func (r *TCPRequest) Answer() error {
	if err := r.stack.endRequest(r, errClosed); err != nil {
		return err
	}
	c, err := r.stack.acceptRequest(r)
	if err != nil {
		r.cancel()
		return translate(err)
	}
	r.answered.Store(c)
	return nil
}

// Accept answers the SYN, and waits for the end of the handshake. The local address of the
// connection is the foreign address. It fails if the request was decided or has ended, or if the
// client has gone.
func (r *TCPRequest) Accept() (*Conn, error) {
	var failed, err error
	c := r.answered.Swap(nil)
	if c == nil {
		err = r.decide(func() { c, failed = r.stack.acceptRequest(r) })
	}
	if err == nil {
		if err = failed; err == nil {
			err = c.established(context.Background()) // the handshake has a time-out
		}
		if err != nil {
			r.cancel()
		}
	}
	r.release()
	if err != nil {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Source: tcpAddr(r.dst),
			Addr: tcpAddr(r.src), Err: translate(err)}
	}
	return c, nil
}

// Refuse answers the SYN with a reset, as a host does at whose port nobody listens.
func (r *TCPRequest) Refuse() {
	r.end(func() { r.stack.sendReset(&r.quote, &r.syn, 0) })
}

// Unreachable answers the SYN with an ICMP error.
func (r *TCPRequest) Unreachable(why Unreachable) {
	r.end(func() { r.stack.sendUnreachable(&r.quote, why) })
}

// Drop forgets the SYN. If the client sends it again, that is another request.
func (r *TCPRequest) Drop() {
	if !r.released.Load() {
		r.end(func() {})
	}
}

// end ends the request without a connection: the dealer runs f, unless it is over already.
func (r *TCPRequest) end(f func()) {
	if r.decide(f) == nil {
		r.cancel()
	}
	r.release()
}

// decide has the dealer run f, unless the request is over already: then it returns why.
func (r *TCPRequest) decide(f func()) error {
	var over error
	err := r.stack.claim(func() {
		if over = r.stack.endRequest(r, errClosed); over == nil {
			f()
		}
	})
	return cmp.Or(err, over)
}

// release takes the request out of the count of those that are bounded.
func (r *TCPRequest) release() {
	if !r.released.Swap(true) {
		r.stack.forward.pending.Add(-1)
	}
}

// run is the goroutine of a handler.
func (r *TCPRequest) run(handle func()) {
	defer r.cancel()
	if handle != nil {
		handle()
	}
	if c := r.answered.Swap(nil); c != nil {
		_ = c.Abort() // it may have ended
	}
	r.Drop()
}

// forwardSegment processes a segment to a foreign address that belongs to no connection. A request
// that waits has sent nothing yet, so a segment can only be the SYN once more, or the reset with
// which the client gives up. Dealer only.
func (s *Stack) forwardSegment(p *packet, h *wire.TCP, key demux.Flow, n int) {
	f := s.forward
	r := f.requests[key]
	syn := h.Flags&(wire.SYN|wire.ACK|wire.RST) == wire.SYN
	switch {
	case r != nil && syn:
		r.syn = *h // after a reboot of the client it is another one
	case r != nil:
		if h.Flags&wire.RST != 0 && h.Seq == r.syn.Seq+1 { // the only one of RFC 5961 section 3.2
			s.abandonRequest(r, errReset)
		}
	case f.startTCP == nil:
		s.stats.foreign.Add(1)
	case syn:
		s.requestTCP(p, h, key)
	default:
		s.sendReset(p, h, n)
	}
}

// requestTCP begins a request for a SYN, and starts its handler. Dealer only.
func (s *Stack) requestTCP(p *packet, h *wire.TCP, key demux.Flow) {
	f := s.forward
	if int(f.pending.Load()) >= f.limits.Requests {
		s.stats.droppedForwards.Add(1)
		return
	}
	f.pending.Add(1)
	r := &TCPRequest{stack: s, flow: key, syn: *h, quote: p.quotable(),
		src: netip.AddrPortFrom(p.src, h.SrcPort), dst: netip.AddrPortFrom(p.dst, h.DstPort)}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	f.requests[key] = r
	handle := f.startTCP(r)
	if r.over == nil {
		r.timer = time.AfterFunc(f.limits.RequestTime, func() {
			// a stack that has ended has no requests
			_ = s.post(func() { s.abandonRequest(r, errTimedOut) })
		})
	}
	go r.run(handle)
}

// endRequest ends the time in which a request can be decided. If it has ended before, endRequest
// returns why. Dealer only.
func (s *Stack) endRequest(r *TCPRequest, why error) error {
	if r.over != nil {
		return r.over
	}
	r.over = why
	if r.timer != nil {
		r.timer.Stop()
	}
	delete(s.forward.requests, r.flow)
	return nil
}

// abandonRequest ends a request that nobody has decided, and tells its handler. Dealer only.
func (s *Stack) abandonRequest(r *TCPRequest, why error) {
	if s.endRequest(r, why) == nil {
		r.cancel()
	}
}

// acceptRequest makes the connection of a request, and sends the SYN-ACK. Dealer only.
func (s *Stack) acceptRequest(r *TCPRequest) (*Conn, error) {
	s.dealer.now = s.clock()
	if s.tcp.conns[r.flow] != nil || s.tcp.remnants.Has(r.flow) {
		return nil, errInUse // the program has dialed the client from the same address
	}
	c, err := s.newConn(r.dst, r.src)
	if err != nil {
		return nil, err
	}
	c.delivered = true // there is no listener to deliver it to
	options := s.cfg.TCP
	if t := s.forward.limits.RequestTime; options.SynTimeout == 0 || options.SynTimeout > t {
		options.SynTimeout = t
	}
	c.configure(&options, &s.forward.configs)
	c.run(tcp.Accept(c.cfg, c.isn(s.dealer.now), &r.syn, s.dealer.now))
	if r.readBuffer > 0 { // behind Accept: the window's scale allows for a larger one later
		c.reconfigure(func(cfg *tcp.Config) { cfg.ReceiveBuffer = r.readBuffer })
	}
	s.tcp.conns[c.flow] = c
	c.update(s.dealer.now)
	return c, nil
}
