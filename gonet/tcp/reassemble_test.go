package tcp

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"testing"
)

// TestReassembly adds pieces in any order, of any size and overlap: the runs hold what was sent,
// and neither touch nor overlap.
func TestReassembly(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		stream := pattern(1+r.IntN(2000), seed)
		start := Seq(r.Uint32())
		var q reassembly
		have := make([]bool, len(stream))
		for range 1 + r.IntN(300) {
			from := r.IntN(len(stream))
			to := min(from+1+r.IntN(1+r.IntN(200)), len(stream))
			q.add(start.Plus(from), stream[from:to])
			for i := from; i < to; i++ {
				have[i] = true
			}
			checkRuns(t, &q, start, stream, have)
		}
		if got := q.take(start); have[0] != (got != nil) || !bytes.Equal(got, stream[:len(got)]) {
			t.Fatalf("seed %d: took %d bytes", seed, len(got))
		}
	}
}

func checkRuns(t *testing.T, q *reassembly, start Seq, stream []byte, have []bool) {
	t.Helper()
	at := 0
	for i, run := range q.runs {
		from := start.To(run.seq)
		for ; at < from; at++ {
			if have[at] {
				t.Fatalf("byte %d is missing before run %d", at, i)
			}
		}
		if len(run.data) == 0 || i > 0 && !run.seq.After(q.runs[i-1].end()) ||
			!bytes.Equal(run.data, stream[from:from+len(run.data)]) {
			t.Fatalf("run %d of %d bytes at %d is not what was sent", i, len(run.data), from)
		}
		for ; at < from+len(run.data); at++ {
			if !have[at] {
				t.Fatalf("byte %d of run %d was never sent", at, i)
			}
		}
	}
	for ; at < len(stream); at++ {
		if have[at] {
			t.Fatalf("byte %d is missing at the end", at)
		}
	}
}

// TestReassemblyIsNotSquare adds single bytes in reverse order, and bytes that join runs: the
// copied bytes are in proportion to those that arrive.
func TestReassemblyIsNotSquare(t *testing.T) {
	copied := func(n int) uint64 {
		return allocated(func() {
			var q reassembly
			for i := n; i > 0; i-- {
				q.add(Seq(i), []byte{1})
			}
			for i := 0; i < n; i += 2 {
				q.add(Seq(2*n+i), []byte{1})
				q.add(Seq(2*n+i-1), []byte{1})
			}
		})
	}
	small, large := copied(10_000), copied(80_000)
	if large > 16*small {
		t.Errorf("%d bytes were allocated for 80,000, %d for 10,000", large, small)
	}
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
