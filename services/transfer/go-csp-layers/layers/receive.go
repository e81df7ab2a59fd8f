package layers

import (
	"net"
	"slices"
	"time"

	"interleave/gonet/wire"
)

// orphanTime is how long a connection that its user has left waits for the peer's FIN. Linux's
// tcp_fin_timeout.
const orphanTime = time.Minute

// receiver is the goroutine of what arrives on a connection. It owns what is written here.
type receiver struct {
	*Conn
	listener     *Listener // that the connection is for, until it is accepted
	isOpen       bool      // the handshake is over
	synchronized bool      // the peer's SYN has come

	una      uint32 // the first number that is not acknowledged
	sentEnd  uint32 // behind the last number that was sent
	flights  []*flight
	window   int // the peer's, and the segment that told it (RFC 9293 section 3.10.7.4)
	wl1, wl2 uint32
	mss      int // the peer's

	next    uint32 // the next number that is expected
	edge    uint32 // the end of the window that was told
	pending [][]byte
	held    int // bytes of pending
	pieces  []piece
	fin     uint32 // the number of the peer's FIN, if it has come
	hasFIN  bool

	ack         bool    // an acknowledgement is due
	copies      int     // that are due of the last one
	peerDone    bool    // the peer's FIN has come, and all before it
	readsClosed bool    // the user has been told of it, or will be
	idle        bool    // the user has left
	ourFIN      *flight // that was acknowledged
	inTimeWait  bool
	ended       bool
	timer       <-chan time.Time // ends the connection
}

// piece is data that arrived before what precedes it.
type piece struct {
	seq  uint32
	data []byte
}

func (r *receiver) run() {
	left := r.left
	for !r.ended {
		var reads chan<- [][]byte
		if len(r.pending) > 0 {
			reads = r.reads
		}
		select {
		case s, ok := <-r.in:
			if !ok {
				r.end(net.ErrClosed)
				return
			}
			r.takeSent()
			r.receive(s)
		case reads <- r.pending:
			r.pending, r.held = nil, 0
			r.deliverEnd()
			if int(r.edge-r.next) <= buffer/2 && !r.peerDone {
				r.ack = true // the window opens again
				r.tell()
			}
		case <-left:
			left = nil
			r.idle = true
			r.abandon()
		case <-r.timer:
			r.end(nil)
		case <-r.gaveUp:
			r.end(errGivenUp)
		}
		r.settle()
	}
}

// takeSent takes over the segments that the sender has sent. It has told each before it sent it.
func (r *receiver) takeSent() {
	for {
		select {
		case f := <-r.sent:
			r.flights = append(r.flights, f)
			r.sentEnd = f.end
		default:
			return
		}
	}
}

// end ends the connection, and with it all its goroutines.
func (r *receiver) end(err error) {
	if r.ended {
		return
	}
	r.ended, r.err = true, err
	if !r.readsClosed {
		r.readErr = err
		if err == nil {
			r.readErr = net.ErrClosed
		}
		close(r.reads)
	}
	close(r.done)
	_ = r.stack.tcp.ask(claim{flow: r.flow}) // fails if the dealer has ended, and the table with it
}

// report returns the state that the sender needs.
func (r *receiver) report() news {
	// The window does not grow by less than a segment (RFC 1122 section 4.2.3.3).
	free := buffer - r.held
	if edge := r.next + uint32(free); r.synchronized &&
		int(int32(edge-r.edge)) >= min(buffer/2, int(r.Conn.mss())) {
		r.edge = edge
	}
	return news{isOpen: r.isOpen, una: r.una, window: r.window, mss: r.mss, next: r.next,
		free: uint16(r.edge - r.next), ack: r.ack, copies: r.copies, peerDone: r.peerDone}
}

// tell puts the state into the mailbox, in place of one that the sender has not read.
func (r *receiver) tell() { r.post(r.report()) }

func (r *receiver) post(n news) {
	select {
	case old := <-r.news:
		n.ack, n.copies, n.reset = n.ack || old.ack, n.copies+old.copies, n.reset || old.reset
	default:
	}
	r.news <- n // has room: only this goroutine puts something in
	r.ack, r.copies = false, 0
}

// synchronize takes the peer's first number and its options from its SYN.
func (r *receiver) synchronize(s *segment) {
	h := &s.header
	r.synchronized = true
	r.next = h.Seq + 1
	r.edge = r.next + buffer
	r.window, r.wl1, r.wl2 = int(h.Window), h.Seq, h.Ack
	if r.mss = int(h.Options.MSS); r.mss == 0 {
		r.mss = defaultMSS
	}
	r.mss = min(r.mss, int(r.Conn.mss()))
}

// receive takes a segment (RFC 9293 section 3.10.7).
func (r *receiver) receive(s *segment) {
	h := &s.header
	if !r.synchronized {
		r.receiveSYN(s)
		return
	}
	if !r.acceptable(s) {
		if h.Flags&wire.RST == 0 && r.isOpen {
			if r.inTimeWait && h.Flags&wire.FIN != 0 {
				r.wait(r.stack.config.TimeWait)
			}
			r.ack = true
			r.tell()
		}
		return
	}
	switch {
	case h.Flags&wire.RST != 0 && h.Seq == r.next:
		r.end(errReset)
		return
	case h.Flags&(wire.RST|wire.SYN) != 0: // perhaps an attack: RFC 5961
		r.ack = r.isOpen
		r.tell()
		return
	case h.Flags&wire.ACK == 0:
		return
	case less(r.sentEnd, h.Ack):
		r.ack = r.isOpen
		r.tell()
		return
	}
	if !r.isOpen && (!less(r.una, h.Ack) || !r.establish()) {
		return
	}
	r.acknowledged(h)
	r.take(s)
	r.deliverEnd()
	if r.idle {
		r.abandon()
	}
	if !r.ended {
		r.tell()
	}
}

