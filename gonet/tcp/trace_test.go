package tcp

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"interleave/gonet/wire"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// traceSeeds is how many conversations a file has.
const traceSeeds = 3

// TestTraces runs whole conversations over seeded bad paths, and compares each sent segment with
// testdata/trace/*.txt. The scripts say what must be true of TCP; the traces show any other change.
// They use NewReno only: CUBIC's curve is floating point, which machines round differently.
func TestTraces(t *testing.T) {
	plain := Config{NoSACK: true, NoTimestamps: true, NoScale: true}
	lossy := oneWay{delay: 10 * ms, loss: .1}
	heavy := oneWay{delay: 10 * ms, loss: .3, duplicate: .2}
	jitter := oneWay{delay: 10 * ms, jitter: 15 * ms}
	narrow := oneWay{delay: 20 * ms, rate: 200_000, queue: 8_000}
	for _, c := range []struct {
		name      string
		way       oneWay
		cfg       Config
		from, to  int  // bytes in each direction
		trickle   int  // bytes that a user writes at a time, with pauses
		slow      bool // users read little at a time, with pauses
		otherLast bool // b closes after a
	}{
		{"loss", lossy, Config{}, 40_000, 20_000, 0, false, false},
		{"loss-plain", lossy, plain, 40_000, 20_000, 0, false, false},
		{"loss-sack", lossy, Config{NoTimestamps: true}, 40_000, 0, 0, false, true},
		{"loss-heavy", heavy, Config{}, 20_000, 10_000, 0, false, false},
		{"loss-heavy-plain", heavy, plain, 20_000, 10_000, 0, false, false},
		{"loss-burst", lossy, Config{Burst: 20_000}, 60_000, 20_000, 0, false, true},
		{"reordering", jitter, Config{}, 60_000, 0, 0, false, false},
		{"reordering-plain", jitter, plain, 60_000, 0, 0, false, false},
		{"jitter-long", oneWay{delay: 50 * ms, jitter: 900 * ms}, Config{}, 20_000, 5_000, 0, false,
			false},
		{"duplication", oneWay{delay: 10 * ms, duplicate: .3}, Config{}, 40_000, 5_000, 0, false,
			false},
		{"marks",
			oneWay{delay: 20 * ms, rate: 200_000, queue: 20_000, mark: 5_000}, Config{ECN: true},
			60_000, 0, 0, false, false},
		{"narrow", narrow, Config{}, 60_000, 0, 0, false, false},
		{"narrow-plain", narrow, plain, 60_000, 0, 0, false, false},
		{"black-hole", oneWay{delay: 10 * ms, most: 1200}, Config{}, 40_000, 3_000, 0, false,
			false},
		{"trickle", lossy, Config{}, 6_000, 3_000, 300, false, true},
		{"trickle-nagle", lossy, Config{Delay: true}, 6_000, 3_000, 700, false, false},
		{"slow", lossy, Config{ReceiveBuffer: 6_000}, 30_000, 10_000, 0, true, false},
		{"slow-small", lossy, Config{ReceiveBuffer: 700, MSS: 300, NoTimestamps: true}, 6_000,
			2_000, 0, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.cfg.Congestion = NewReno
			var text strings.Builder
			for seed := range uint64(traceSeeds) {
				fmt.Fprintf(&text, "seed %d\n", seed)
				a, b := &node{give: pattern(c.from, 1), out: c.way, cfg: c.cfg},
					&node{give: pattern(c.to, 2), out: c.way, cfg: c.cfg, last: c.otherLast}
				user(a, c.trickle, c.slow)
				user(b, c.trickle, c.slow)
				fromA, fromB := c.from, c.to
				w := newSimulation(seed, a, b)
				for _, e := range []*node{a, b} {
					e.trace = func(h wire.TCP, n int) { fmt.Fprintln(&text, traced(w, e, h, n)) }
				}
				if err := w.run(time.Hour); err != nil {
					t.Fatal(err)
				}
				for _, e := range []*node{a, b} {
					e.take(1<<20, w.now)
					i := e.conn.Info()
					i.State = 0
					fmt.Fprintf(&text, "%s %v %+v\n", e.name, e.conn.State(), i)
				}
				if len(b.got) != fromA || len(a.got) != fromB {
					t.Errorf("%d and %d bytes arrived of %d and %d", len(b.got), len(a.got), fromA,
						fromB)
				}
			}
			golden(t, filepath.Join("testdata", "trace", c.name+".txt"), text.String())
		})
	}
}

// user has an end write and read few bytes at a time.
func user(e *node, trickle int, slow bool) {
	give := e.give
	if trickle > 0 {
		e.give = nil
	}
	if trickle == 0 && !slow {
		return
	}
	var next Time
	e.read = func(e *node, now Time) {
		if !slow {
			e.take(1<<20, now)
		}
		if now < next || e.conn.State() < Established {
			return
		}
		if slow {
			e.take(500, now)
		}
		if trickle > 0 {
			n := min(trickle, len(give))
			e.give, give = append(e.give, give[:n]...), give[n:]
		}
		if e.wake = 0; len(give) > 0 || slow {
			next = now.Add(7 * ms)
			e.wake = next
		}
	}
	e.more = func() bool { return trickle > 0 && len(give) > 0 }
}

// traced formats a segment as a line: sequence numbers count from the SYN, times in milliseconds
// from the start.
func traced(w *simulation, e *node, h wire.TCP, n int) string {
	c := e.conn
	at := time.Duration(w.now) - time.Second
	text := fmt.Sprintf("%.3f %s %v %d:%d", float64(at)/float64(time.Millisecond), e.name, h.Flags,
		h.Seq-uint32(c.send.iss), h.Seq-uint32(c.send.iss)+uint32(n))
	if h.Flags&wire.ACK != 0 {
		text += fmt.Sprintf(" ack %d", h.Ack-uint32(c.receive.irs))
	}
	text += fmt.Sprintf(" win %d", h.Window)
	o := &h.Options
	if o.MSS != 0 {
		text += fmt.Sprintf(" mss %d sack %v scale %v %d", o.MSS, o.SACKPermitted, o.HasWindowScale,
			o.WindowScale)
	}
	if o.HasTimestamp {
		text += fmt.Sprintf(" ts %d %d", o.TSVal, o.TSEcr)
	}
	for _, b := range o.SACK[:o.SACKCount] {
		text += fmt.Sprintf(" %d-%d", b.Left-uint32(c.receive.irs), b.Right-uint32(c.receive.irs))
	}
	return text
}

// golden compares text with a file, or rewrites the file.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil { //nolint:gosec // a file of the repository
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(want, []byte(got)) {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			t.Fatalf(
				"%s:%d differs (go test -run TestTraces -update rewrites it)\ngot  %s\nwant %s",
				file, i+1, g[i], append(w, "")[min(i, len(w))])
		}
	}
	t.Fatalf("%s has %d lines more", file, len(w)-len(g))
}
