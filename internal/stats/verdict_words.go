package stats

// A finding as a sentence. The house rule is built in: a sentence names the metric, the number of
// rounds and the interval, and says nothing that the interval does not show.

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Words are the parts of a sentence besides the finding.
type Words struct {
	A, B string // names of the two sides
	// Phrase is what A did, with its metric: "served {ratio}x {b}'s requests a second", "used
	// {ratio}x the CPU of {b}", "used CPU that grew with the power {ratio} of the connections",
	// "swapped places with {b} at {ratio} connections". For an order of several models A is "the
	// ratio of requests a second" and the phrase "was {ratio}x".
	Phrase string
	Source string // the author of the claim; "The paper" if empty
	// what the source says, in place of the default: "says that Go's CPU grows almost linearly"
	Says string
	// Amount writes a number with its unit; nil: the phrase has the unit
	Amount func(v float64) string
}

// judgement are words that hide which metric is meant.
var judgement = regexp.MustCompile(`(?i)\b(faster|slower|quicker|better|worse|cheaper|scales|no difference)\b`)

// Check says what is wrong with the words of a claim.
func (w Words) Check() error {
	switch bad := judgement.FindString(w.Phrase); {
	case w.A == "":
		return fmt.Errorf("wording %q: the first name is empty", w.Phrase)
	case strings.Count(w.Phrase, "{ratio}") != 1:
		return fmt.Errorf("wording %q: needs {ratio} once", w.Phrase)
	case strings.Contains(w.Phrase, "{b}") && w.B == "":
		return fmt.Errorf("wording %q: the second name is empty", w.Phrase)
	case bad != "":
		return fmt.Errorf("wording %q: %q hides the metric; say what was measured", w.Phrase, bad)
	}
	return nil
}

// Sentence tells the finding: "Here, 12 of 12 rounds, A served 1.42x B's requests per CPU second
// (95 % 1.38-1.47). The paper says 1.5x; margin 1.25. Reproduced."
func (f Finding) Sentence(w Words) string {
	says := w.Says
	if says == "" {
		says = f.says()
	}
	source := w.Source
	if source == "" {
		source = "The paper"
	}
	return fmt.Sprintf("Here, %s. %s %s. %s.", f.observation(w), source, says, f.Verdict())
}

// Verdict is the word with the round that decided it, if others followed, its reason and the advice
// that follows: "Inconclusive: the interval is too wide; needs about 9 more rounds".
func (f Finding) Verdict() string {
	word := strings.ToUpper(string(f.Word[:1])) + string(f.Word[1:])
	if f.Looked > 0 && f.Looked < f.last && f.Word != NotComparable {
		word += fmt.Sprintf(" (decided at round %d)", f.Looked)
	}
	if f.Reason != "" {
		word += ": " + f.Reason
	}
	switch {
	case f.Word != Inconclusive || f.NeedRounds == 0:
	case f.Rounds >= MinRounds && f.Rounds+f.NeedRounds >= LastLook:
		word += "; may take up to " + f.need()
	default:
		word += "; needs about " + f.need()
	}
	return word
}

// need is NeedRounds in words. Where rounds were lost, further ones may be, too.
func (f Finding) need() string {
	switch {
	case f.Voided == 0:
		return count(f.NeedRounds, "more round")
	case f.NeedRounds == 1:
		return "1 more round that counts"
	}
	return count(f.NeedRounds, "more round") + " that count"
}

func (f Finding) observation(w Words) string {
	prefix := ""
	if len(f.Parts) > 1 {
		holding := 0
		for _, p := range f.Parts {
			if p.Finding.Word == Reproduced {
				holding++
			}
		}
		prefix = fmt.Sprintf("%d of %s hold; the weakest, %s: ", holding,
			count(len(f.Parts), "comparison"), f.Weakest)
	}
	rounds := fmt.Sprintf("%d of %s", f.RoundsAgreeing, count(f.Rounds, "round"))
	switch {
	case f.Rounds == 0:
		return "nothing was measured that counts"
	case math.IsNaN(f.Estimate):
		return fmt.Sprintf("%s agreeing, no crossing of %s and %s was seen in most", rounds, w.A,
			w.B)
	case f.RoundsAgreeing < f.Rounds:
		rounds += " agreeing"
	}
	write := w.Amount
	if write == nil {
		decimals := Decimals(f.Estimate, f.Interval95.Lower, f.Interval95.Upper)
		write = func(v float64) string { return number(v, decimals) }
	}
	phrase := strings.NewReplacer("{ratio}", write(f.Estimate), "{b}", w.B, "{a}",
		w.A).Replace(w.Phrase)
	interval := "95 % " + f.interval(write)
	if f.Rounds == 1 {
		interval = "one round has no interval"
	}
	return fmt.Sprintf("%s%s, %s %s (%s)", prefix, rounds, w.A, phrase, interval)
}

// interval prints the 95 % interval, or the level that was attained where that is less.
func (f Finding) interval(write func(v float64) string) string {
	iv := f.Interval95
	low, high := write(iv.Lower), write(iv.Upper)
	separator := "-"
	if strings.ContainsAny(low+high, "-∞ ") {
		separator = " to "
	}
	text := low + separator + high
	if iv.Short() {
		text += fmt.Sprintf(", though %s carry only %.4g %%", count(f.Rounds, "round"),
			100*iv.Attained)
	}
	return text
}

// says is what a source claims, in the terms of the finding.
func (f Finding) says() string {
	margin := fmt.Sprintf("; margin %.2f", f.Margin)
	published := strconv.FormatFloat(f.Published, 'g', 4, 64)
	switch {
	case len(f.Parts) > 0:
		return fmt.Sprintf("says so of all %d", len(f.Parts))
	case f.Kind == KindDirection && f.Published > 0:
		return "says at least " + published + "x"
	case f.Kind == KindDirection:
		side := "more"
		if f.Sense == Less {
			side = "less"
		}
		return fmt.Sprintf("says %s; differences from %.3g %% on count", side, 100*(f.Margin-1))
	case f.Kind == KindBound:
		side := "more"
		if f.Sense == Less {
			side = "less"
		}
		return fmt.Sprintf("says %s than %s; differences from %.3g %% on count", side, published,
			100*(f.Margin-1))
	case f.Kind == KindNonInferiority:
		return "says no worse" + margin
	case f.Kind == KindMagnitude:
		return "says " + published + "x" + margin
	case f.Kind == KindEquality:
		return "says the same" + margin
	case f.Kind == KindShape && f.Published == 0 && f.Accept[0] > 1:
		return "says more" + margin
	case f.Kind == KindShape && f.Published == 0:
		return "says less" + margin
	}
	return "says " + published + margin
}

// Decimals is how many digits after the point tell the ends of an interval apart, at least enough
// for three digits of the estimate above .1. Sentences and tables write a figure alike by it.
func Decimals(estimate, lower, upper float64) int {
	d := 2 - int(math.Floor(math.Log10(max(math.Abs(estimate), 1))))
	if width := upper - lower; width > 0 {
		d = max(d, int(math.Ceil(-math.Log10(width))))
	}
	return min(max(d, 0), 6)
}

func number(v float64, decimals int) string {
	switch {
	case math.IsInf(v, 1):
		return "∞"
	case math.IsInf(v, -1):
		return "-∞"
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}
