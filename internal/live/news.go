package live

import (
	"fmt"
	"math"

	"interleave/internal/stats"
	"interleave/internal/verdict"
)

// news finds the claims that are decided, or decided otherwise than before. Both views tell them.
type news struct {
	told map[string]stats.Word // by experiment and claim
}

// of are the verdicts that are new.
func (n *news) of(all []verdict.Verdict) (changed []verdict.Verdict) {
	if n.told == nil {
		n.told = map[string]stats.Word{}
	}
	for _, v := range all {
		name := v.Experiment + " " + v.Claim.ID
		before := n.told[name]
		if v.Word == before || !decided(v.Word) && before == "" {
			continue
		}
		n.told[name] = v.Word
		changed = append(changed, v)
	}
	return changed
}

func decided(w stats.Word) bool { return w == stats.Reproduced || w == stats.NotReproduced }

// answer is the line of a claim: "E1b reproduced: 1.34 (1.21 to 1.49), at least 1.05 claimed, after
// 7 rounds: On one host Eve answers more."
func answer(v *verdict.Verdict) string {
	line := fmt.Sprintf("%s %s: ", v.Claim.ID, v.Word)
	if f := v.Finding; f.Rounds > 0 && !math.IsNaN(f.Estimate) {
		line += fmt.Sprintf("%s (%s to %s)%s, after %d rounds: ", number(f.Estimate),
			number(f.Interval95.Lower), number(f.Interval95.Upper), claimed(f.Accept), f.Rounds)
	}
	return line + v.Claim.Sentence
}

// claimed is what an interval has to lie in.
func claimed(accept [2]float64) string {
	low, high := accept[0], accept[1]
	switch {
	case low > 0 && !math.IsInf(high, 1):
		return fmt.Sprintf(", %s to %s claimed", number(low), number(high))
	case low > 0:
		return fmt.Sprintf(", at least %s claimed", number(low))
	case high > 0 && !math.IsInf(high, 1):
		return fmt.Sprintf(", at most %s claimed", number(high))
	}
	return ""
}

// standing counts the decided claims: "12 of 94 claims decided".
func standing(all []verdict.Verdict) string {
	n := 0
	for _, v := range all {
		if decided(v.Word) {
			n++
		}
	}
	return fmt.Sprintf("%d of %d claims decided", n, len(all))
}
