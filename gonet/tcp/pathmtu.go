package tcp

import "time"

// The size of segments: what the handshake allows, until a router says that it has no room, or a
// way swallows what is large without a word (RFC 2923 section 2.1). Then segments are made smaller,
// and one at a time is tried larger again (RFC 4821).

// search is what is known of the largest segment that passes. Sizes are payloads in bytes.
type search struct {
	full     int  // what the handshake allows
	high     int  // the largest that may pass; not above the MSS: there is nothing to look for
	tried    bool // what is above high did not pass
	out      bool // a probe is on its way: all from seq up to end
	seq, end Seq
	at       Time // no probe before
	stuck    Seq  // una at the last time-out
	times    int  // how many there were in a row
}

const (
	// blackHole is how many time-outs in a row make a path suspect (Linux: tcp_retries1). After one
	// more only the least that there is counts as safe.
	blackHole = 3
	// baseMSS passes nearly everywhere, in bytes with the options (RFC 4821 section 7.2).
	// What nothing passes below is what a peer takes that says nothing: 536 bytes over IPv4,
	// 1220 over IPv6.
	baseMSS = 1024
	// worthProbing is how close the search comes, in bytes: less than a tunnel's headers. A guess.
	worthProbing = 32
	// searchInterval is when a path that was found narrow is tried again (RFC 1191 section 6.3, RFC
	// 8201 section 4).
	searchInterval = 10 * time.Minute
)

// PathMTU takes the largest payload that packets to the peer have room for, options of TCP
// included: what a router has refused goes again in smaller pieces, which is no congestion (RFC
// 1191, RFC 8201).
func (c *Conn) PathMTU(mss int, now Time) {
	s := &c.send
	if c.timestamps {
		mss -= timestampLen
	}
	mss = max(mss, minMSS)
	switch {
	case s.control == nil:
	case mss < s.mss:
		s.narrow(mss, searchInterval, now)
		s.board.loseAll(true)
		s.probe = s.board.lost > 0
	case s.search.out && mss < s.search.seq.To(s.search.end): // it was the probe
		for i := range s.board.flights {
			if f := &s.board.flights[i]; f.end == s.search.end && !f.sacked {
				s.board.lose(f)
			}
		}
		s.search.out, s.search.tried, s.search.high = false, false, mss
		s.search.rest(s.mss, now)
	}
}

// narrow makes segments smaller, and has larger ones tried after a while.
func (s *sender) narrow(mss int, wait time.Duration, now Time) {
	p := &s.search
	s.mss = mss
	s.control.resized(mss)
	p.high, p.tried, p.out, p.at = p.full, false, false, now.Add(wait)
}

// swallowed looks, at a time-out, for a path on which large segments vanish.
func (c *Conn) swallowed(now Time) {
	s, p := &c.send, &c.send.search
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
	if size < min(s.mss, s.board.flights[0].len()) {
		s.narrow(size, 0, now)
	}
}

// pathProbe is the size of a segment that is to be tried now, 0 for none. There must be enough
// behind it to tell of its loss. It may go when a segment may, and what it has more waits for the
// acknowledgements of the next.
func (c *Conn) pathProbe(sendable int, now Time) int {
	s, p := &c.send, &c.send.search
	if p.out || now < p.at || s.probe || s.recovering || s.board.lost > 0 || s.board.sacked > 0 {
		return 0
	}
	size := p.high // all at once first: the way may just have been down
	if p.tried {
		size = (s.mss + p.high + 1) / 2
	}
	if min(sendable, s.control.window()) < size+dupThresh*s.mss || c.allowance() < s.mss {
		return 0
	}
	return size
}

// passed notes that a probe, or a piece of it, has arrived.
func (s *sender) passed(f *flight, now Time) {
	p := &s.search
	p.out = false
	if f.seq != p.seq {
		return // somebody has cut it: that says nothing
	}
	s.mss = p.seq.To(p.end)
	s.control.resized(s.mss)
	p.rest(s.mss, now)
}

// lostProbe tells whether f, which is lost, was a probe: that is no congestion (RFC
// 4821 section 7.5).
func (s *sender) lostProbe(f *flight, now Time) bool {
	if !s.search.out || f.end != s.search.end {
		return false
	}
	s.search.failed(s.mss, now)
	return true
}

// failed notes that a probe was lost.
func (p *search) failed(mss int, now Time) {
	p.out, p.tried, p.high = false, true, p.seq.To(p.end)-1
	p.rest(mss, now)
}

// rest ends the search for a while when what is left is not worth it.
func (p *search) rest(mss int, now Time) {
	if p.high-mss < worthProbing && mss < p.full {
		p.high, p.tried, p.at = p.full, false, now.Add(searchInterval)
	}
}
