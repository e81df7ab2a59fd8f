package tcp

import "time"

// traffic counts what a connection has moved.
type traffic struct {
	segments, resent  uint64 // sent, and those of them that were sent before
	bytesOut, bytesIn uint64 // payload: sent, each time that it was, and arrived in order
	bytesResent       uint64
}

// Info is what can be said of a connection at an instant: what `ss -ti` shows of one of Linux.
// Sizes are in bytes.
type Info struct {
	State                  State
	MSS                    int
	RTT, Deviation, MinRTT time.Duration // 0: not measured yet
	RTO                    time.Duration // with its doublings
	Backoff                uint          // how many these are
	// of congestion; Threshold is 0 where slow start has no bound yet
	Window, Threshold int
	PeerWindow        int // what the peer has room for
	InFlight, Lost    int
	Unacked, Unread   int    // waits for an acknowledgement, for the user
	Segments, Resent  uint64 // sent, and those of them that were sent before
	BytesOut, BytesIn uint64 // payload, what was sent again included
	BytesResent       uint64
	Recovering        bool
}

// Info tells how the connection is.
func (c *Conn) Info() Info {
	s, t := &c.send, &c.traffic
	i := Info{
		State: c.state, MSS: s.mss, RTT: s.rtt.smoothed, Deviation: s.rtt.deviation,
		MinRTT: s.rtt.least, RTO: s.rtt.rto(),
		Backoff: s.rtt.backoff, PeerWindow: s.window, InFlight: s.board.inFlight,
		Lost:    s.board.lost,
		Unacked: s.out.n, Unread: c.receive.in.n, Segments: t.segments, Resent: t.resent,
		BytesOut: t.bytesOut, BytesIn: t.bytesIn, BytesResent: t.bytesResent,
		Recovering: s.recovering,
	}
	if s.control != nil {
		i.Window = s.control.window()
		if threshold := s.control.threshold(); threshold < unlimited {
			i.Threshold = threshold
		}
	}
	return i
}

// sent counts a segment with n bytes of payload.
func (t *traffic) sent(n int) {
	t.segments++
	t.bytesOut += uint64(n)
}

// again counts a segment that was sent before, beside what sent does.
func (t *traffic) again(n int) {
	t.resent++
	t.bytesResent += uint64(n)
}

// Busy tells whether something that was written, or the end of it, has not been acknowledged yet.
func (i Info) Busy() bool {
	switch i.State {
	case Closed, FinWait2, TimeWait:
		return false
	case Established, CloseWait:
		return i.Unacked > 0
	}
	return true
}
