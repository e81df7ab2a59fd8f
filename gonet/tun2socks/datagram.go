package tun2socks

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	"interleave/gonet"
	"interleave/gonet/socks"
)

// source is an endpoint of a host that sends datagrams. All its flows share one association, so
// that the world sees them come from one port, whatever their destinations (RFC 4787 section 4.1).
type source struct {
	at    netip.AddrPort
	users int // flows that use it; guarded by the mutex of sources

	made        chan struct{} // closed when association or err is set
	association *socks.Association
	err         error

	mu    sync.Mutex
	flows map[netip.AddrPort]*gonet.UDPFlow // by the address that the server names as the sender
	named map[*gonet.UDPFlow]bool           // those to names, whose addresses only the server knows
}

// sources has the sources by their address.
type sources struct {
	mu  sync.Mutex
	all map[netip.AddrPort]*source
}

// The time for which a flow of DNS may be idle: resolvers ask again after 5 s, and use another port
// for each query.
const (
	portDNS = 53
	idleDNS = 10 * time.Second
)

// flow handles a flow of datagrams.
func (p *Proxy) flow(w *gonet.UDPFlow) {
	if !p.running.enter() {
		return
	}
	defer p.running.leave()
	defer context.AfterFunc(p.ctx, func() { _ = w.Close() })() // it may have ended
	p.flows.Add(1)
	to, err := p.destination(w.Destination())
	switch dns := w.Destination().Port() == portDNS; {
	case dns && p.names != nil:
		p.serveNames(w)
		return
	case p.cfg.NoUDP:
		w.Unreachable(gonet.UnreachablePort)
		return
	case err != nil:
		p.fail(w.Source(), w.Destination(), err)
		w.Unreachable(gonet.UnreachableHost)
		return
	}
	s := p.sources.use(p, w.Source())
	defer p.sources.leave(s)
	<-s.made
	if s.err != nil {
		p.fail(w.Source(), w.Destination(), s.err)
		w.Unreachable(gonet.UnreachablePort)
		return
	}
	s.add(w, to)
	defer s.remove(w, to)
	p.send(w, s.association, to)
}

// send sends the datagrams of a flow, until it ends.
func (p *Proxy) send(w *gonet.UDPFlow, a *socks.Association, to socks.Address) {
	for {
		if to.Port == portDNS {
			_ = w.SetReadDeadline(time.Now().Add(idleDNS)) // never fails
		}
		b, err := w.Receive()
		if err != nil {
			return
		}
		if err := a.Send(b, to); err != nil {
			p.fail(w.Source(), w.Destination(), err)
			return
		}
		p.sent.Add(uint64(len(b)))
	}
}

// use returns the source for an address, and makes its association if it is new.
func (t *sources) use(p *Proxy, at netip.AddrPort) *source {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.all[at]
	if s == nil {
		s = &source{at: at, made: make(chan struct{}), flows: map[netip.AddrPort]*gonet.UDPFlow{},
			named: map[*gonet.UDPFlow]bool{}}
		t.all[at] = s
		p.running.all.Add(1) // the caller's flow counts already
		go p.associate(s)
	}
	s.users++
	return s
}

// leave ends a flow's use of a source. Without users its association is closed.
func (t *sources) leave(s *source) {
	t.mu.Lock()
	s.users--
	last := s.users == 0
	if last {
		t.forget(s)
	}
	t.mu.Unlock()
	if last && s.association != nil {
		_ = s.association.Close() // it may be closed already
	}
}

// forget has the next flow make another association. The caller holds mu.
func (t *sources) forget(s *source) {
	if t.all[s.at] == s {
		delete(t.all, s.at)
	}
}

// associate is the goroutine that makes the association of a source, and receives its datagrams
// until it ends. Its flows end with it.
func (p *Proxy) associate(s *source) {
	defer p.running.leave()
	ctx, cancel := context.WithTimeout(p.ctx, connectTime)
	s.association, s.err = p.cfg.Server.Associate(ctx)
	cancel()
	close(s.made)
	if s.err == nil {
		p.receive(s)
	}
	p.sources.mu.Lock()
	p.sources.forget(s)
	p.sources.mu.Unlock()
	s.close()
}

// receive hands the datagrams of an association to its flows.
func (p *Proxy) receive(s *source) {
	b := make([]byte, 64<<10)
	for {
		data, from, err := s.association.Receive(b)
		if err != nil {
			return
		}
		if w := s.flowFrom(from); w != nil {
			if _, err := w.Write(data); err == nil {
				p.received.Add(uint64(len(data)))
			}
		}
	}
}

func (s *source) add(w *gonet.UDPFlow, to socks.Address) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if to.Name != "" {
		s.named[w] = true
	} else {
		s.flows[to.AddrPort()] = w
	}
}

func (s *source) remove(w *gonet.UDPFlow, to socks.Address) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.named, w)
	if s.flows[to.AddrPort()] == w {
		delete(s.flows, to.AddrPort())
	}
}

// flowFrom returns the flow to which a datagram belongs, or nil: the one to its sender, or the only
// one to a name that has the sender's port.
func (s *source) flowFrom(from socks.Address) (found *gonet.UDPFlow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.flows[from.AddrPort()]; w != nil {
		return w
	}
	for w := range s.named {
		if w.Destination().Port() == from.Port {
			if found != nil {
				return nil
			}
			found = w
		}
	}
	return found
}

// close ends the flows of a source whose association has ended.
func (s *source) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.flows {
		_ = w.Close() // it may have ended
	}
	for w := range s.named {
		_ = w.Close() // it may have ended
	}
}

// serveNames answers the queries of a flow.
func (p *Proxy) serveNames(w *gonet.UDPFlow) {
	for {
		_ = w.SetReadDeadline(time.Now().Add(idleDNS)) // never fails
		b, err := w.Receive()
		if err != nil {
			return
		}
		answer, err := p.names.answer(b)
		if err == nil {
			_, err = w.Write(answer)
		}
		if errors.Is(err, errNoQuery) {
			p.fail(w.Source(), w.Destination(), err)
		}
	}
}
