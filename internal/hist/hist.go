// Package hist counts durations in a log-linear histogram: every power of two is cut into 128
// sub-buckets, so that a recorded duration is known to 0.8 % whatever its size, in 58 kB and with
// one addition for each sample. The trade: exact percentiles would need every sample kept; these
// are off by at most half a bucket, far below the noise between two rounds, and histograms of
// several threads and hosts merge by addition, which percentiles do not.
//
// # The form on disk
//
// A histogram is one JSON object, meant to be readable without this program:
//
//	{"unit":"ns","sub":128,"n":3,"min":5,"max":1001,"sum":1307,"buckets":[[5,1],[278,1],[506,1]]}
//
// unit is always "ns" (nanoseconds). sub is the number of sub-buckets for a power of two,
// always 128. n is the number of samples; min, max and sum are exact and 0 when n is 0. A sum
// of 18446744073709551615 (2^64-1) says "at least that". buckets lists [index, count] of the
// buckets that are not empty, in rising order. Bucket i holds the durations from lower to
// upper, both included:
//
//	i < 256:   lower = upper = i
//	i >= 256:  s = i/128 - 1  (integer division)
//	           lower = (i - 128*s) * 2^s
//	           upper = lower + 2^s - 1
//
// The optional key "negative" counts samples below zero (a clock that stepped back); they
// are recorded as 0.
package hist

import (
	"iter"
	"math"
	"math/bits"
)

const (
	subBits = 7 // log2 of the sub-buckets for a power of two
	// 128 sub-buckets bound the width of a bucket to 1/128 = 0.8 % of its lower end
	sub = 1 << subBits
	// numBuckets is one more than the index of the largest int64: shift 55, top bits 255.
	numBuckets = (63-subBits-1)*sub + 2*sub
)

// Histogram is a log-linear histogram of durations in nanoseconds. The zero value is empty
// and ready. It has one owner: recording from several threads means a histogram for each and
// Merge at the end.
type Histogram struct {
	count    uint64
	negative uint64
	min, max int64  // of the samples themselves; valid if count > 0
	sum      uint64 // in ns; stays at MaxUint64 once it would pass it
	buckets  [numBuckets]uint64
}

// Bucket is a range of durations, both ends included, and the number of samples in it.
type Bucket struct {
	Lower, Upper int64 // in ns
	Count        uint64
}

// index gives the bucket of a duration >= 0. Below 256 a bucket is one nanosecond wide; from there
// its width doubles with each power of two.
func index(ns int64) int {
	shift := max(0, bits.Len64(uint64(ns))-subBits-1)
	return shift<<subBits + int(uint64(ns)>>shift)
}

// bounds gives the smallest and the largest duration of bucket i.
func bounds(i int) (lower, upper int64) {
	shift := max(0, i>>subBits-1)
	top := uint64(i - shift<<subBits)
	return int64(top << shift), int64((top+1)<<shift - 1)
}

// Record adds one sample. It does not allocate.
func (h *Histogram) Record(ns int64) { h.RecordN(ns, 1) }

// RecordN adds n samples of the same duration. A negative duration counts as 0 and shows in
// Negative. Past 2^64-1 samples further ones are dropped. It does not allocate.
func (h *Histogram) RecordN(ns int64, n uint64) {
	n = min(n, math.MaxUint64-h.count)
	if n == 0 {
		return
	}
	if ns < 0 {
		ns = 0
		h.negative += n
	}
	if h.count == 0 {
		h.min, h.max = ns, ns
	} else {
		h.min, h.max = min(h.min, ns), max(h.max, ns)
	}
	h.count += n
	h.sum = saturatingAdd(h.sum, saturatingMul(uint64(ns), n))
	h.buckets[index(ns)] += n
}

// Merge adds the samples of other, as if they had been recorded here. Merging with nil
// changes nothing.
func (h *Histogram) Merge(other *Histogram) {
	if other == nil || other.count == 0 {
		return
	}
	if h.count > math.MaxUint64-other.count {
		h.mergeFull(other)
		return
	}
	if h.count == 0 {
		h.min, h.max = other.min, other.max
	} else {
		h.min, h.max = min(h.min, other.min), max(h.max, other.max)
	}
	h.count += other.count
	h.negative += other.negative
	h.sum = saturatingAdd(h.sum, other.sum)
	for i, c := range &other.buckets {
		h.buckets[i] += c
	}
}

// mergeFull merges if the counts together pass 2^64-1: bucket by bucket, RecordN drops the excess.
// Minimum and maximum are then those of buckets. No real run comes near to this.
func (h *Histogram) mergeFull(other *Histogram) {
	from := *other // other may be h itself
	for b := range from.Buckets() {
		h.RecordN(min(max(b.Lower, from.min), from.max), b.Count)
	}
}

// Reset empties the histogram.
func (h *Histogram) Reset() { *h = Histogram{} }

// Count is the number of samples.
func (h *Histogram) Count() uint64 { return h.count }

// Negative is the number of samples that were below zero and were recorded as 0.
func (h *Histogram) Negative() uint64 { return h.negative }

// Min is the smallest sample in ns, exact; 0 if there is none.
func (h *Histogram) Min() int64 { return h.min }

// Max is the largest sample in ns, exact; 0 if there is none.
func (h *Histogram) Max() int64 { return h.max }

// Mean is the mean in ns, exact until the sum passes 2^64 ns (584 years) and from then on to 0.4 %;
// 0 if there is no sample.
func (h *Histogram) Mean() float64 {
	if h.count == 0 {
		return 0
	}
	if h.sum < math.MaxUint64 {
		return float64(h.sum) / float64(h.count)
	}
	var mean float64
	for b := range h.Buckets() {
		middle := float64(b.Lower) + float64(b.Upper-b.Lower)/2
		mean += middle * (float64(b.Count) / float64(h.count))
	}
	return mean
}

// Quantile is the q-quantile in ns by nearest rank: the smallest recorded duration that at least
// the share q of the samples does not exceed, as the middle of its bucket (off by at most 0.4 %)
// and never outside Min and Max, which it returns for q <= 0 and q >= 1. It is 0 if there is no
// sample or q is not a number.
func (h *Histogram) Quantile(q float64) int64 {
	switch {
	case h.count == 0 || math.IsNaN(q):
		return 0
	case q <= 0:
		return h.min
	case q >= 1:
		return h.max
	}
	// .07*100 is a little above 7 in binary; without the correction its rank would be 8.
	const roundOff = 1 - 1e-15
	rank := max(1, uint64(math.Ceil(q*float64(h.count)*roundOff)))
	var seen uint64
	for b := range h.Buckets() {
		seen += b.Count
		if seen >= rank {
			middle := b.Lower + (b.Upper-b.Lower)/2
			return min(max(middle, h.min), h.max)
		}
	}
	return h.max
}

// Buckets yields the buckets that are not empty, shortest durations first.
func (h *Histogram) Buckets() iter.Seq[Bucket] {
	return func(yield func(Bucket) bool) {
		if h.count == 0 {
			return
		}
		for i := index(h.min); i <= index(h.max); i++ {
			if h.buckets[i] == 0 {
				continue
			}
			lower, upper := bounds(i)
			if !yield(Bucket{lower, upper, h.buckets[i]}) {
				return
			}
		}
	}
}

func saturatingAdd(a, b uint64) uint64 {
	total, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return math.MaxUint64
	}
	return total
}

func saturatingMul(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	if high != 0 {
		return math.MaxUint64
	}
	return low
}
