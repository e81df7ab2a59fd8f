package tcp

import (
	"time"

	"interleave/gonet/wire"
)

// receiver is the stream that we receive: the RCV variables of RFC 9293 section 3.3.1, and when it
// is acknowledged.
type receiver struct {
	irs   Seq // IRS, of the peer's SYN
	next  Seq // RCV.NXT
	edge  Seq // the right edge of the announced window: RCV.NXT + RCV.WND
	finAt Seq // the sequence number of the FIN that has arrived
	ack   acknowledging

	duplicate    wire.SACKBlock // bytes that have arrived twice: the next DSACK (RFC 2883)
	hasDuplicate bool
	shift        uint8
	fin          bool // a FIN has arrived, at finAt
	finished     bool // all data before the FIN has arrived too
	borrowed     bool // in has bytes that Settle must see to

	limit int // bound on bytes that wait to be read; tune raises it
	in    receiveQueue
	queue *reassembly // nil while no data is missing

	copied   int // bytes read since measured, for tune
	measured Time
}

func (r *receiver) init(irs Seq) {
	r.irs, r.next = irs, irs.Plus(1)
	r.edge, r.ack.last = r.next, r.next
	r.ack.quick = quickStart
}

// space returns the window that could be announced, in bytes.
func (r *receiver) space() int { return max(r.limit-r.in.n, 0) }

// window returns the rest of the announced window, in bytes.
func (r *receiver) window() int { return max(int(int32(r.edge-r.next)), 0) }

// advertise moves the right edge of the window and returns the header's window field. The edge
// never moves back (RFC 9293 section 3.8.6). It moves forward only by at least a segment or half of
// the buffer, to avoid silly windows (section 3.8.6.2.2).
func (r *receiver) advertise(mss int, scaled bool) uint16 {
	shift := r.shift
	if !scaled {
		shift = 0
	}
	edge := r.next.Plus(min(r.space(), 0xffff<<shift) >> shift << shift)
	if edge.After(r.edge) && r.edge.To(edge) >= min(mss, r.limit/2) {
		r.edge = edge
	}
	// rounded up, so that the edge does not move back
	field := min((r.window()+1<<shift-1)>>shift, 0xffff)
	r.edge = later(r.edge, r.next.Plus(field<<shift))
	return uint16(field)
}

// announceWindow makes a window update due, if reading has opened the window by two segments or
// half of the buffer.
func (c *Conn) announceWindow() {
	r := &c.receive
	if !c.synchronized() || r.finished {
		return
	}
	if grown := r.space() - r.window(); grown >= min(2*c.cfg.MSS, r.limit/2) &&
		r.window() < r.limit/2 {
		c.ackWindow()
	}
}

// tune raises the receive buffer's bound to twice what the user reads in a round trip, so that the
// window does not limit a path with which the user keeps up (dynamic right-sizing). n is the number
// of bytes read now.
func (c *Conn) tune(n int, now Time) {
	r := &c.receive
	r.copied += n
	trip := c.send.rtt.smoothed
	if !c.send.rtt.known {
		trip = unknownTrip
	}
	if now.Sub(r.measured) < trip {
		return
	}
	// Twice the bytes read, since the sender may double its window in a round trip.
	r.limit = min(max(r.limit, 2*r.copied), c.receiveMax())
	r.copied, r.measured = 0, now
}

// unknownTrip replaces a round trip that has not been measured. A longer one would cost memory, a
// shorter one throughput. A guess.
const unknownTrip = 200 * time.Millisecond

// text is the payload of a segment, and how it may be kept.
type text struct {
	data     []byte
	loan     Loan // the link's buffer that has data, nil if data must be copied
	borrowed bool // data need not be copied before Settle: see InputBorrowed
}

// receiveText takes the payload of an acceptable segment that starts at seq.
func (c *Conn) receiveText(seq Seq, t text) {
	r, p := &c.receive, t.data
	if seq.Before(r.next) {
		skip := seq.To(r.next)
		r.noteDuplicate(seq, seq.Plus(min(skip, len(p))))
		if skip >= len(p) {
			return
		}
		seq, p = r.next, p[skip:]
	}
	edge := r.edge
	if r.fin {
		edge = earlier(edge, r.finAt) // nothing follows the FIN
	}
	if room := seq.To(edge); seq.After(edge) || len(p) > room {
		if seq.After(edge) || room == 0 {
			return
		}
		p = p[:room]
	}
	if seq != r.next {
		if r.queue == nil {
			r.queue = new(reassembly)
		}
		if left, right := r.queue.overlap(seq, seq.Plus(len(p))); left != right {
			r.noteDuplicate(left, right)
		}
		r.queue.add(seq, p)
		return
	}
	c.deliver(p)
	if !c.closed && !c.readClosed {
		t.data = p
		r.push(t)
	}
	if r.queue != nil {
		c.receiveQueued()
	}
}

// receiveQueued takes what has arrived before, and is in order now.
func (c *Conn) receiveQueued() {
	r := &c.receive
	for p := r.queue.take(r.next); p != nil; p = r.queue.take(r.next) {
		c.deliver(p)
		if !c.closed && !c.readClosed {
			r.in.pushOwned(p)
		}
	}
	if r.queue.len() == 0 {
		r.queue = nil
	}
}

// noteDuplicate notes that the bytes from left up to right have arrived twice, for the next
// acknowledgement (RFC 2883).
func (r *receiver) noteDuplicate(left, right Seq) {
	r.duplicate = wire.SACKBlock{Left: uint32(left), Right: uint32(right)}
	r.hasDuplicate = true
}

// deliver advances RCV.NXT over bytes that have arrived in order. They are discarded if the user
// has closed.
func (c *Conn) deliver(p []byte) {
	c.traffic.bytesIn += uint64(len(p))
	r := &c.receive
	r.next = r.next.Plus(len(p))
	r.ack.unacked += int32(len(p))
	r.ack.full = max(r.ack.full, int32(min(len(p), c.peerMSS())))
}

// peerMSS returns the largest payload that the peer may send in one segment. A payload from the
// link may be larger, merged from several segments.
func (c *Conn) peerMSS() int {
	if c.timestamps {
		return c.cfg.MSS - timestampLen
	}
	return c.cfg.MSS
}
