package stats

// The figures of rounds before any claim is looked at: log ratios within the round, and how far the
// rounds can be trusted.

import "math"

// LogRatios pairs a and b by round (the index) and gives ln(a/b) for every round that has both. A
// round is missing from a side if the slice ends before it, or if its value is no positive finite
// number (NaN marks a voided round). missing counts the rounds that were seen by at least one slice
// but could not be paired.
func LogRatios(a, b []float64) (logs []float64, missing int) {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || !measurable(a[i]) || !measurable(b[i]) {
			missing++
			continue
		}
		logs = append(logs, math.Log(a[i])-math.Log(b[i]))
	}
	return logs, missing
}

// measurable reports whether v has a logarithm that can be used.
func measurable(v float64) bool { return v > 0 && !math.IsInf(v, 1) }

// Lag1Warn is the autocorrelation from which on the interval must be doubted: at .4 a 95 % interval
// of 12 rounds covers the truth in 82 of 100 cases. Twelve independent rounds exceed it in 1 of 15
// cases by chance.
const Lag1Warn = .3

// Lag1 is the autocorrelation of neighbouring values in x about their mean; 0 if x has fewer than
// three values or does not vary.
func Lag1(x []float64) float64 {
	if len(x) < 3 {
		return 0
	}
	m := mean(x)
	var square, product float64
	for i, v := range x {
		square += (v - m) * (v - m)
		if i > 0 {
			product += (v - m) * (x[i-1] - m)
		}
	}
	if square == 0 {
		return 0
	}
	return product / square
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// Slope is the slope and the height at x = 0 of the least-squares line through the points. NaN if
// the points do not differ in x. x and y have the same length.
func Slope(x, y []float64) (slope, intercept float64) {
	if len(x) < 2 || len(x) != len(y) {
		return math.NaN(), math.NaN()
	}
	mx, my := mean(x), mean(y)
	var xx, xy float64
	for i := range x {
		xx += (x[i] - mx) * (x[i] - mx)
		xy += (x[i] - mx) * (y[i] - my)
	}
	if xx == 0 {
		return math.NaN(), math.NaN()
	}
	slope = xy / xx
	return slope, my - slope*mx
}

// LogLogSlope is the exponent p of the power law y = c*x^p that fits best: 1 is linear growth, 0
// none. NaN if a point is not positive.
func LogLogSlope(x, y []float64) float64 {
	slope, _ := Slope(logs(x), logs(y))
	return slope
}

func logs(x []float64) []float64 {
	l := make([]float64, len(x))
	for i, v := range x {
		l[i] = math.Log(v)
		if !measurable(v) {
			l[i] = math.NaN()
		}
	}
	return l
}

// MarginPrecision is the half-width that a run aims at for a margin m: a quarter of ln m, so that
// the interval of any estimate in the inner three quarters of the margin lies inside it.
func MarginPrecision(margin float64) float64 { return math.Log(margin) / 4 }
