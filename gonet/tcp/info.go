package tcp

import "time"

// traffic counts the segments and bytes of a connection.
type traffic struct {
	segments, resent uint64 // segments sent, and the retransmissions among them
	// payload sent, retransmissions included, and payload received in order
	bytesOut, bytesIn uint64
	bytesResent       uint64
}

// Info describes a connection at an instant, as `ss -ti` does for one of Linux. Sizes are in bytes.
type Info struct {
	State                  State
	MSS                    int
	RTT, Deviation, MinRTT time.Duration // 0: no sample yet
	RTO                    time.Duration // with exponential backoff
	Backoff                uint          // how often the RTO was doubled
	// the congestion window, and the slow start threshold, 0 while it is unlimited
	Window, Threshold int
	PeerWindow        int // the send window that the peer has announced
	InFlight, Lost    int
	Sacked            int    // bytes that SACK blocks report as arrived
	Repairing         int    // bytes in flight that were retransmitted
	Unacked, Unread   int    // bytes that wait for an acknowledgement, and for the user
	Segments, Resent  uint64 // segments sent, and the retransmissions among them
	BytesOut, BytesIn uint64 // payload, retransmissions included
	BytesResent       uint64
	Recovering        bool
	Expired           bool // the recovery began with a time-out
	// what both ends have agreed on
	Timestamps, SACK, Scaling, ECN bool
}

// Info describes the connection now.
func (c *Conn) Info() Info {
	s, t := &c.send, &c.traffic
	i := Info{
		State: c.state, MSS: s.mss, RTT: s.rtt.smoothed, Deviation: s.rtt.deviation,
		MinRTT: s.rtt.least, RTO: s.rtt.rto(),
		Backoff: uint(s.rtt.backoff), PeerWindow: s.window, InFlight: s.scoreboard.inFlight,
		Lost:   s.scoreboard.lost,
		Sacked: s.scoreboard.sacked, Repairing: s.scoreboard.repairing(),
		Unacked: s.out.n, Unread: c.receive.in.n, Segments: t.segments, Resent: t.resent,
		BytesOut: t.bytesOut, BytesIn: t.bytesIn, BytesResent: t.bytesResent,
		Recovering: s.recovering, Expired: s.expired,
		Timestamps: c.timestamps, SACK: c.sack, Scaling: c.scaling, ECN: c.ecn.on,
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

// countResent counts a retransmission with n bytes of payload, which sent counts too.
func (t *traffic) countResent(n int) {
	t.resent++
	t.bytesResent += uint64(n)
}

// Busy tells whether written bytes, or the FIN, are not acknowledged yet.
func (i Info) Busy() bool {
	switch i.State {
	case Closed, FinWait2, TimeWait:
		return false
	case Established, CloseWait:
		return i.Unacked > 0
	}
	return true
}
