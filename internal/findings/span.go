package findings

// Numbers as the file of figures has them: four significant digits, six in the parts of a claim,
// and null where there is none.

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"interleave/internal/stats"
)

// A Span is an estimate with the ends of its 95 % interval, in JSON an array of three. An end that
// is not bounded is infinite, an estimate that does not exist NaN; both are null in JSON.
type Span struct{ Estimate, Lower, Upper float64 }

// none is the span of what was not measured.
var none = Span{math.NaN(), math.Inf(-1), math.Inf(1)}

// spanOf keeps an interval; one of too few rounds keeps its estimate alone.
func spanOf(iv stats.Interval) Span { return spanTo(iv, 4) }

// spanTo is spanOf with so many digits. The parts of a claim have two more than a page shows, so
// that they are rounded once, as those of its sentence are.
func spanTo(iv stats.Interval, n int) Span {
	s := Span{significant(iv.Estimate, n), significant(iv.Lower, n), significant(iv.Upper, n)}
	if math.IsNaN(iv.Estimate) || math.IsInf(iv.Estimate, 0) {
		return none
	}
	if iv.Level == 0 || iv.Short() || math.IsNaN(iv.Lower) || math.IsNaN(iv.Upper) {
		s.Lower, s.Upper = math.Inf(-1), math.Inf(1)
	}
	return s
}

// digits rounds to the four significant digits that the file keeps.
func digits(v float64) float64 { return significant(v, 4) }

// significant rounds to n significant digits.
func significant(v float64, n int) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', n, 64), 64)
	if err != nil {
		return v // the largest numbers may round beyond what a float holds
	}
	return rounded
}

// known says whether there is an estimate.
func (s Span) known() bool { return !math.IsNaN(s.Estimate) }

// bounded says whether both ends of the interval are known.
func (s Span) bounded() bool {
	return s.known() && !math.IsInf(s.Lower, -1) && !math.IsInf(s.Upper, 1)
}

// side is +1 if the interval of a ratio lies above 1, -1 if it lies below, 0 if neither is shown.
func (s Span) side() int {
	switch {
	case !s.bounded():
		return 0
	case s.Lower > 1:
		return 1
	case s.Upper < 1:
		return -1
	}
	return 0
}

// MarshalJSON writes [estimate, lower, upper].
func (s Span) MarshalJSON() ([]byte, error) {
	return json.Marshal([3]*float64{finite(s.Estimate), finite(s.Lower), finite(s.Upper)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Span) UnmarshalJSON(data []byte) error {
	v, err := three(data, 3)
	if err != nil {
		return fmt.Errorf("a span is [estimate, lower, upper]: %w", err)
	}
	*s = none
	if v[0] == nil {
		if v[1] != nil || v[2] != nil {
			return errors.New("a span without an estimate has no interval")
		}
		return nil
	}
	s.Estimate = *v[0]
	if v[1] != nil {
		s.Lower = *v[1]
	}
	if v[2] != nil {
		s.Upper = *v[2]
	}
	if s.Lower > s.Upper {
		return fmt.Errorf("the interval %g .. %g has its ends exchanged", s.Lower, s.Upper)
	}
	return nil
}

// A Range is the region that reproduces a claim. A side that is open is 0 or infinite; an infinite
// one is null in JSON.
type Range [2]float64

// MarshalJSON writes [from, to].
func (r Range) MarshalJSON() ([]byte, error) {
	return json.Marshal([2]*float64{finite(r[0]), finite(r[1])})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Range) UnmarshalJSON(data []byte) error {
	v, err := three(data, 2)
	if err != nil {
		return fmt.Errorf("a range is [from, to]: %w", err)
	}
	*r = Range{math.Inf(-1), math.Inf(1)}
	for i := range r {
		if v[i] != nil {
			r[i] = *v[i]
		}
	}
	if r[0] > r[1] {
		return fmt.Errorf("the range %g .. %g has its ends exchanged", r[0], r[1])
	}
	return nil
}

// three reads an array of n numbers or nulls.
func three(data []byte, n int) ([]*float64, error) {
	var v []*float64
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, err
	}
	if len(v) != n {
		return nil, fmt.Errorf("expected %d numbers, found %d", n, len(v))
	}
	return v, nil
}

// finite is a pointer to v, or nil if JSON cannot write it.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// MarshalJSON writes [model, value, ratio, its lower and upper end, rounds]: there are thousands of
// rows, and names would be more than half of the file.
func (r Row) MarshalJSON() ([]byte, error) {
	return json.Marshal([6]any{r.Model, r.Value, finite(r.Ratio.Estimate), finite(r.Ratio.Lower),
		finite(r.Ratio.Upper), r.Rounds})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Row) UnmarshalJSON(data []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return fmt.Errorf("a row is [model, value, ratio, lower, upper, rounds]: %w", err)
	}
	if len(list) != 6 {
		return fmt.Errorf("a row is [model, value, ratio, lower, upper, rounds]: found %d of 6",
			len(list))
	}
	ratio := fmt.Appendf(nil, "[%s,%s,%s]", list[2], list[3], list[4])
	return errors.Join(json.Unmarshal(list[0], &r.Model), json.Unmarshal(list[1], &r.Value),
		r.Ratio.UnmarshalJSON(ratio), json.Unmarshal(list[5], &r.Rounds))
}
