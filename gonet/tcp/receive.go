package tcp

import "time"

// receiver is the peer's stream (RFC 9293 section 3.3.1, the RCV variables).
type receiver struct {
	irs      Seq // of the peer's SYN
	next     Seq // RCV.NXT
	edge     Seq // what we have announced: RCV.NXT + RCV.WND then
	shift    uint8
	limit    int   // bytes that may wait to be read; grows by tune
	in       inbox // what the user has not read
	loan     Loan  // of the segment that is being taken, nil if it must be copied
	queue    reassembly
	fin      bool // a FIN has arrived, and stands at finAt
	finAt    Seq
	finished bool // all before the FIN has arrived, too

	ackDue  bool // an acknowledgement is to be sent now
	mayWait bool // it tells of nothing but progress
	// no acknowledgement was due that must not wait when the segment came that is being taken
	calm    bool
	unacked int // bytes since the last one
	full    int // the largest segment that has arrived, in bytes
	lastAck Seq // what the last one said
	quick   int // segments that are still acknowledged at once, as slow start wants

	copied   int // bytes read since measured, for tune
	measured Time
}

// quickStart is for how many segments each is acknowledged at once: until a sender has left the
// worst of slow start behind (Linux: 16).
const quickStart = 16

func (r *receiver) init(irs Seq) {
	r.irs, r.next = irs, irs.Plus(1)
	r.edge, r.lastAck = r.next, r.next
	r.quick = quickStart
}

// space is the window that could be announced, in bytes.
func (r *receiver) space() int { return max(r.limit-r.in.n, 0) }

// window is what the peer may send beyond next, as we announced it.
func (r *receiver) window() int { return max(int(int32(r.edge-r.next)), 0) }

// advertise moves the right edge and returns the field of the header that says it. The edge never
// moves back (RFC 9293 section 3.8.6), and forth only by as much as is worth a segment (section
// 3.8.6.2.2: no silly windows).
func (r *receiver) advertise(mss int, scaled bool) uint16 {
	shift := r.shift
	if !scaled {
		shift = 0
	}
	edge := r.next.Plus(min(r.space(), 0xffff<<shift) >> shift << shift)
	if edge.After(r.edge) && r.edge.To(edge) >= min(mss, r.limit/2) {
		r.edge = edge
	}
	field := min((r.window()+1<<shift-1)>>shift, 0xffff) // rounded up: the edge stays
	r.edge = later(r.edge, r.next.Plus(field<<shift))
	return uint16(field)
}

// announce makes an acknowledgement due if reading has opened the window by two segments or half of
// what it can be.
func (c *Conn) announce() {
	r := &c.receive
	if !c.synchronized() || r.finished {
		return
	}
	if grown := r.space() - r.window(); grown >= min(2*c.cfg.MSS, r.limit/2) &&
		r.window() < r.limit/2 {
		r.ackDue = true
	}
}

// tune lets the window grow with what the user reads in a round trip, so that it never bounds a
// path that the user keeps up with (dynamic right-sizing). n is what was read now.
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
	// Twice what was read: the sender may double its window in a round trip.
	r.limit = min(max(r.limit, 2*r.copied), c.receiveMax())
	r.copied, r.measured = 0, now
}

// unknownTrip stands for a round trip that could not be measured: a long one costs memory, a short
// one throughput. A guess.
const unknownTrip = 200 * time.Millisecond

// text takes the payload of an acceptable segment that starts at seq.
func (c *Conn) text(seq Seq, p []byte) {
	r := &c.receive
	if seq.Before(r.next) {
		skip := seq.To(r.next)
		if skip >= len(p) {
			return
		}
		seq, p = r.next, p[skip:]
	}
	edge := r.edge
	if r.fin {
		edge = earlier(edge, r.finAt) // nothing stands behind the end
	}
	if room := seq.To(edge); seq.After(edge) || len(p) > room {
		if seq.After(edge) || room == 0 {
			return
		}
		p = p[:room]
	}
	if seq != r.next {
		r.queue.add(seq, p)
		return
	}
	c.deliver(p)
	if !c.closed {
		r.in.push(p, r.loan)
	}
	for p := r.queue.take(r.next); p != nil; p = r.queue.take(r.next) {
		c.deliver(p)
		if !c.closed {
			r.in.own(p)
		}
	}
}

// deliver accounts for bytes that are next: they are the user's, or nobody's when nobody reads.
func (c *Conn) deliver(p []byte) {
	c.traffic.bytesIn += uint64(len(p))
	r := &c.receive
	r.next = r.next.Plus(len(p))
	r.unacked += len(p)
	r.full = max(r.full, min(len(p), c.peerMSS()))
}

// decideAck tells whether what has arrived is acknowledged at once (RFC 9293 section 3.8.6.3: at
// least every second full segment; RFC 5681 section 4.2: at once when something is missing) or when
// the timer of 40 ms ends.
func (c *Conn) decideAck(inOrder bool, now Time) {
	r := &c.receive
	switch {
	case !inOrder, r.queue.len() > 0, c.cfg.QuickAck, r.quick > 0, r.unacked >= 2*c.fullSegment():
		r.ackDue = true
		r.mayWait = inOrder && r.queue.len() == 0 && r.calm && !c.cfg.QuickAck
		r.quick = max(r.quick-1, 0)
	case c.timers.ack == 0:
		c.timers.ack = now.Add(delayedAck)
	}
}

// delayedAck is how long an acknowledgement may wait: below the 500 ms of RFC 9293,
// and Linux's least.
const delayedAck = 40 * time.Millisecond

// fullSegment is the size of the peer's full segments, as far as any have been seen.
func (c *Conn) fullSegment() int { return min(max(c.receive.full, defaultMSS), c.peerMSS()) }

// peerMSS is the largest payload that the peer may send in a segment; the link may
// have merged many.
func (c *Conn) peerMSS() int {
	if c.timestamps {
		return c.cfg.MSS - timestampLen
	}
	return c.cfg.MSS
}
