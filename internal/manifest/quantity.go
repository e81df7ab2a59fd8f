package manifest

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A quantity is written as people write it, a number and a unit with or without a space between
// them: "1 Mbit/s", "8 MiB", "5000/s". A plain number is in the first unit.
type quantity struct {
	name  string
	like  string             // an example, for messages
	first string             // the unit of a plain number
	units map[string]float64 // unit -> how many of the first
	whole bool               // no fractions
}

var (
	// Sizes are in bytes; kB is 1000, KiB 1024 (IEC 80000-13).
	sizes = quantity{name: "a size", like: `"16 B" or "8 MiB"`, first: "B", whole: true,
		units: map[string]float64{
			"B": 1, "kB": 1e3, "MB": 1e6, "KiB": 1 << 10, "MiB": 1 << 20,
		}}
	rates = quantity{name: "a rate", like: `"5000/s"`, first: "/s",
		units: map[string]float64{"/s": 1, "k/s": 1e3}}
	// Bit rates count bits or bytes, as the sources do.
	bitRates = quantity{name: "a bit rate", like: `"1 Mbit/s" or "1 MB/s"`, first: "bit/s",
		units: map[string]float64{
			"bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9,
			"B/s": 8, "kB/s": 8e3, "MB/s": 8e6, "KiB/s": 8 << 10, "MiB/s": 8 << 20,
		}}
	counts = quantity{name: "a whole number", like: "64", whole: true,
		units: map[string]float64{"": 1}}
	shares = quantity{name: "a share", like: "0.25", units: map[string]float64{"": 1}}
)

// parse reads a TOML value as a quantity.
func (q quantity) parse(v any) (float64, error) {
	switch v := v.(type) {
	case int64:
		return float64(v), nil
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return v, nil
		}
	case string:
		at := strings.LastIndexAny(v, "0123456789.") + 1
		unit := strings.TrimSpace(v[at:])
		if unit == "" {
			unit = q.first
		}
		factor, known := q.units[unit]
		n, err := strconv.ParseFloat(v[:at], 64)
		// ParseFloat also takes "0x10" and "1_000"; neither survives being read by a person.
		if known && err == nil && !strings.ContainsAny(v[:at], "xX_") && !math.IsInf(n, 0) {
			return n * factor, nil
		}
	}
	return 0, fmt.Errorf("expected %s such as %s, got %s", q.name, q.like, show(v))
}

// within says what is wrong with a quantity, if anything.
func (q quantity) within(v, least, most float64) error {
	if v < least || v > most || math.IsNaN(v) {
		return fmt.Errorf("expected %s from %s to %s, got %s", q.name, q.text(least), q.text(most),
			q.text(v))
	}
	if q.whole && v != math.Trunc(v) {
		return fmt.Errorf("expected %s such as %s, got %s", q.name, q.like, q.text(v))
	}
	return nil
}

// text writes a quantity as point names show it.
func (q quantity) text(v float64) string {
	n := strconv.FormatFloat(v, 'f', -1, 64)
	switch {
	case q.first == "":
		return n
	case strings.HasPrefix(q.first, "/"):
		return n + q.first
	}
	return n + " " + q.first
}

// duration reads "5s" or "300ms".
func duration(v any) (time.Duration, error) {
	if s, ok := v.(string); ok {
		if d, err := time.ParseDuration(strings.ReplaceAll(s, " ", "")); err == nil {
			return d, nil
		}
	}
	return 0, fmt.Errorf(`expected a duration such as "5s" or "300ms", got %s`, show(v))
}

// show writes a TOML value for a message, on one line and not longer than a line.
func show(v any) string {
	var s string
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		s = strconv.Quote(v)
	case []any:
		return "an array"
	case map[string]any:
		return "a table"
	default:
		s = fmt.Sprint(v)
	}
	const longest = 60
	if runes := []rune(s); len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return s
}
