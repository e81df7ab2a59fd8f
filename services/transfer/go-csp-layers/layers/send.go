package layers

import (
	"time"

	"interleave/gonet/wire"
)

// maxTries is how often a segment is sent: with times that double from one second to a minute, for
// two minutes at least (RFC 9293 section 3.8.3 wants 100 s).
const maxTries = 8

// maxSYNTries is the same of a SYN: for about a minute.
const maxSYNTries = 6

// sender is the goroutine of what leaves a connection: all its segments, so that they carry the
// latest acknowledgement. It owns what is written here.
type sender struct {
	*Conn
	isAnswering bool // the peer's SYN was the first
	know        news
	una, next   uint32
	ends        []uint32 // of the segments that are not acknowledged
	queue       [][]byte // from the user
	queued      int      // bytes of queue
	finishing   bool     // the user has no more
	finSent     bool
	rtt         rtt
	// timedEnd is the end of the segment whose round trip is measured, since timedAt.
	timed    bool
	timedEnd uint32
	timedAt  time.Time
	// probe goes off when a window has been closed for long; its pause doubles.
	probe  *time.Timer
	pause  time.Duration
	isLost bool // the sender has given up
}

func (s *sender) run() {
	s.rtt = newRTT()
	s.sendSYN()
	s.probe = time.NewTimer(time.Hour)
	s.probe.Stop()
	defer s.probe.Stop()
	finished := s.finished
	for {
		writes := s.writes
		if !s.know.isOpen || s.finishing || s.queued >= buffer {
			writes = nil
		}
		select {
		case b := <-writes:
			s.queue = append(s.queue, b)
			s.queued += len(b)
		case n := <-s.news:
			s.hear(n)
		case f := <-s.late:
			s.again(f)
		case <-finished:
			s.finishing, finished = true, nil
		case <-s.probe.C:
			s.sendProbe()
		case <-s.done:
		}
		// The user may have acted on what the receiver has reported meanwhile.
		select {
		case n := <-s.news:
			s.hear(n)
		default:
		}
		select {
		case <-s.done:
			s.last()
			return
		default:
		}
		s.transmit()
	}
}

// last sends what the receiver has left to be sent: a reset, or an acknowledgement.
func (s *sender) last() {
	h := wire.TCP{Seq: s.next, Flags: wire.ACK}
	switch {
	case s.know.reset:
		h.Flags |= wire.RST
	case !s.know.ack || s.err != nil:
		return
	}
	s.send(h, nil)
}

// hear takes news. What is due stays due.
func (s *sender) hear(n news) {
	n.ack, n.copies, n.reset = n.ack || s.know.ack, n.copies+s.know.copies, n.reset || s.know.reset
	s.know = n
	if less(s.una, n.una) {
		s.una = n.una
		for len(s.ends) > 0 && atMost(s.ends[0], s.una) {
			s.ends = s.ends[1:]
		}
		if s.timed && atMost(s.timedEnd, s.una) {
			s.timed = false
			s.rtt.sample(time.Since(s.timedAt))
		}
	}
}

// sendSYN sends the first segment: SYN, or SYN and ACK.
func (s *sender) sendSYN() {
	if s.isAnswering {
		s.fly(wire.SYN|wire.ACK, nil)
		return
	}
	s.fly(wire.SYN, nil)
}

// transmit sends what the peer's window allows, and acknowledgements that are due and did not go
// with data.
func (s *sender) transmit() {
	if !s.know.isOpen || s.know.reset {
		return
	}
	for s.queued > 0 && len(s.ends) < maxFlights {
		room := s.know.window - int(s.next-s.una)
		n := min(s.know.mss, room, s.queued)
		// A small segment would be the beginning of many (RFC 1122 section 4.2.3.4).
		if n <= 0 || n < s.know.mss && n < s.queued && len(s.ends) > 0 {
			break
		}
		flags := wire.ACK
		if n == s.queued {
			flags |= wire.PSH
			if s.finishing {
				flags |= wire.FIN
			}
		}
		s.fly(flags, s.cut(n))
	}
	if s.finishing && !s.finSent && s.queued == 0 && len(s.ends) < maxFlights {
		s.fly(wire.ACK|wire.FIN, nil)
	}
	for range max(s.know.copies, 1) {
		if s.know.ack {
			s.send(wire.TCP{Seq: s.next, Flags: wire.ACK}, nil)
		}
	}
	s.know.ack, s.know.copies = false, 0
	s.watchWindow()
}

