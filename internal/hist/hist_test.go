package hist

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestBucketsTileTheLine(t *testing.T) {
	next := uint64(0) // the lower end that the next bucket has to have
	for i := range numBuckets {
		lower, upper := bounds(i)
		if uint64(lower) != next {
			t.Fatalf("bucket %d starts at %d, want %d", i, lower, next)
		}
		if index(lower) != i || index(upper) != i {
			t.Fatalf("bucket %d: its ends %d and %d have index %d and %d", i, lower, upper,
				index(lower), index(upper))
		}
		if width := float64(upper - lower + 1); width > 1 && width > float64(lower)/sub {
			t.Fatalf("bucket %d from %d is %.0f wide, more than 1/%d", i, lower, width, sub)
		}
		next = uint64(upper) + 1
	}
	if next != 1<<63 {
		t.Errorf("buckets end at %d, want 2^63", next)
	}
}

// samplers are shapes of latency: they stress the linear region, the tails and ties.
var samplers = map[string]func(*rand.Rand) int64{
	"small":       func(r *rand.Rand) int64 { return r.Int64N(300) },
	"uniform":     func(r *rand.Rand) int64 { return r.Int64N(10_000_000) },
	"log-normal":  func(r *rand.Rand) int64 { return int64(50_000 * math.Exp(r.NormFloat64())) },
	"exponential": func(r *rand.Rand) int64 { return int64(1e6 * r.ExpFloat64()) },
	"two peaks": func(r *rand.Rand) int64 {
		return 30_000 + 100_000_000*int64(r.IntN(20)/19) + r.Int64N(500)
	},
	"all range": func(r *rand.Rand) int64 { return r.Int64() >> r.IntN(63) },
	"constant":  func(*rand.Rand) int64 { return 123_456_789 },
}

func TestQuantilesAgainstExact(t *testing.T) {
	for name, sample := range samplers {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{1, 2, 7, 100, 20_000} {
				r := rand.New(rand.NewPCG(1, uint64(n)))
				var h Histogram
				exact := make([]int64, n)
				for i := range exact {
					exact[i] = sample(r)
					h.Record(exact[i])
				}
				slices.Sort(exact)
				checkQuantiles(t, &h, exact)
			}
		})
	}
}

func checkQuantiles(t *testing.T, h *Histogram, exact []int64) {
	t.Helper()
	n := len(exact)
	for permille := range 1001 {
		rank := max(1, (permille*n+999)/1000)
		want := exact[rank-1]
		got := h.Quantile(float64(permille) / 1000)
		// Half of 1/128 for the middle of a bucket, and 1 ns because the middle is rounded.
		if diff := math.Abs(float64(got - want)); diff > float64(want)/(2*sub)+1 {
			t.Fatalf("n=%d: quantile %.3f is %d, want %d within 0.4 %%", n, float64(permille)/1000,
				got, want)
		}
	}
	if h.Min() != exact[0] || h.Max() != exact[n-1] || h.Count() != uint64(n) {
		t.Errorf("min, max, count = %d, %d, %d; want %d, %d, %d", h.Min(), h.Max(), h.Count(),
			exact[0], exact[n-1], n)
	}
	var mean float64
	for _, v := range exact {
		mean += float64(v) / float64(n)
	}
	if got := h.Mean(); math.Abs(got-mean) > mean*0.005 {
		t.Errorf("mean is %g, want %g", got, mean)
	}
}

func TestMergeIsRecordingTogether(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	var together Histogram
	parts := make([]Histogram, 4) // the last stays empty
	for range 10_000 {
		ns := int64(1e5*r.ExpFloat64()) - 10
		together.Record(ns)
		parts[r.IntN(3)].Record(ns)
	}
	var merged Histogram
	for i := range parts {
		merged.Merge(&parts[len(parts)-1-i])
	}
	merged.Merge(nil)
	if merged != together {
		t.Errorf("merged n=%d sum=%d, together n=%d sum=%d", merged.count, merged.sum,
			together.count, together.sum)
	}
}

func TestEdges(t *testing.T) {
	var h Histogram
	for _, q := range []float64{0, .5, 1, math.NaN()} {
		if got := h.Quantile(q); got != 0 {
			t.Errorf("empty: quantile %g is %d, want 0", q, got)
		}
	}
	if h.Mean() != 0 || h.Min() != 0 || h.Max() != 0 {
		t.Errorf("empty: mean, min, max = %g, %d, %d", h.Mean(), h.Min(), h.Max())
	}
	for range h.Buckets() {
		t.Error("empty: has a bucket")
	}

	h.Record(-5)
	if h.Negative() != 1 || h.Min() != 0 || h.Count() != 1 {
		t.Errorf("negative sample: negative, min, count = %d, %d, %d; want 1, 0, 1", h.Negative(),
			h.Min(), h.Count())
	}
	h.RecordN(math.MaxInt64, 3)
	if h.Max() != math.MaxInt64 || h.Quantile(.9) < math.MaxInt64/256*255 {
		t.Errorf("largest: max, p90 = %d, %d", h.Max(), h.Quantile(.9))
	}
	if h.sum != math.MaxUint64 {
		t.Errorf("sum is %d, want it held at the top", h.sum)
	}
	if got, want := h.Mean(), 0.75*math.MaxInt64; math.Abs(got-want) > want*.005 {
		t.Errorf("mean after the sum is full: %g, want %g", got, want)
	}

	h.RecordN(7, math.MaxUint64)
	if h.Count() != math.MaxUint64 || h.buckets[7] != math.MaxUint64-4 {
		t.Errorf("full: count %d, bucket 7 %d", h.Count(), h.buckets[7])
	}
	before := h
	h.Merge(&h)
	if h.Count() != before.Count() {
		t.Errorf("merging past the top: count %d", h.Count())
	}
	h.Reset()
	if h != (Histogram{}) {
		t.Error("reset left something")
	}
}

func TestRecordDoesNotAllocate(t *testing.T) {
	h := new(Histogram)
	ns := int64(1)
	if got := testing.AllocsPerRun(1000,
		func() { h.Record(ns); ns = ns*3 + 1; ns &= math.MaxInt64 }); got != 0 {
		t.Errorf("Record allocates %g times", got)
	}
}

func BenchmarkRecord(b *testing.B) {
	h := new(Histogram)
	for i := range b.N {
		h.Record(int64(i) << 4)
	}
}
