package tcp

import "time"

// This file finds the segment size. It starts with that of the handshake. It shrinks when a router
// reports a smaller MTU, or when large segments are dropped without a report, in a black hole (RFC
// 2923 section 2.1). Then larger sizes are probed with one segment at a time (RFC 4821).

// search is the state of the search for the largest segment that passes. Sizes are payloads in
// bytes.
type search struct {
	full     int  // the size that the handshake allows
	high     int  // upper bound of the search; not above the MSS: no search
	tried    bool // a probe above high was lost
	out      bool // a probe is in flight, from seq up to end
	seq, end Seq
	at       Time // no probe before this instant
	stuck    Seq  // SND.UNA at the last time-out
	times    int  // time-outs in a row at that SND.UNA
}

const (
	// blackHole is how many time-outs in a row let the path count as a black hole for large
	// segments (Linux: tcp_retries1). After one more the size is the default of the address family.
	blackHole = 3
	// baseMSS is the first smaller size, in bytes with options, which nearly all paths carry (RFC
	// 4821 section 7.2). The last resort is the MSS of a peer that announces none: 536 bytes over
	// IPv4, 1220 over IPv6.
	baseMSS = 1024
	// worthProbing is the precision of the search in bytes: less than a tunnel's headers. A guess.
	worthProbing = 32
	// searchInterval is the time after which a larger size is tried again (RFC 1191 section 6.3,
	// RFC 8201 section 4).
	searchInterval = 10 * time.Minute
)

// PathMTU takes the largest payload, TCP options included, that fits the path MTU which a router
// has reported. The segments that the router has dropped are sent again in smaller pieces. That is
// no sign of congestion (RFC 1191, RFC 8201).
func (c *Conn) PathMTU(mss int, now Time) {
	s := &c.send
	if c.timestamps {
		mss -= timestampLen
	}
	mss = max(mss, minMSS)
	switch {
	case s.control == nil:
	case mss < s.mss:
		s.shrinkSegments(mss, searchInterval, now)
		s.scoreboard.markAllLost(true)
		s.probe = s.scoreboard.lost > 0
	case s.probing() && mss < s.search.seq.To(s.search.end): // the probe was too large
		for i := range s.scoreboard.flights {
			if f := &s.scoreboard.flights[i]; f.end == s.search.end && !f.sacked {
				s.scoreboard.markLost(f)
			}
		}
		s.search.out, s.search.tried, s.search.high = false, false, mss
		s.search.pauseSearch(s.mss, now)
	}
}

// searching returns the search. The first one begins with the segment size of the handshake.
func (s *sender) searching() *search {
	if s.search == nil {
		s.search = &search{full: s.mss, high: s.mss}
	}
	return s.search
}

// probing tells whether a probe is in flight.
func (s *sender) probing() bool { return s.search != nil && s.search.out }

// shrinkSegments sets a smaller segment size, and lets larger ones be probed after wait.
func (s *sender) shrinkSegments(mss int, wait time.Duration, now Time) {
	p := s.searching()
	s.mss = mss
	s.control.resized(mss)
	p.high, p.tried, p.out, p.at = p.full, false, false, now.Add(wait)
}

// detectBlackHole checks, at a time-out, whether the path drops large segments, and shrinks the
// segments if so.
func (c *Conn) detectBlackHole(now Time) {
	s, p := &c.send, c.send.searching()
	if p.stuck != s.una {
		p.stuck, p.times = s.una, 0
	}
	if p.times++; p.times < blackHole || s.window == 0 {
		return
	}
	size := orElse(c.cfg.PeerMSS, defaultMSS)
	if p.times == blackHole {
		size = max(baseMSS, size)
	}
	if c.timestamps {
		size -= timestampLen
	}
	if size < min(s.mss, s.scoreboard.flights[0].len()) {
		s.shrinkSegments(size, 0, now)
	}
}

// pathProbe returns the size of the probe to be sent now, 0 for none. Enough data must follow the
// probe to detect its loss. A probe may be sent when a normal segment may: the bytes that it has
// more delay the segments behind it.
func (c *Conn) pathProbe(sendable int, now Time) int {
	s, p := &c.send, c.send.search
	if p.out || now < p.at || s.probe || s.recovering || s.scoreboard.lost > 0 ||
		s.scoreboard.sacked > 0 {
		return 0
	}
	size := p.high // the full size first: the path may just have been down
	if p.tried {
		size = (s.mss + p.high + 1) / 2
	}
	if min(sendable, s.control.window()) < size+dupThresh*s.mss || c.allowance() < s.mss {
		return 0
	}
	return size
}

// probeArrived notes that a probe, or a piece of it, was acknowledged.
func (s *sender) probeArrived(f *flight, now Time) {
	p := s.search
	p.out = false
	if f.seq != p.seq {
		return // a piece of the probe says nothing of its size
	}
	s.mss = p.seq.To(p.end)
	s.control.resized(s.mss)
	p.pauseSearch(s.mss, now)
}

// lostProbe tells whether the lost piece f was a probe. The loss of a probe is no sign of
// congestion (RFC 4821 section 2).
func (s *sender) lostProbe(f *flight, now Time) bool {
	if !s.probing() || f.end != s.search.end {
		return false
	}
	s.search.probeFailed(s.mss, now)
	return true
}

// probeFailed notes that a probe was lost.
func (p *search) probeFailed(mss int, now Time) {
	p.out, p.tried, p.high = false, true, p.seq.To(p.end)-1
	p.pauseSearch(mss, now)
}

// pauseSearch ends the search for searchInterval, once the remaining gain is less than
// worthProbing.
func (p *search) pauseSearch(mss int, now Time) {
	if p.high-mss < worthProbing && mss < p.full {
		p.high, p.tried, p.at = p.full, false, now.Add(searchInterval)
	}
}
