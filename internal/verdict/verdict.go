// Package verdict holds an experiment's claims against the cells of a run: it pairs the cells of a
// round, forms the ratios that a claim is about, and asks package stats for the finding.
//
// It does no I/O, so a record of years ago gives the same verdicts today.
package verdict

import (
	"fmt"
	"slices"

	"interleave/internal/manifest"
	"interleave/internal/quantity"
	"interleave/internal/stats"
)

// A Verdict is what this machine says of one claim.
type Verdict struct {
	Experiment  string
	Claim       manifest.Claim
	Word        stats.Word
	Sentence    string   // "Here, 12 of 12 rounds, ... Reproduced."
	Reason      string   // why it is not decided; empty otherwise
	Cautions    []string // what a reader has to know beside the word
	Condition   manifest.Condition
	Finding     stats.Finding // of the claim as a whole; zero where nothing was compared
	Parts       []Part        // the comparisons that it rests on, in the order of the axis
	Differences []string      // of set-up, the source's and ours

	// Looked is the number of the round that decided it; 0 if none did. Later rounds do not take
	// the word back.
	Looked int
	// Edge says that the claim is given up: further rounds would not decide it. Reason says why.
	Edge bool
}

// Decided says whether the claim has a word that no further round changes.
func (v *Verdict) Decided() bool {
	return v.Word == stats.Reproduced || v.Word == stats.NotReproduced
}

// Open are the series that further rounds have to measure for the claim to be decided: those of
// its comparisons that do not hold yet. There are none if it is decided, given up or silent.
func (v *Verdict) Open() []Series {
	if v.Decided() || v.Edge || v.Silent() {
		return nil
	}
	var out []Series
	for _, p := range v.Parts {
		// the parts of a flat curve show each point against the first, and all pairs decide
		if p.Finding.Word == stats.Reproduced && v.Claim.Shape != "flat" {
			continue
		}
		for _, r := range p.rests {
			if s := (Series{r.point, r.condition, r.model}); !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	return out
}

// Silent says whether the verdict tells nothing of this machine.
func (v *Verdict) Silent() bool {
	return v.Word == stats.NotComparable || v.Word == stats.NotMeasured
}

// Told is the verdict as readers are told it: a claim of which no round counts was not measured,
// for there is nothing that an interval could be inconclusive about. Whoever plans further rounds
// has to know what was tried in vain, and asks the verdict itself.
func (v Verdict) Told() Verdict {
	if v.Word != stats.Inconclusive || len(v.Parts) == 0 {
		return v
	}
	void := 0
	for _, p := range v.Parts {
		if p.Finding.Rounds > 0 || p.Void == 0 {
			return v
		}
		void = max(void, p.Void)
	}
	v.Word = stats.NotMeasured
	v.Reason = fmt.Sprintf("it was tried in %s, and nothing of that counts: the machine was not "+
		"quiet, or a gate voided the cells", quantity.Many(void, "round"))
	v.Sentence = sentence(v.Word, v.Reason)
	return v
}

// A Part is one comparison: a ratio of two cells of a round at a point, a slope over the sweep, or
// a crossing.
type Part struct {
	Name      string  // "connections = 64", "slope over connections"
	X         float64 // the point's place on the axis; NaN if it has none
	Unit      string  // "ratio", "slope", ofMean, or the axis' own for a crossing
	Rounds    []int   // the rounds that count
	Values    []float64
	Finding   stats.Finding // its word is empty where a part is shown and decides nothing
	Published float64       // NaN if the source gives none
	// the region that reproduces the claim, in Unit; an open side is 0 or +Inf
	Accept [2]float64
	Void   int // rounds left out because a gate voided a cell

	rests []place // the cells that it is computed from
}

// ofMean is the unit of what a difference of two models gains: a part of the mean of both.
const ofMean = "of the mean"

// A Row is one model at one point under one condition: what tables and sweeps show.
type Row struct {
	Point     string
	X         float64
	Condition manifest.Condition
	Service   string
	Model     string
	Twin      bool // the baseline's second cell: A against A
	Metric    manifest.Metric
	Values    []float64 // one for each measured round
	Rounds    []int
	Centre    stats.Interval // Hodges-Lehmann centre of Values, 95 %, in the metric's unit
	// against the baseline of the same rounds, 95 %; the baseline's own is 1
	Ratio  stats.Interval
	Ratios []float64 // by round, against the baseline; a round without either is left out
	Void   int
	Labels map[string]int // label -> rounds that bear it
}
