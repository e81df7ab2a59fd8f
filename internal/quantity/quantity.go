// Package quantity writes figures for readers: three significant digits, thousands apart by a thin
// space, prefixes where a unit takes them.
//
// The trade: three digits hide what noise makes meaningless anyway; the raw figures stay in the
// record, which is where a program should read them.
package quantity

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Thin is the narrow space that keeps a number and its unit on one line.
const Thin = "\u202f"

// Missing stands for a figure that was not measured.
const Missing = "–"

// Of writes v in a metric's unit: "223 k requests/s", "5.10 µs/request", "32.8 MiB".
func Of(v float64, unit string) string {
	number, word := Split(v, unit)
	if word == "" {
		return number
	}
	return number + Thin + word
}

// Short is Of without the words that a table's head already says: "223 k", "1.27 ms", "32.8 MiB".
func Short(v float64, unit string) string {
	number, word := Split(v, unit)
	if word == "" {
		return number
	}
	switch unit {
	case "µs", "bytes", "s", "bit/s":
		return number + Thin + word
	}
	if prefix, _, found := strings.Cut(word, Thin); found {
		return number + Thin + prefix
	}
	return number
}

// Split is the number and the unit with its prefix, apart.
func Split(v float64, unit string) (number, word string) {
	if math.IsNaN(v) {
		return Missing, ""
	}
	switch unit {
	case "bytes":
		return scaled(v, binarySteps)
	case "µs":
		return scaled(v, timeSteps)
	case "s":
		return scaled(v, secondSteps)
	case "bit/s":
		return scaled(v, bitSteps)
	case "requests/s", "deliveries/s":
		if a := math.Abs(v); a >= prefixFrom {
			number, word = scaled(v, rateSteps)
			return number, word + Thin + unit
		}
	}
	return Significant(v, 3), unit
}

// Estimate is a figure with the ends of its interval, all with the prefix and the decimals of the
// figure: "183 (180–186) k", "0.932 (0.860–1.012)", "1.27 (1.20–1.31) ms".
func Estimate(v, low, high float64, unit string) string {
	number, word := Split(v, unit)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return number
	}
	size := stepOf(v, unit)
	decimals := 0
	if _, fraction, found := strings.Cut(number, "."); found {
		decimals = len(fraction)
	}
	text := number + " (" + fixed(low/size, decimals) + "–" + fixed(high/size, decimals) + ")"
	switch unit {
	case "µs", "bytes", "s", "bit/s":
		return text + Thin + word
	case "requests/s", "deliveries/s":
		if prefix, _, found := strings.Cut(word, Thin); found {
			return text + Thin + prefix
		}
	}
	return text
}

// stepOf is what Split divides v by.
func stepOf(v float64, unit string) float64 {
	size := 1.
	take := func(steps []step) {
		for _, s := range steps {
			if math.Abs(v) >= .9995*s.size {
				size = s.size
				return
			}
		}
		if v != 0 {
			size = steps[len(steps)-1].size
		}
	}
	switch unit {
	case "bytes":
		take(binarySteps)
	case "µs":
		take(timeSteps)
	case "s":
		take(secondSteps)
	case "bit/s":
		take(bitSteps)
	case "requests/s", "deliveries/s":
		if math.Abs(v) >= prefixFrom {
			take(rateSteps)
		}
	}
	return size
}

func fixed(v float64, decimals int) string {
	switch {
	case math.IsNaN(v):
		return Missing
	case math.IsInf(v, 0):
		return Significant(v, 3)
	}
	return group(strconv.FormatFloat(v, 'f', decimals, 64))
}

type step struct {
	size float64
	word string
}

var (
	timeSteps   = []step{{1e6, "s"}, {1e3, "ms"}, {1, "µs"}, {1e-3, "ns"}}
	secondSteps = []step{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}}
	rateSteps   = []step{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}}
	bitSteps    = []step{{1e9, "Gbit/s"}, {1e6, "Mbit/s"}, {1e3, "kbit/s"}, {1, "bit/s"}}
	binarySteps = []step{{1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"},
		{1, "B"}}
)

// prefixFrom is the rate from which k stands for a thousand: 9 990 reads well, 10 000 does not.
const prefixFrom = 9_995