// receiveSYN takes the answer to our SYN.
func (r *receiver) receiveSYN(s *segment) {
	h := &s.header
	acks := h.Flags&wire.ACK != 0
	if acks && h.Ack != r.sentEnd {
		if h.Flags&wire.RST == 0 {
			r.stack.processes.Go(func() { r.stack.tcp.refuse(s) })
		}
		return
	}
	switch {
	case acks && h.Flags&wire.RST != 0:
		r.end(errRefused)
	case acks && h.Flags&wire.SYN != 0:
		r.synchronize(s)
		r.acknowledged(h)
		r.isOpen, r.ack = true, true
		close(r.open)
		r.tell()
	}
}

// establish ends the handshake of a connection that the peer has opened. It returns false if the
// listener has no room: the peer's next segment tries again.
func (r *receiver) establish() bool {
	select {
	case r.listener.accepted <- r.Conn:
	default:
		return false
	}
	r.isOpen = true
	close(r.open)
	return true
}

// acceptable tells whether a segment lies in the window, at least in part. One at its very end may
// acknowledge something.
func (r *receiver) acceptable(s *segment) bool {
	seq, end := s.header.Seq, s.end()
	if seq == end {
		return atMost(r.next, seq) && atMost(seq, r.edge)
	}
	return less(seq, r.edge) && less(r.next, end)
}

// acknowledged notes what the peer has received, and tells the goroutines that wait to send it
// again.
func (r *receiver) acknowledged(h *wire.TCP) {
	if less(h.Ack, r.una) {
		return
	}
	r.una = h.Ack
	for len(r.flights) > 0 && atMost(r.flights[0].end, r.una) {
		f := r.flights[0]
		close(f.acked)
		if f.flags&wire.FIN != 0 {
			r.ourFIN = f
		}
		r.flights = r.flights[1:]
	}
	if less(r.wl1, h.Seq) || r.wl1 == h.Seq && atMost(r.wl2, h.Ack) {
		r.window, r.wl1, r.wl2 = int(h.Window), h.Seq, h.Ack
	}
}

// take takes the data and the FIN of a segment.
func (r *receiver) take(s *segment) {
	if s.header.Seq == s.end() || r.peerDone {
		return // an acknowledgement only
	}
	if s.header.Flags&wire.FIN != 0 && atMost(s.end(), r.edge+1) {
		r.fin, r.hasFIN = s.end()-1, true
	}
	seq, data := s.header.Seq, s.data
	if less(seq, r.next) {
		skip := min(int(r.next-seq), len(data))
		seq, data = seq+uint32(skip), data[skip:]
	}
	if room := int(int32(r.edge - seq)); len(data) > room {
		data = data[:max(room, 0)]
	}
	switch {
	case seq != r.next:
		if len(data) > 0 {
			r.keep(piece{seq, data})
		}
		r.ack, r.copies = true, r.copies+1
		return
	case len(data) > 0:
		r.append(data)
		r.fill()
	default:
		r.ack = true // all of it has come before, or is the FIN
	}
	if r.hasFIN && r.next == r.fin && !r.peerDone {
		r.next++
		if less(r.edge, r.next) {
			r.edge = r.next
		}
		r.ack, r.peerDone = true, true
	}
}

// append takes data that is the next in order.
func (r *receiver) append(data []byte) {
	r.pending = append(r.pending, data)
	r.held += len(data)
	r.next += uint32(len(data))
	r.ack = true
}

// keep keeps data until what precedes it has come. The pieces are in order and may overlap; there
// are at most as many as segments in flight.
func (r *receiver) keep(p piece) {
	at, found := slices.BinarySearchFunc(r.pieces, p, func(a, b piece) int {
		return int(int32(a.seq - b.seq))
	})
	switch {
	case found && len(r.pieces[at].data) >= len(p.data):
	case found:
		r.pieces[at] = p
	case len(r.pieces) < inbox:
		r.pieces = slices.Insert(r.pieces, at, p)
	}
}

// fill appends the pieces that are in order now.
func (r *receiver) fill() {
	for len(r.pieces) > 0 && atMost(r.pieces[0].seq, r.next) {
		p := r.pieces[0]
		r.pieces = r.pieces[1:]
		if skip := int(r.next - p.seq); skip < len(p.data) {
			r.append(p.data[skip:])
		}
	}
}

// deliverEnd tells the user that the peer has finished, when all before has been read.
func (r *receiver) deliverEnd() {
	if r.peerDone && len(r.pending) == 0 && !r.readsClosed && !r.ended {
		r.readsClosed = true
		close(r.reads)
	}
}

// abandon throws away what nobody reads. A peer whose data is lost is told by a reset (RFC 1122
// section 4.2.2.13).
func (r *receiver) abandon() {
	if len(r.pending) > 0 {
		n := r.report()
		n.reset = true
		r.post(n)
		r.end(net.ErrClosed)
	}
}

// settle looks whether the connection is at its end.
func (r *receiver) settle() {
	switch {
	case r.ended || r.inTimeWait || r.ourFIN == nil:
	case r.peerDone && !r.readsClosed && !r.idle:
	case r.peerDone && r.ourFIN.isPeerDone:
		r.end(nil)
	case r.peerDone:
		r.inTimeWait = true
		r.wait(r.stack.config.TimeWait)
	case r.idle && r.timer == nil:
		r.wait(orphanTime)
	}
}

// wait ends the connection after a time, counted anew.
func (r *receiver) wait(d time.Duration) { r.timer = time.After(d) }
