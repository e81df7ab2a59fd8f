package findings

// What all machines together say of a claim. The first machine's verdict stands where it has one.
// What it leaves open or has not measured another machine may decide. Where one machine says
// "reproduced" and another one "not reproduced", the claim has no verdict: the machines disagree.

import (
	"fmt"
	"slices"
	"strings"

	"interleave/internal/manifest"
	"interleave/internal/quantity"
	"interleave/internal/stats"
)

// Contradicted stands for the verdict of a claim on which two machines disagree.
const Contradicted stats.Word = "machines disagree"

// outcomes are what a claim can be, in the order in which they are counted.
var outcomes = []stats.Word{stats.Reproduced, stats.NotReproduced, Contradicted,
	stats.Inconclusive, stats.NotMeasured, stats.NotComparable}

// A voice is what one machine beside the first says of a claim.
type voice struct {
	Other
	claim Claim // as that machine has it; without a word if it does not
	told  Told  // how it stands to the first one's verdict
}

// heard says whether a voice is about the same claim, and was measured.
func (v *voice) heard() bool { return v.told != Missing && v.told != Changed }

// An outcome is what all machines say of a claim.
type outcome struct {
	word   stats.Word
	claim  Claim   // that of the machine whose verdict it is
	by     *voice  // that machine; nil: the first
	voices []voice // all others, in their order
	both   bool    // two machines decide
}

// machineless says whether a claim is about something that is the same on every machine: code, or
// what can be built. Another machine's verdict on it is no second measurement.
func machineless(c Claim) bool {
	return c.Metric == manifest.Lines || c.Kind == manifest.KindBuilds
}

// outcome holds a claim of the first machine against the others.
func (s *Set) outcome(c Claim) outcome {
	o := outcome{word: c.Word, claim: c}
	if machineless(c) && Decided(c.Word) {
		return o
	}
	decided := []stats.Word{}
	if Decided(c.Word) {
		decided = append(decided, c.Word)
	}
	for _, other := range s.Others {
		v := other.voice(c)
		o.voices = append(o.voices, v)
		if v.heard() && Decided(v.claim.Word) {
			decided = append(decided, v.claim.Word)
		}
	}
	o.both = len(decided) > 1 && !machineless(c)
	if !Decided(c.Word) {
		o.speak()
	}
	if o.both && slices.Contains(decided, stats.Reproduced) &&
		slices.Contains(decided, stats.NotReproduced) {
		o.word = Contradicted
	}
	return o
}

// speak gives a claim that the first machine does not decide the verdict of the next one that does,
// and one that it has not measured at least the open one of a machine that has.
func (o *outcome) speak() {
	i := slices.IndexFunc(o.voices, func(v voice) bool {
		return v.heard() && Decided(v.claim.Word)
	})
	if i < 0 && silent(o.word) {
		i = slices.IndexFunc(o.voices, func(v voice) bool { return v.heard() })
	}
	if i >= 0 {
		o.by = &o.voices[i]
		o.word, o.claim = o.by.claim.Word, o.by.claim
	}
}

// voice is what a machine says of a claim of the first one.
func (o Other) voice(c Claim) voice {
	y, found := o.claim(c.Source, c.ID)
	v := voice{Other: o, claim: y}
	switch {
	case !found || silent(y.Word):
		v.told = Missing
	case c.Experiment != y.Experiment || !sameClaim(&c, &y):
		v.told = Changed
	default:
		v.told = toldWords(c.Word, y.Word)
	}
	return v
}

// by are the labels of the machines that give a claim a verdict.
func (s *Set) by(c Claim, o outcome, word stats.Word) []string {
	var out []string
	if c.Word == word {
		out = append(out, s.firstLabel())
	}
	for _, v := range o.voices {
		if v.heard() && v.claim.Word == word {
			out = append(out, s.label(v.Other))
		}
	}
	return out
}

// An agreement counts how far the machines agree on some claims.
type agreement struct {
	claims, decided     int
	both, agree, differ int // decided by two machines
	alone               int // decided by one machine, and not by the first
	machineless         int // decided, and the same on every machine
}

// single counts the claims that one machine alone decides, the first one or another.
func (a agreement) single() int { return a.decided - a.both - a.machineless }

func (s *Set) agreement(claims []Claim) agreement {
	a := agreement{claims: len(claims)}
	for _, c := range claims {
		o := s.outcome(c)
		if !Decided(o.word) && o.word != Contradicted {
			continue
		}
		a.decided++
		switch {
		case o.word == Contradicted:
			a.both, a.differ = a.both+1, a.differ+1
		case machineless(c):
			a.machineless++
		case o.both:
			a.both, a.agree = a.both+1, a.agree+1
		case o.by != nil:
			a.alone++
		}
	}
	return a
}

// Stands says how the verdicts of a machine beside the first stand to its verdicts.
func (s *Set) Stands(name string) string {
	n := map[Told]int{}
	for _, c := range s.Claims {
		for _, v := range s.outcome(c).voices {
			if v.Name != name || machineless(c) || v.told == OneOnly && !Decided(v.claim.Word) {
				continue
			}
			n[v.told]++
		}
	}
	return fmt.Sprintf("it agrees with the first machine on %s, disagrees on %d, and decides %d "+
		"that the first one does not decide", quantity.Many(n[Agree], "claim"), n[Differ],
		n[OneOnly])
}

// tally is the sentence that counts verdicts.
func (s *Set) tally(claims []Claim) string {
	n, ours := map[stats.Word]int{}, 0
	for _, c := range claims {
		n[s.outcome(c).word]++
		if c.Ours {
			ours++
		}
	}
	var parts []string
	for _, w := range outcomes {
		switch {
		case n[w] == 0:
		case w == Contradicted:
			parts = append(parts, fmt.Sprintf("%d on which machines disagree", n[w]))
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n[w], w))
		}
	}
	text := quantity.Many(len(claims), "claim")
	if ours > 0 {
		text += fmt.Sprintf(", %d of them our own", ours)
	}
	return plain(text + ": " + strings.Join(parts, ", ") + ".")
}
