package slirp

import (
	"context"
	"net"
	"time"

	"interleave/gonet"
)

// portDNS is the port of DNS. A flow to it may be idle for idleDNS: resolvers ask again after 5 s,
// and use another port for each query.
const (
	portDNS = 53
	idleDNS = 10 * time.Second
)

// maxDatagram is the size of the longest datagram in bytes.
const maxDatagram = 65535

// flow handles a flow of datagrams. It has a socket of the host that is connected to the
// destination, so nobody else can send the guest anything, and the kernel tells of ICMP errors.
func (s *Slirp) flow(w *gonet.UDPFlow) {
	if !s.flows.enter() {
		return // the stack bounds the handlers likewise
	}
	defer s.flows.leave()
	defer context.AfterFunc(s.ctx, func() { _ = w.Close() })() // it may have ended
	to, ok := s.outside(w.Destination().Addr())
	if !ok {
		w.Unreachable(gonet.UnreachableProhibited)
		return
	}
	ctx, cancel := context.WithTimeout(s.ctx, connectTime)
	far, err := s.mappings.dial(ctx, s.cfg.Host, w.Source(), hostPort(to, w.Destination().Port()))
	cancel()
	if err != nil {
		s.failFlow(w, err)
		return
	}
	defer s.mappings.release(w.Source())
	s.counters.flows.Add(1)
	replied := make(chan struct{})
	go func() {
		defer close(replied)
		s.replies(w, far)
	}()
	if prompt, ok := far.(PromptConn); ok && w.Destination().Port() != portDNS {
		s.sendAtOnce(w, prompt)
	} else {
		s.send(w, far)
	}
	_ = far.Close() // ends replies
	<-replied
}

// send sends the datagrams of a flow until it ends.
func (s *Slirp) send(w *gonet.UDPFlow, far net.Conn) {
	batch := make([][]byte, maxBatch)
	for {
		if w.Destination().Port() == portDNS {
			_ = w.SetReadDeadline(time.Now().Add(idleDNS)) // never fails
		}
		n, err := w.ReceiveBatch(batch)
		if err != nil {
			return
		}
		if err := s.sendBatch(far, batch[:n]); err != nil {
			s.failFlow(w, err)
			return
		}
		clear(batch[:n]) // an idle flow keeps none of them
	}
}

// sendAtOnce has the stack's goroutine send the datagrams of a flow. It returns when the flow ends.
func (s *Slirp) sendAtOnce(w *gonet.UDPFlow, far PromptConn) {
	failed := make(chan error, 1)
	err := w.Handle(func(datagrams [][]byte) {
		for n := 0; len(datagrams) > 0; datagrams = datagrams[n:] {
			n = runOf(datagrams)
			if err := far.SendSegments(datagrams[:n]); err != nil {
				select {
				case failed <- err:
				default: // the flow ends already
				}
				_ = w.SetReadDeadline(time.Unix(1, 0)) // ends Receive; never fails
				return
			}
			s.countSent(datagrams[:n])
		}
	})
	for err == nil {
		_, err = w.Receive()
	}
	select {
	case err := <-failed:
		s.failFlow(w, err)
	default:
	}
}

// countSent counts the bytes of datagrams.
func (s *Slirp) countSent(datagrams [][]byte) {
	sum := 0
	for _, d := range datagrams {
		sum += len(d)
	}
	s.counters.sent.Add(uint64(sum))
}

// sendBatch sends datagrams, by as few calls as the host lets it.
func (s *Slirp) sendBatch(far net.Conn, batch [][]byte) (err error) {
	several, ok := far.(SegmentConn)
	for n := 1; len(batch) > 0; batch = batch[n:] {
		if ok {
			n = runOf(batch)
			err = several.WriteSegments(batch[:n])
		} else {
			_, err = far.Write(batch[0])
		}
		if err != nil {
			return err
		}
		s.countSent(batch[:n])
	}
	return nil
}

// replies is the goroutine that gives the guest the datagrams of the other end. It ends with the
// flow, or when the other end refuses datagrams.
func (s *Slirp) replies(w *gonet.UDPFlow, far net.Conn) {
	give := func(b []byte, size int) error {
		n, err := w.WriteInfo(b, w.Source(), gonet.PacketInfo{Segment: size})
		s.counters.received.Add(uint64(n))
		return err
	}
	read := readOne(far)
	if several, ok := far.(SegmentConn); ok {
		read = several.ReadSegments
	}
	for {
		if err := read(give); err != nil {
			if _, refused := reason(err); refused {
				s.failFlow(w, err)
			}
			return
		}
	}
}

// readOne returns the ReadSegments of a socket that has none: it reads one datagram.
func readOne(far net.Conn) func(take func(b []byte, size int) error) error {
	var b []byte
	return func(take func(b []byte, size int) error) error {
		if b == nil {
			b = make([]byte, maxDatagram)
		}
		n, err := far.Read(b)
		if err != nil {
			return err
		}
		return take(b[:n], 0)
	}
}

// failFlow ends a flow with the ICMP error that an error of the host stands for.
func (s *Slirp) failFlow(w *gonet.UDPFlow, err error) {
	s.fail("%v to %v: %v", w.Source(), w.Destination(), err)
	why, refused := reason(err)
	if refused {
		why = gonet.UnreachablePort
	}
	w.Unreachable(why)
}
