package hist

// The form on disk, described in the package comment. The writer is explicit code, since the form
// has to stay the same for years. The reader checks everything: a record may come from another
// machine, another version, or half a write.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// MarshalJSON writes the form that the package comment describes. It has a value receiver so that a
// Histogram held by value is never written as an empty object.
func (h Histogram) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 256)
	b = fmt.Appendf(b, `{"unit":"ns","sub":%d,"n":%d,"min":%d,"max":%d,"sum":%d`, sub, h.count,
		h.min, h.max, h.sum)
	if h.negative > 0 {
		b = fmt.Appendf(b, `,"negative":%d`, h.negative)
	}
	b = append(b, `,"buckets":[`...)
	first := true
	for bucket := range h.Buckets() {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(b, '[')
		b = strconv.AppendInt(b, int64(index(bucket.Lower)), 10)
		b = append(b, ',')
		b = strconv.AppendUint(b, bucket.Count, 10)
		b = append(b, ']')
	}
	return append(b, "]}"...), nil
}

// form is the JSON object; pointers tell a key that is absent from one that is 0.
type form struct {
	Unit     *string     `json:"unit"`
	Sub      *uint64     `json:"sub"`
	N        *uint64     `json:"n"`
	Min      *int64      `json:"min"`
	Max      *int64      `json:"max"`
	Sum      *uint64     `json:"sum"`
	Negative *uint64     `json:"negative"`
	Buckets  [][]*uint64 `json:"buckets"`
}

// UnmarshalJSON reads the form that the package comment describes and refuses everything else:
// unknown or absent keys, buckets out of order, a count or an extreme that the buckets contradict.
// On error h is unchanged.
func (h *Histogram) UnmarshalJSON(data []byte) error {
	var f form
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return fmt.Errorf("reading histogram: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("reading histogram: more text after it")
	}
	read, err := f.histogram()
	if err != nil {
		return fmt.Errorf("reading histogram: %w", err)
	}
	*h = *read
	return nil
}

func (f *form) histogram() (*Histogram, error) {
	switch {
	case f.Unit == nil || f.Sub == nil || f.N == nil || f.Min == nil || f.Max == nil ||
		f.Sum == nil || f.Buckets == nil:
		return nil, errors.New("needs the keys unit, sub, n, min, max, sum and buckets")
	case *f.Unit != "ns":
		return nil, fmt.Errorf("unit is %q, want \"ns\"", *f.Unit)
	case *f.Sub != sub:
		return nil, fmt.Errorf("sub is %d, want %d", *f.Sub, sub)
	}
	h := &Histogram{min: *f.Min, max: *f.Max, sum: *f.Sum}
	if f.Negative != nil {
		h.negative = *f.Negative
	}
	last := -1
	for at, pair := range f.Buckets {
		if len(pair) != 2 || pair[0] == nil || pair[1] == nil {
			return nil, fmt.Errorf("bucket %d is not [index, count]", at)
		}
		i, count := *pair[0], *pair[1]
		switch {
		case i >= numBuckets:
			return nil, fmt.Errorf("bucket %d has index %d, the last is %d", at, i, numBuckets-1)
		case int(i) <= last:
			return nil, fmt.Errorf("bucket %d has index %d after %d", at, i, last)
		case count == 0:
			return nil, fmt.Errorf("bucket %d is empty", at)
		case count > math.MaxUint64-h.count:
			return nil, errors.New("more than 2^64-1 samples")
		}
		last = int(i)
		h.buckets[i] = count
		h.count += count
	}
	if h.count != *f.N {
		return nil, fmt.Errorf("n is %d, the buckets hold %d", *f.N, h.count)
	}
	return h, h.checkExtremes()
}

// checkExtremes holds min, max, sum and negative against the buckets.
func (h *Histogram) checkExtremes() error {
	if h.count == 0 {
		if h.min != 0 || h.max != 0 || h.sum != 0 || h.negative != 0 {
			return errors.New("n is 0, but min, max, sum or negative is not")
		}
		return nil
	}
	if h.min < 0 || h.max < h.min {
		return fmt.Errorf("min is %d, max is %d", h.min, h.max)
	}
	// Walk all buckets, not h.Buckets(), which would trust min and max.
	first, last := -1, -1
	var least, most uint64 // the sum of the samples lies between them
	for i, count := range &h.buckets {
		if count == 0 {
			continue
		}
		if first < 0 {
			first = i
		}
		last = i
		lower, upper := bounds(i)
		least = saturatingAdd(least, saturatingMul(uint64(lower), count))
		most = saturatingAdd(most, saturatingMul(uint64(upper), count))
	}
	switch {
	case index(h.min) != first:
		return fmt.Errorf("min %d is not in the first bucket", h.min)
	case index(h.max) != last:
		return fmt.Errorf("max %d is not in the last bucket", h.max)
	case h.sum < least || h.sum > most:
		return fmt.Errorf("sum %d is outside %d to %d, which the buckets allow", h.sum, least, most)
	case h.negative > h.buckets[0]:
		return fmt.Errorf("negative is %d, but only %d samples are 0", h.negative, h.buckets[0])
	}
	return nil
}
