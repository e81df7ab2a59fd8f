package verdict

import (
	"math"
	"strings"
	"testing"

	"interleave/internal/stats"
)

// compared is a comparison that so many rounds count for.
func compared(rounds, void int) stats.Finding {
	f := stats.Finding{Word: stats.Inconclusive, Rounds: rounds, Voided: void, Estimate: .9}
	if rounds == 0 {
		f.Estimate = math.NaN()
	}
	return f
}

// TestNothingCounts: a claim of which no round counts is not measured. One with a round is open.
func TestNothingCounts(t *testing.T) {
	for _, c := range []struct {
		parts  []stats.Finding
		want   stats.Word
		reason string
	}{
		{[]stats.Finding{compared(0, 3), compared(0, 1)},
			stats.NotMeasured, "it was tried in 3 rounds, and nothing of that counts"},
		{[]stats.Finding{compared(0, 1)}, stats.NotMeasured, "in 1 round,"},
		{[]stats.Finding{compared(0, 3), compared(1, 0)},
			stats.Inconclusive, "wide"},
		{[]stats.Finding{compared(0, 0)}, stats.Inconclusive, "wide"},
		{nil, stats.Inconclusive, "wide"},
	} {
		v := Verdict{Word: stats.Inconclusive, Reason: "wide", Sentence: "Inconclusive."}
		for _, f := range c.parts {
			v.Parts = append(v.Parts, Part{Name: "x", Unit: "ratio", Void: f.Voided,
				Finding: f})
		}
		got := v.Told()
		if got.Word != c.want || !strings.Contains(got.Reason, c.reason) ||
			c.want == stats.NotMeasured && got.Sentence != "Not measured: "+got.Reason+"." {
			t.Errorf("%d parts: got %s, %q, %q", len(c.parts), got.Word, got.Reason, got.Sentence)
		}
	}
}
