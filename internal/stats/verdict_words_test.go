package stats

import (
	"math"
	"strings"
	"testing"
)

func TestSentence(t *testing.T) {
	served := Words{A: "A", B: "B", Phrase: "served {ratio}x {b}'s requests per CPU second"}
	used := Words{A: "c-process", B: "go-goroutine", Phrase: "used {ratio}x the CPU of {b}"}
	grew := Words{A: "go-goroutine",
		Phrase: "used CPU that grew with the power {ratio} of the connections"}
	swapped := Words{A: "gonet", B: "tapip", Phrase: "swapped latency with {b} at {ratio} pings",
		Source: "The thesis"}
	x := []float64{1, 1000}
	crossings := func(at float64) Crossings {
		return FindCrossings(repeated(12, x, []float64{1, 1}),
			repeated(12, x, []float64{1 / at, 1000 / at}), Greater)
	}
	tests := []struct {
		finding Finding
		words   Words
		want    string
	}{
		{Magnitude(spread(12, 1.42, .07), 1.5, 0), served,
			"Here, 12 of 12 rounds, A served 1.42x B's requests per CPU second (95 % " +
				"1.35-1.49). The paper says 1.5x; margin 1.25. Reproduced (decided at round 6)."},
		{Magnitude(spread(12, 1.1, .05), 1.5, 0), served,
			"Here, 0 of 12 rounds agreeing, A served 1.10x B's requests per CPU second (95 % " +
				"1.06-1.14). The paper says 1.5x; margin 1.25. Not reproduced (decided at " +
				"round 6): direction reproduced, size not."},
		{Direction(spread(12, .71, .05), Less, 0), used,
			"Here, 12 of 12 rounds, c-process used 0.71x the CPU of go-goroutine (95 % " +
				"0.69-0.74). The paper says less; differences from 5 % on count. Reproduced " +
				"(decided at round 6)."},
		{Direction(spread(12, 1.1, .5), Greater, 0), used,
			"Here, 7 of 12 rounds agreeing, c-process used 1.10x the CPU of go-goroutine (95 " +
				"% 0.82-1.48). The paper says more; differences from 5 % on count. " +
				"Inconclusive: the interval is too wide; may take up to 48 more rounds."},
		{AtLeast(spread(12, 1.13, .03), 4), used,
			"Here, 0 of 12 rounds agreeing, c-process used 1.13x the CPU of go-goroutine (95 % " +
				"1.11-1.15). The paper says at least 4x. Not reproduced (decided at round 6): " +
				"direction reproduced, size not."},
		{Magnitude(spread(12, 1.64, .06), 1.5, 1.1), served,
			"Here, 7 of 12 rounds agreeing, A served 1.64x B's requests per CPU second (95 % " +
				"1.57-1.71). The paper says 1.5x; margin 1.10. Inconclusive: the interval is " +
				"too wide; may take up to 48 more rounds."},
		{Equality(spread(12, 1.002, .001), 0), used,
			"Here, 12 of 12 rounds, c-process used 1.002x the CPU of go-goroutine (95 % " +
				"1.001-1.003). The paper says the same; margin 1.10. Reproduced (decided at " +
				"round 6)."},
		{Growth(ratios(spread(12, .97, .05)), 1, 0), grew,
			"Here, 12 of 12 rounds, go-goroutine used CPU that grew with the power 0.97 of " +
				"the connections (95 % 0.94-1.01). The paper says 1; margin 1.25. Reproduced " +
				"(decided at round 6)."},
		{Flattens(ratios(spread(12, .1, .1)), 0),
			Words{A: "c-process",
				Phrase: "needed {ratio}x the CPU for a further connection after 16",
				Says:   "says that growth drops considerably"},
			"Here, 12 of 12 rounds, c-process needed 0.10x the CPU for a further connection " +
				"after 16 (95 % 0.09-0.11). The paper says that growth drops considerably. " +
				"Reproduced (decided at round 6)."},
		{Crossover(crossings(550), 600, 0), swapped,
			"Here, 12 of 12 rounds, gonet swapped latency with tapip at 550 pings (95 % " +
				"550-550). The thesis says 600; margin 1.25. Reproduced (decided at round 6)."},
		{Crossover(crossings(1e6), 600, 0), swapped,
			"Here, 0 of 12 rounds agreeing, no crossing of gonet and tapip was seen in most. " +
				"The thesis says 600; margin 1.25. Not reproduced (decided at round 6): no " +
				"crossing in range, which is 1 to 1000."},
		{Absolute(spread(12, 12, .05), 32, 0, false),
			Words{A: "go-goroutine", Phrase: "held {ratio} KB a connection"},
			"Here, 0 of 12 rounds agreeing, go-goroutine held 12.0 KB a connection (95 % " +
				"11.6-12.4). The paper says 32; margin 1.25. Not comparable: outside the " +
				"margin, and the published number is from other hardware."},
		{All(KindDirection, []Part{{"at 1 connection", Direction(spread(12, .71, .05), Less, 0)},
			{"at 64 connections", Direction(spread(12, .9, .02), Less, 0)}}), used,
			"Here, 2 of 2 comparisons hold; the weakest, at 64 connections: 12 of 12 rounds, " +
				"c-process used 0.90x the CPU of go-goroutine (95 % 0.89-0.91). The paper says " +
				"so of all 2. Reproduced (decided at round 6)."},
		{Direction(spread(5, 2, .05), Greater, 0), used,
			"Here, 5 of 5 rounds, c-process used 2.00x the CPU of go-goroutine (95 % 1.90-2.10, " +
				"though 5 rounds carry only 93.75 %). The paper says more; differences from 5 % " +
				"on count. Inconclusive: 5 rounds cannot carry a 95 % interval, 6 are the " +
				"least; needs about 1 more round."},
		{Direction(Sample{Values: []float64{math.Log(2)}}, Greater, 0), used,
			"Here, 1 of 1 round, c-process used 2.00x the CPU of go-goroutine (one round has no " +
				"interval). The paper says more; differences from 5 % on count. Inconclusive: 1 " +
				"round cannot carry a 95 % interval, 6 are the least; needs about 5 more rounds."},
		{Direction(Sample{}, Greater, 0), used,
			"Here, nothing was measured that counts. The paper says more; differences from 5 % " +
				"on count. Inconclusive: no round was measured; needs about 6 more rounds."},
		{Direction(voided(spread(5, 2, .05), 2), Greater, 0), used,
			"Here, 5 of 5 rounds, c-process used 2.00x the CPU of go-goroutine (95 % 1.90-2.10, " +
				"though 5 rounds carry only 93.75 %). The paper says more; differences from 5 % " +
				"on count. Inconclusive: 2 of 7 rounds do not count, more than a quarter; needs " +
				"about 1 more round that counts."},
		{Direction(voided(spread(5, 2, .05), 3), Greater, 0), used,
			"Here, 5 of 5 rounds, c-process used 2.00x the CPU of go-goroutine (95 % 1.90-2.10, " +
				"though 5 rounds carry only 93.75 %). The paper says more; differences from 5 % " +
				"on count. Inconclusive: 3 of 8 rounds do not count, more than a quarter; needs " +
				"about 4 more rounds that count."},
	}
	for _, tt := range tests {
		if err := tt.words.Check(); err != nil {
			t.Error(err)
		}
		if got := tt.finding.Sentence(tt.words); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

func TestWordsCheck(t *testing.T) {
	tests := []struct {
		words Words
		want  string
	}{
		{Words{A: "A", B: "B", Phrase: "was {ratio}x faster than {b}"},
			`"faster" hides the metric`},
		{Words{A: "A", B: "B", Phrase: "scales {ratio}x as well in requests"},
			`"scales" hides the metric`},
		{Words{A: "A", B: "B", Phrase: "used less CPU"}, "needs {ratio} once"},
		{Words{A: "A", Phrase: "used {ratio}x the CPU of {b}"}, "second name is empty"},
		{Words{Phrase: "used {ratio}x the CPU"}, "first name is empty"},
	}
	for _, tt := range tests {
		if err := tt.words.Check(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: got %v, want %q", tt.words, err, tt.want)
		}
	}
}

func TestNumber(t *testing.T) {
	f := func(estimate, lower, upper float64) Finding {
		return Finding{Estimate: estimate, Interval95: Interval{Estimate: estimate, Lower: lower,
			Upper: upper}}
	}
	tests := []struct {
		finding        Finding
		number, bounds string
	}{
		{f(1.42, 1.38, 1.47), "1.42", "1.38-1.47"},
		{f(1234.5, 1200, 1300), "1234", "1200-1300"},
		{f(12.34, 12, 13), "12.3", "12.0-13.0"},
		{f(.0123, .012, .013), "0.012", "0.012-0.013"},
		{f(1.0042, 1.0040, 1.0049), "1.0042", "1.0040-1.0049"},
		{f(-.2, -.3, .1), "-0.20", "-0.30 to 0.10"},
		{f(2, 1, inf), "2.00", "1.00 to ∞"},
		{f(2, math.Inf(-1), 3), "2.00", "-∞ to 3.00"},
	}
	for _, tt := range tests {
		d := Decimals(tt.finding.Estimate, tt.finding.Interval95.Lower,
			tt.finding.Interval95.Upper)
		if got := number(tt.finding.Estimate, d); got != tt.number {
			t.Errorf("estimate: got %s, want %s", got, tt.number)
		}
		write := func(v float64) string { return number(v, d) }
		if got := tt.finding.interval(write); got != tt.bounds {
			t.Errorf("interval: got %s, want %s", got, tt.bounds)
		}
	}
}
