package tcp

import (
	"fmt"
	"testing"
	"time"
)

// TestAPathThatDropsLargeSegments has a path that drops large segments without a report. The
// sender must find the largest size that passes, to the precision of the search, and lose few
// segments.
func TestAPathThatDropsLargeSegments(t *testing.T) {
	const size = 3_000_000
	for _, c := range []struct {
		most, least int // the path's limit, and what the sender must find at least
		cfg         Config
	}{
		{1400, 1400 - worthProbing, Config{}},
		{1300, 1300 - worthProbing, Config{Burst: 40_000}},
		{1024, 1012, Config{}},
		{700, defaultMSS - timestampLen, Config{}},
		{1300, baseMSS, Config{NoSACK: true, NoTimestamps: true, Congestion: NewReno}},
		{1208, 1208, Config{PeerMSS: 1220}}, // the least of IPv6, with a timestamp
	} {
		t.Run(fmt.Sprintf("%d bytes, %+v", c.most, c.cfg), func(t *testing.T) {
			path := oneWay{delay: 10 * ms, rate: 12_500_000, queue: 1 << 20, most: c.most}
			a := &node{give: pattern(size, 1), out: path, cfg: c.cfg}
			b := &node{out: path, cfg: c.cfg}
			w := exchange(t, 3, a, b, time.Hour)
			mss := a.conn.send.mss
			if mss < c.least || mss > c.most {
				t.Errorf("segments of %d bytes, want from %d to %d", mss, c.least, c.most)
			}
			if p := a.conn.send.search; !c.cfg.NoSACK && (p.high != p.full || p.tried ||
				p.at < w.now.Add(searchInterval-time.Minute)) {
				t.Errorf("the search has not come to rest for ten minutes: %+v", p)
			}
			// The initial window, its retransmissions, and a few probes. The time: 1.4 s until the
			// black hole is detected, twice that or more if 1024 bytes are too much, and .24 s of
			// sending.
			if limit := 60; a.out.dropped > limit {
				t.Errorf("%d segments were dropped, want %d at most", a.out.dropped, limit)
			}
			if d := w.now.Sub(Time(time.Second)); d > 4*time.Second && c.most >= 1024 ||
				d > 16*time.Second {
				t.Errorf("it took %v", d)
			}
		})
	}
}

// TestAPathThatWasDown holds that a path that was down gets its large segments back at once.
func TestAPathThatWasDown(t *testing.T) {
	p := newPair(&Config{MSS: 1460, QuickAck: true})
	p.carry(make([]byte, 100_000), make([]byte, 64<<10))
	p.x.Write(make([]byte, 3000))
	for range 4 {
		for p.x.Output(&p.s, p.now) { // all segments are lost
			p.now++
		}
		due, _ := p.x.Deadline()
		p.now = due
		p.x.Expire(p.now)
	}
	if got := p.x.send.mss; got != baseMSS-timestampLen {
		t.Fatalf("after some time-outs segments are of %d bytes, want %d", got,
			baseMSS-timestampLen)
	}
	p.carry(make([]byte, 100_000), make([]byte, 64<<10))
	if got := p.x.send.mss; got != 1448 {
		t.Errorf("segments are of %d bytes, want 1448 again", got)
	}
}

// TestMarksInPlaceOfLosses sends for a second over a queue that marks: with ECN nothing is lost,
// the path is used, and the queue stays short.
func TestMarksInPlaceOfLosses(t *testing.T) {
	const size = 6_000_000
	for _, name := range []string{CUBIC, NewReno} {
		for _, burst := range []int{0, 40_000} {
			cfg := Config{ECN: true, Congestion: name, Burst: burst}
			path := oneWay{delay: 10 * ms, rate: 6_000_000, queue: 400_000, mark: 60_000}
			a, b := &node{give: pattern(size, 1), out: path, cfg: cfg},
				&node{out: path, cfg: Config{Congestion: name}}
			w := exchange(t, 4, a, b, time.Minute)
			if a.out.dropped > 0 || a.out.marked == 0 || a.conn.traffic.resent > 0 {
				t.Errorf("%s: %d segments were dropped, %d marked, %d sent again, want marks only",
					name, a.out.dropped, a.out.marked, a.conn.traffic.resent)
			}
			if a.out.marked > a.out.sent/4 {
				t.Errorf("%s: %d of %d segments were marked: the sender does not give way", name,
					a.out.marked, a.out.sent)
			}
			got := w.now.Sub(Time(time.Second)).Seconds()
			if used := 100 * size / float64(path.rate) / got; used < 80 {
				t.Errorf("%s: %.0f of 100 parts of the path are used, want 80", name, used)
			}
		}
	}
}