// scaled takes the largest step that leaves at least 1 in front of the point.
func scaled(v float64, steps []step) (number, word string) {
	if math.IsInf(v, 0) {
		return Significant(v, 3), ""
	}
	for _, s := range steps {
		// .9995 of a step is written as 1.00 of it, never as 1 000 of the one below.
		if math.Abs(v) >= .9995*s.size {
			return Significant(v/s.size, 3), s.word
		}
	}
	last := steps[len(steps)-1]
	if v == 0 {
		for _, s := range steps {
			if s.size == 1 {
				last = s
			}
		}
	}
	return Significant(v/last.size, 3), last.word
}

// Significant writes v with n significant digits; digits before the point are never dropped.
func Significant(v float64, n int) string {
	switch {
	case math.IsNaN(v):
		return Missing
	case math.IsInf(v, 1):
		return "∞"
	case math.IsInf(v, -1):
		return "−∞"
	case v == 0:
		return "0"
	}
	decimals := n - 1 - int(math.Floor(math.Log10(math.Abs(v))))
	// Rounding may carry into one more digit: 9.999 is 10.0, not 10.00.
	if scale := math.Pow10(decimals); decimals > 0 &&
		math.Round(math.Abs(v)*scale)/scale >= math.Pow10(n-decimals) {
		decimals--
	}
	if decimals < 0 {
		scale := math.Pow10(-decimals)
		v, decimals = math.Round(v/scale)*scale, 0
	}
	return group(strconv.FormatFloat(v, 'f', decimals, 64))
}

// Trim is Significant without the zeros that end it, for the labels of an axis.
func Trim(v float64, n int) string {
	s := Significant(v, n)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// Tick is a label on an axis: a trimmed number with its prefix.
func Tick(v float64, unit string) string {
	if v == 0 {
		return "0"
	}
	number, word := Split(v, unit)
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	if TickTells(unit) {
		return number + Thin + word
	}
	switch unit {
	case "requests/s", "deliveries/s":
		if prefix, _, found := strings.Cut(word, Thin); found {
			return number + Thin + prefix
		}
	}
	return number
}

// TickTells says whether the ticks of a unit name it, each in its own size: "20 ms".
// Their axis need not.
func TickTells(unit string) bool {
	switch unit {
	case "µs", "bytes", "s", "bit/s":
		return true
	}
	return false
}

// Count is a whole number.
func Count(n int64) string { return group(strconv.FormatInt(n, 10)) }

// Percent is a share of 0 .. 1: "3.1 %".
func Percent(share float64) string { return Trim(100*share, 2) + Thin + "%" }

// group sets thousands apart and writes a real minus.
func group(s string) string {
	sign := ""
	if rest, negative := strings.CutPrefix(s, "-"); negative {
		sign, s = "−", rest
	}
	whole, fraction, found := strings.Cut(s, ".")
	if len(whole) > 3 {
		var parts []string
		for len(whole) > 3 {
			parts = append([]string{whole[len(whole)-3:]}, parts...)
			whole = whole[:len(whole)-3]
		}
		whole = whole + Thin + strings.Join(parts, Thin)
	}
	if found {
		whole += "." + fraction
	}
	return sign + whole
}

// Duration is a time for people: "3 min 41 s", "1.20 s", "45.0 ms".
func Duration(d time.Duration) string {
	if d < 0 {
		return "−" + Duration(-d)
	}
	seconds := int64(d.Round(time.Second) / time.Second)
	switch {
	case d < 10*time.Second:
		return Of(float64(d)/float64(time.Microsecond), "µs")
	case seconds < 60:
		return Count(seconds) + Thin + "s"
	case seconds < 3600:
		return pair(seconds/60, "min", seconds%60, "s")
	}
	minutes := (seconds + 30) / 60
	return pair(minutes/60, "h", minutes%60, "min")
}

// Setting is a duration that someone chose: "4.5 s", "500 ms".
func Setting(d time.Duration) string {
	number, word, found := strings.Cut(Duration(d), Thin)
	if found && strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return number + Thin + word
}

func pair(a int64, unitA string, b int64, unitB string) string {
	s := Count(a) + Thin + unitA
	if b > 0 {
		s += " " + Count(b) + Thin + unitB
	}
	return s
}

// Bits is a rate of bits: "1 Mbit/s".
func Bits(v float64) string {
	number, word := scaled(v, bitSteps)
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return number + Thin + word
}

// Many writes a number of things: "1 connection", "64 connections".
func Many(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(int64(n)) + " " + noun + "s"
}

// Round shortens a duration to what a person reads.
func Round(d time.Duration) time.Duration {
	if d.Abs() > time.Millisecond {
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(100 * time.Nanosecond)
}
