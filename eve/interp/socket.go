package interp

import "bytes"

// A socket is one end of a connection. Input from the peer is in wire until the socket reads it.
// The socket reads only when the previous handler has ended and its own output is not too large.
type socket struct {
	object  *object
	peer    *socket
	from    *listener // that accepted it
	address string    // of the peer

	in, wire, out []byte
	limit         int64  // of out
	clock         *timer // of `every`; nil: there is none

	started   bool
	decided   bool // whether its reachability was decided
	busy      bool // an event of input is being handled
	announced bool // the handler has been told about the bytes in `in`
	wireEnd   bool // the peer has closed its side: the end comes after wire
	ended     bool // that end was read
	endTaken  bool // and its consequences are under way
	noMore    bool // close_write
	saidSo    bool
	late      bool // too much output is pending
	over      bool // above limit
	paused    bool // the program wants no input now
	duplex    bool // it wants input however much output is pending
	closing   bool
	closed    bool // its last event is emitted
	broken    bool
	retired   bool
	receiving bool // it will look at the wire soon
	flushing  bool // it will send soon
}

// The runtime's limits, in bytes.
const (
	firstLimit  = 1 << 20
	lateFrom    = 1 << 16
	mostUnread  = 1 << 16
	longestLine = 1 << 16
	wireRoom    = 1 << 18 // capacity of the system's buffers between two sockets; a guess
)

func newSocket(peer string) *socket { return &socket{limit: firstLimit, address: peer} }

// adopt runs when the program gets the socket. Its input begins when the body that got it has
// registered its handlers.
func (s *socket) adopt(in *interp) {
	in.starts = append(in.starts, func() {
		s.started = true
		if in.ending {
			s.afterInput(in, false)
		}
		s.receive(in)
	})
}

func (s *socket) reads() (data, line bool) {
	return s.object.handles("data"), s.object.handles("line")
}

// receive makes the socket read the wire soon.
func (s *socket) receive(in *interp) {
	if s.receiving || s.retired {
		return
	}
	s.receiving = true
	in.soon(func() {
		s.receiving = false
		s.look(in)
	})
}

// look reads the input that has come, if the socket wants it.
func (s *socket) look(in *interp) {
	data, line := s.reads()
	if !s.started || s.retired || s.ended || s.closing || s.busy || s.late || s.paused ||
		!line && len(s.in) >= mostUnread {
		return
	}
	switch {
	case !data && !line: // nothing is read, so only this shows that the peer has gone
		if !s.wireEnd {
			return
		}
		s.ended = true
	case len(s.wire) > 0:
		n := min(len(s.wire), mostUnread)
		if in.random.IntN(8) == 0 { // a stream has no messages: now and then a part comes first
			n = 1 + in.random.IntN(n)
		}
		s.in = append(s.in, s.wire[:n]...)
		s.wire = s.wire[n:]
		s.announced = false
		s.peer.flush(in)
	case s.wireEnd:
		s.ended = true
	default:
		return
	}
	s.pump(in)
}

// pump emits the input, one event at a time.
func (s *socket) pump(in *interp) {
	data, line := s.reads()
	if s.busy || s.closing || s.paused {
		return
	}
	if line {
		if text, whole := s.takeLine(); whole {
			s.busy = true
			in.emit(s.object, "line", &record{0, []value{text}})
			return
		}
		if len(s.in) > longestLine {
			s.abort(in, tooLong)
			return
		}
	} else if data && !s.announced && len(s.in) > 0 {
		s.busy, s.announced = true, true
		in.emit(s.object, "data", &record{})
		return
	}
	if s.ended && !s.endTaken {
		s.endTaken = true
		s.afterInput(in, true)
	}
	s.receive(in)
}

// takeLine cuts off the next line; at the end of the input, the remaining text.
func (s *socket) takeLine() (text string, whole bool) {
	line, rest, found := bytes.Cut(s.in, []byte("\n"))
	switch {
	case found:
		s.in = rest
		return string(bytes.TrimSuffix(line, []byte("\r"))), true
	case s.ended && len(s.in) > 0 && len(s.in) <= longestLine:
		s.in = nil
		return string(line), true
	}
	return "", false
}

// afterInput closes the socket after the tasks that its last input started have written their
// replies. With tell the program may do that.
func (s *socket) afterInput(in *interp, tell bool) {
	in.post([]need{{s.object, true}}, func() {
		if tell && s.object.handles("ended") {
			in.emit(s.object, "ended", &record{})
		} else {
			s.close(in)
		}
	})
}