// cut takes n bytes from the queue.
func (s *sender) cut(n int) []byte {
	s.queued -= n
	if first := s.queue[0]; len(first) >= n {
		if s.queue[0] = first[n:]; len(s.queue[0]) == 0 {
			s.queue = s.queue[1:]
		}
		return first[:n:n]
	}
	b := make([]byte, 0, n)
	for len(b) < n {
		m := min(n-len(b), len(s.queue[0]))
		b = append(b, s.queue[0][:m]...)
		if s.queue[0] = s.queue[0][m:]; len(s.queue[0]) == 0 {
			s.queue = s.queue[1:]
		}
	}
	return b
}

// fly sends a segment that must be acknowledged, and starts the goroutine that sees to it.
func (s *sender) fly(flags wire.Flags, data []byte) {
	f := &flight{seq: s.next, end: s.next + uint32(len(data)), flags: flags, data: data,
		acked: make(chan struct{}), tries: 1, isPeerDone: s.know.peerDone}
	if flags&(wire.SYN|wire.FIN) != 0 {
		f.end++
	}
	s.finSent = s.finSent || flags&wire.FIN != 0
	s.next = f.end
	s.ends = append(s.ends, f.end)
	s.sent <- f // has room: the receiver takes them before it reports an acknowledgement
	if !s.timed {
		s.timed, s.timedEnd, s.timedAt = true, f.end, time.Now()
	}
	timeout := s.rtt.rto
	s.stack.processes.Go(func() { s.retransmit(f, timeout) })
	s.launch(f)
}

// launch sends the segment of a flight.
func (s *sender) launch(f *flight) {
	h := wire.TCP{Seq: f.seq, Flags: f.flags}
	if f.flags&wire.SYN != 0 {
		h.Options.MSS = s.Conn.mss()
	}
	s.send(h, f.data)
	s.know.ack, s.know.copies = false, 0
}

// again sends a segment again whose time is over.
func (s *sender) again(f *flight) {
	if atMost(f.end, s.una) {
		return // it was acknowledged just now
	}
	most := maxTries
	if f.flags&wire.SYN != 0 {
		most = maxSYNTries
	}
	if f.tries == most {
		if !s.isLost {
			s.isLost = true
			close(s.gaveUp)
		}
		return
	}
	f.tries++
	s.timed = false // an acknowledgement may be for either copy (RFC 6298 section 3)
	if f.seq == s.una {
		s.rtt.backOff()
	}
	s.launch(f)
}

// watchWindow has a window probed that is closed while nothing is under way that would be
// acknowledged (RFC 9293 section 3.8.6.1).
func (s *sender) watchWindow() {
	isShut := s.queued > 0 && len(s.ends) == 0
	switch {
	case !isShut && s.pause != 0:
		s.probe.Stop()
		s.pause = 0
	case isShut && s.pause == 0:
		s.pause = s.rtt.rto
		s.probe.Reset(s.pause)
	}
}

// sendProbe sends a segment that the peer must answer with its window: its number has been
// acknowledged.
func (s *sender) sendProbe() {
	s.send(wire.TCP{Seq: s.una - 1, Flags: wire.ACK}, nil)
	s.pause = min(2*s.pause, maxRTO)
	s.probe.Reset(s.pause)
}

// send completes a header with what is to be acknowledged.
func (s *sender) send(h wire.TCP, data []byte) {
	h.Window = s.know.free
	if h.Flags&wire.ACK != 0 {
		h.Ack = s.know.next
	} else {
		h.Window = buffer
	}
	s.stack.tcp.send(s.flow, h, data)
}