// write appends to the output.
func (s *socket) write(in *interp, b []byte) {
	if len(b) == 0 || s.closing || s.broken || s.noMore || s.retired {
		return
	}
	s.out = append(s.out, b...)
	waiting := int64(len(s.out))
	s.late = s.late || !s.duplex && waiting > min(lateFrom, s.limit/2)
	if waiting > s.limit && !s.over {
		s.over = true
		if !s.object.handles("overflow") {
			s.abort(in, nil)
			return
		}
		in.emit(s.object, "overflow", &record{})
	}
	s.flush(in)
}

// flush makes the socket send soon.
func (s *socket) flush(in *interp) {
	if s.flushing || len(s.out) == 0 && !s.noMore {
		return
	}
	s.flushing = true
	in.soon(func() {
		s.flushing = false
		s.send(in)
	})
}

// send gives the wire the bytes that it takes.
func (s *socket) send(in *interp) {
	if s.retired {
		return
	}
	n := max(0, min(len(s.out), wireRoom-len(s.peer.wire)))
	if s.peer.retired {
		n = len(s.out) // there is no reader
	} else if n > 0 {
		s.peer.wire = append(s.peer.wire, s.out[:n]...)
	}
	s.out = s.out[n:]
	if len(s.out) <= lateFrom/2 {
		s.late = false
	}
	if s.over && int64(len(s.out)) < s.limit/2 {
		s.over = false
		in.emit(s.object, "drained", &record{})
	}
	if s.noMore && !s.saidSo && len(s.out) == 0 {
		s.saidSo, s.peer.wireEnd = true, true
	}
	s.peer.receive(in)
	s.receive(in)
	s.closeWhenSent(in)
}

// resume ends a pause.
func (s *socket) resume(in *interp) {
	s.paused = false
	s.changed(in)
}

// fullDuplex makes it read from now on, also while output is pending.
func (s *socket) fullDuplex(in *interp) {
	s.duplex, s.late = true, false
	s.changed(in)
}

// closeWrite closes the output side.
func (s *socket) closeWrite(in *interp) {
	s.noMore = true
	s.flush(in)
}

// close sends the pending output; then handlers of close run.
func (s *socket) close(in *interp) {
	s.closing = true
	s.stopClock()
	s.closeWhenSent(in)
}

func (s *socket) closeWhenSent(in *interp) {
	if s.closing && !s.closed && (len(s.out) == 0 || s.broken) {
		s.closed = true
		in.emitLast(s.object, "close", &record{})
	}
}

// abort ends a connection that has failed. Pending output is dropped.
func (s *socket) abort(in *interp, why *fault) {
	tell := why != nil && !s.closing && !s.closed
	s.ended, s.closing, s.broken = true, true, true
	s.stopClock()
	s.in, s.out = nil, nil
	if tell {
		in.emit(s.object, "error", why)
	}
	s.closeWhenSent(in)
}

// read takes input, so that more of it can come.
func (s *socket) read(in *interp) []byte {
	n := min(len(s.in), mostUnread)
	b := s.in[:n:n]
	s.in = s.in[n:]
	s.announced = len(s.in) == 0
	s.receive(in)
	return b
}

func (s *socket) changed(in *interp) {
	if s.started && !s.busy {
		s.pump(in)
	}
}

func (s *socket) handled(in *interp, event string, _ value) {
	switch {
	case event == "data" || event == "line":
		s.busy = false
		s.pump(in)
	case event == "fired" && s.clock != nil:
		s.clock.handled(in, event, nil)
	}
}

// wind sets the clock.
func (s *socket) wind(in *interp, interval int64) {
	s.stopClock()
	if interval > 0 && !s.closing && !s.retired {
		s.clock = &timer{object: s.object, every: max(interval, shortest)}
		s.clock.set(in, s.clock.every)
	}
}

func (s *socket) stopClock() {
	if s.clock != nil {
		s.clock.stop()
	}
	s.clock = nil
}

// void is true for a tick of a clock that has been set anew since.
func (s *socket) void(event string, v value) bool {
	return event == "fired" && (s.clock == nil || v != value(s.clock.told))
}

func (s *socket) unhandled(in *interp, event string, v value) { s.handled(in, event, v) }

func (s *socket) failed(in *interp, f *failure) bool {
	heard := s.object.handles("error")
	heard = in.emit(s.object, "error", f.fault()) && heard
	s.close(in)
	return heard
}

func (s *socket) gone(in *interp) { s.retire(in) }

// retire is the last step of a socket: the peer reads an end.
func (s *socket) retire(in *interp) {
	if s.retired {
		return
	}
	s.retired, s.closed, s.closing = true, true, true
	s.stopClock()
	s.in, s.wire, s.out = nil, nil, nil
	s.peer.wireEnd = true
	s.peer.receive(in)
	s.peer.flush(in)
	if l := s.from; l != nil {
		l.open--
		l.accept(in)
	}
}
