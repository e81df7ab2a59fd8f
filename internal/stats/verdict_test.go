package stats

// The rules by example: each case is a set of rounds whose intervals are known, and the word
// that they must get.

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// spread is n log ratios evenly about ln(centre), the outermost off by the factor 1+width.
func spread(n int, centre, width float64) Sample {
	values := make([]float64, n)
	for i := range values {
		values[i] = math.Log(centre) + math.Log1p(width)*(2*float64(i)/float64(n-1)-1)
	}
	// Far from near: neighbours in time should not be neighbours in size, or Lag1 warns.
	for i := 0; i+n/2 < n; i += 2 {
		values[i], values[i+n/2] = values[i+n/2], values[i]
	}
	return Sample{Values: values}
}

func voided(s Sample, n int) Sample {
	s.Voided = n
	return s
}

func TestRules(t *testing.T) {
	const n = 12
	tests := []struct {
		name   string
		got    Finding
		word   Word
		reason string // a part of it; "" wants none
		agree  int
	}{
		{"direction: clear", Direction(spread(n, 1.42, .1), Greater, 0), Reproduced, "", n},
		{"direction: clear, less", Direction(spread(n, .7, .1), Less, 0), Reproduced, "", n},
		{"direction: opposite", Direction(spread(n, .8, .1), Greater, 0), NotReproduced,
			"other way round", 0},
		{"direction: opposite, less", Direction(spread(n, 1.25, .1), Less, 0), NotReproduced,
			"other way round", 0},
		{"direction: small but seen", Direction(spread(n, 1.03, .01), Greater, 0), Inconclusive,
			"agrees, but the effect is below the 5 %", n},
		{"direction: none", Direction(spread(n, 1, .02), Greater, 0), Inconclusive,
			"any effect in this direction is below the 5 %", n / 2},
		{"direction: at the bar", Direction(spread(n, 1.05, .01), Greater, 0), Inconclusive,
			"edge of the 5 %", n},
		{"direction: wide", Direction(spread(n, 1.1, .5), Greater, 0), Inconclusive, "too wide", 7},
		{"direction: no sense", Direction(spread(n, 2, .1), "more", 0), Inconclusive,
			`"more", neither`, 0},
		{"direction: effect below 1", Direction(spread(n, 2, .1), Less, .9), Inconclusive,
			"0.9, below 1", 0},

		{"at least: more", AtLeast(spread(n, 6, .1), 4), Reproduced, "", n},
		{"at least: less", AtLeast(spread(n, 1.13, .05), 4), NotReproduced,
			"direction reproduced, size not", 0},
		{"at least: nothing", AtLeast(spread(n, 1, .05), 4), NotReproduced,
			"smaller than claimed", 0},
		{"at least: opposite", AtLeast(spread(n, .8, .05), 4), NotReproduced,
			"other way round", 0},
		{"at least: as many", AtLeast(spread(n, 4, .1), 4), Inconclusive,
			"edge of what is claimed", n / 2},
		{"at least: of nothing", AtLeast(spread(n, 4, .1), 0), Inconclusive, "not above", 0},

		{"magnitude: as published", Magnitude(spread(n, 1.45, .1), 1.5, 0), Reproduced, "", n},
		{"magnitude: too small", Magnitude(spread(n, 1.1, .05), 1.5, 0), NotReproduced,
			"direction reproduced, size not", 0},
		{"magnitude: too small, below 1", Magnitude(spread(n, .9, .05), .5, 0), NotReproduced,
			"direction reproduced, size not", 0},
		{"magnitude: other side", Magnitude(spread(n, .8, .05), 1.5, 0), NotReproduced,
			"other way round", 0},
		{"magnitude: nothing there", Magnitude(spread(n, 1, .05), 1.5, 0), NotReproduced,
			"outside the margin", 0},
		{"magnitude: at the edge", Magnitude(spread(n, 1.5*1.25, .05), 1.5, 0), Inconclusive,
			"edge of the margin", n / 2},
		{"magnitude: wide", Magnitude(spread(n, 1.5, .9), 1.5, 0), Inconclusive, "too wide", 4},
		{"magnitude: bad margin", Magnitude(spread(n, 1.5, .1), 1.5, .8), Inconclusive,
			"margin is 0.8", 0},
		{"magnitude: bad ratio", Magnitude(spread(n, 1.5, .1), -1, 0), Inconclusive,
			"published number is -1", 0},

		{"equality: equal", Equality(spread(n, 1.02, .05), 0), Reproduced, "", n},
		{"equality: not", Equality(spread(n, 1.3, .05), 0), NotReproduced, "outside the margin", 0},

		{"absolute: same", Absolute(spread(n, 33, .1), 32, 0, false), Reproduced, "", n},
		{"absolute: other machine", Absolute(spread(n, 12, .1), 32, 0, false), NotComparable,
			"other hardware", 0},
		{"absolute: portable", Absolute(spread(n, 12, .1), 32, 0, true), NotReproduced,
			"outside the margin", 0},
		{"absolute: at the edge", Absolute(spread(n, 40, .05), 32, 0, false), Inconclusive, "edge",
			n / 2},

		{"bound: above", Bound(spread(n, 5, .1), Greater, 4, 0), Reproduced, "", n},
		{"bound: below", Bound(spread(n, 3, .1), Greater, 4, 0), NotReproduced,
			"other way round", 0},
		{"bound: below, less", Bound(spread(n, 3, .1), Less, 4, 0), Reproduced, "", n},
		{"bound: barely", Bound(spread(n, 4.1, .01), Greater, 4, 0), Inconclusive,
			"below the 5 %", n},

		{"no worse: equal", NonInferiority(spread(n, 1, .05), Less, 0), Reproduced, "", n},
		{"no worse: better", NonInferiority(spread(n, .5, .05), Less, 0), Reproduced, "", n},
		{"no worse: worse", NonInferiority(spread(n, 1.3, .05), Less, 0), NotReproduced,
			"worse by more", 0},
		{"no worse: less of what is good", NonInferiority(spread(n, .7, .05), Greater, 0),
			NotReproduced, "worse by more", 0},
		{"no worse: more of what is good", NonInferiority(spread(n, 1.7, .05), Greater, 0),
			Reproduced, "", n},
		{"no worse: at the edge", NonInferiority(spread(n, 1.1, .01), Less, 0), Inconclusive,
			"edge of the margin", n / 2},
		{"no worse: wide", NonInferiority(spread(n, 1.1, .5), Less, 0), Inconclusive, "too wide",
			n / 2},
		{"no worse: no side", NonInferiority(spread(n, 1, .01), "", 0), Inconclusive,
			"neither less nor greater", 0},

		{"growth: linear", Growth(ratios(spread(n, .95, .05)), 1, 0), Reproduced, "", n},
		{"growth: root", Growth(ratios(spread(n, .5, .05)), 1, 0), NotReproduced,
			"outside the margin", 0},
		{"growth: falling", Growth(ratios(spread(n, .5, .05)).negated(), 1, 0), NotReproduced,
			"outside the margin", 0},
		{"steepens: twice", Steepens(ratios(spread(n, 2, .1)), 0), Reproduced, "", n},
		{"steepens: flatter", Steepens(ratios(spread(n, .7, .1)), 0), NotReproduced, "other way",
			0},
		{"steepens: a little", Steepens(ratios(spread(n, 1.1, .02)), 0), Inconclusive,
			"below the 25 %", n},
		{"gains: a tenth", Gains(ratios(spread(n, .1, .02)), Greater, 0), Reproduced, "", n},
		{"gains: a little", Gains(ratios(spread(n, .02, .01)), Greater, 0), Inconclusive,
			"below the 5 %", n},
		{"gains: loses", Gains(ratios(spread(n, .1, .02)).negated(), Greater, 0), NotReproduced,
			"other way round", 0},
		{"loses: loses", Gains(ratios(spread(n, .1, .02)).negated(), Less, 0), Reproduced, "", n},
		{"gains: no side", Gains(ratios(spread(n, .1, .02)), "more", 0), Inconclusive,
			"neither less nor greater", 0},
		{"flattens: to half", Flattens(ratios(spread(n, .5, .1)), 0), Reproduced, "", n},
		{"flattens: falls", Flattens(ratios(spread(n, .5, .1)).negated(), 0), Reproduced, "", n},
		{"flattens: steeper", Flattens(ratios(spread(n, 1.5, .1)), 0), NotReproduced, "other way",
			0},
		{"flattens: a little", Flattens(ratios(spread(n, .9, .02)), 0), Inconclusive,
			"below the 20 %", n},

		{"five rounds", Direction(spread(5, 3, .01), Greater, 0), Inconclusive,
			"5 rounds cannot carry", 5},
		{"one round", Direction(Sample{Values: []float64{1}}, Greater, 0), Inconclusive,
			"1 round cannot carry", 1},
		{"no rounds", Direction(Sample{}, Greater, 0), Inconclusive, "no round was measured", 0},
		{"all voided", Direction(voided(Sample{}, 12), Greater, 0), Inconclusive,
			"12 of 12 rounds do not count", 0},
		{"a quarter voided", Direction(voided(spread(9, 3, .01), 3), Greater, 0), Reproduced, "",
			9},
		{"more than a quarter", Direction(voided(spread(11, 3, .01), 4), Greater, 0), Inconclusive,
			"4 of 15 rounds do not count", 11},
		{"NaN is voided", Direction(Sample{Values: []float64{nan, nan, nan, 1, 1, 1, 1, 1, 1}},
			Greater, 0), Inconclusive, "3 of 9 rounds", 6},
	}
	for _, tt := range tests {
		checkFinding(t, tt.name, tt.got, tt.word, tt.reason)
		if tt.got.RoundsAgreeing != tt.agree {
			t.Errorf("%s: %d rounds agree, want %d", tt.name, tt.got.RoundsAgreeing, tt.agree)
		}
	}
}

func checkFinding(t *testing.T, name string, got Finding, word Word, reason string) {
	t.Helper()
	if got.Word != word || !strings.Contains(got.Reason, reason) ||
		reason == "" && got.Reason != "" {
		t.Errorf("%s: got %s (%s), want %s (%s); 95 %% %.3f to %.3f",
			name, got.Word, got.Reason, word, reason, got.Interval95.Lower, got.Interval95.Upper)
	}
	if (got.Word == Reproduced) != (got.P <= Alpha) {
		t.Errorf("%s: %s with p = %g", name, got.Word, got.P)
	}
	if got.Word == NotReproduced && got.PAgainst > Alpha {
		t.Errorf("%s: %s with p against = %g", name, got.Word, got.PAgainst)
	}
	if got.Word != Inconclusive && got.NeedRounds != 0 {
		t.Errorf("%s: %s, but needs %d rounds", name, got.Word, got.NeedRounds)
	}
}

func TestNumbersOfFinding(t *testing.T) {
	f := Direction(spread(12, .5, .1), Less, 1.10)
	if math.Abs(f.Estimate-.5) > 1e-12 || f.Interval95.Lower >= .5 || f.Interval95.Upper <= .5 ||
		f.Interval95.Upper > .6 {
		t.Errorf("estimate %g, interval %+v: want .5 inside, as a ratio", f.Estimate, f.Interval95)
	}
	if f.Interval90.HalfWidth() >= f.Interval95.HalfWidth() {
		t.Error("the 90 % interval is not the narrower")
	}
	if f.Accept != [2]float64{0, 1 / 1.10} || f.Sense != Less || f.Rounds != 12 {
		t.Errorf("accept %v, sense %s, rounds %d", f.Accept, f.Sense, f.Rounds)
	}
	for _, tt := range []struct {
		name string
		got  Finding
		need int
	}{
		{"too few", Equality(spread(4, 1, .01), 0), 2},
		{"voided", Equality(voided(spread(12, 1, .01), 5), 0), 3}, // 15 good ones to 5
		{"wide", Magnitude(spread(12, 1.5, .5), 1.5, 0), 16},
		{"too wide for all looks", Magnitude(spread(12, 1.5, 9), 1.5, 0), 0},
	} {
		if tt.got.NeedRounds != tt.need {
			t.Errorf("%s: needs %d rounds, want %d", tt.name, tt.got.NeedRounds, tt.need)
		}
	}
}

func TestCautionAboutDrift(t *testing.T) {
	drifting := Sample{Values: []float64{.1, .2, .3, .4, .5, .6, .7, .8, .9, 1}}
	if f := Direction(drifting, Greater, 0); len(f.Cautions) != 1 ||
		!strings.Contains(f.Cautions[0], "lag-1 0.70") {
		t.Errorf("cautions %q, want one about lag-1 0.70", f.Cautions)
	}
}

func TestAll(t *testing.T) {
	part := func(name string, f Finding) Part { return Part{name, f} }
	holds := func(n int) Finding { return Direction(spread(n, 2, .1), Greater, 0) }
	fails := func(n int) Finding { return Direction(spread(n, .5, .1), Greater, 0) }
	open := Direction(spread(12, 1.1, .5), Greater, 0)
	foreign := Absolute(spread(12, 12, .1), 32, 0, false)
	tests := []struct {
		name    string
		parts   []Part
		word    Word
		reason  string
		weakest string
	}{
		{"all hold", []Part{part("a", holds(12)), part("b", holds(12))}, Reproduced, "", "a"},
		{"one open", []Part{part("a", holds(12)), part("b", open)}, Inconclusive,
			"b: the interval is too wide", "b"},
		{"one fails", []Part{part("a", open), part("b", fails(12)), part("c", holds(12))},
			NotReproduced, "b: it is the other way round", "b"},
		{"one fails in too few rounds", []Part{part("a", fails(6)), part("b", holds(6))},
			Inconclusive, "a fails alone, but one of 2 may by luck", "a"},
		{"one cannot be compared", []Part{part("a", open), part("b", foreign)}, NotComparable,
			"b: outside the margin", "b"},
		{"failing outweighs foreign", []Part{part("a", fails(12)), part("b", foreign)},
			NotReproduced, "a: ", "a"},
		{"nothing", nil, Inconclusive, "nothing to compare", ""},
	}
	for _, tt := range tests {
		got := All(KindShape, tt.parts)
		checkFinding(t, tt.name, got, tt.word, tt.reason)
		if got.Weakest != tt.weakest {
			t.Errorf("%s: weakest is %q, want %q", tt.name, got.Weakest, tt.weakest)
		}
	}
	if f := All(KindShape, tests[3].parts); f.NeedRounds != 1 { // 2*2/2^7 = .03
		t.Errorf("six rounds of two: need %d more, want 1", f.NeedRounds)
	}
}

func TestFlat(t *testing.T) {
	around := func(centre float64) []float64 { return ratios(spread(12, centre, .05)).Values }
	a := around(1)
	level := Sweep{X: []float64{0, 50, 100}, Y: [][]float64{a, a, around(1.05)}}
	flat := Flat(level, 0)
	checkFinding(t, "flat", flat, Reproduced, "")
	if len(flat.Parts) != 3 || flat.Parts[1].Name != "100 against 0" {
		t.Errorf("parts of flat: %d, second %q", len(flat.Parts), flat.Parts[1].Name)
	}
	level.Y[2] = around(2)
	checkFinding(t, "not flat", Flat(level, 0), NotReproduced, "100 against ")
}

func TestFindingJSON(t *testing.T) {
	text, err := json.Marshal([]Finding{Direction(spread(12, 2, .1), Greater, 0),
		All(KindShape, nil), Flattens(Sample{}, 0)})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"word":"reproduced"`, `"accept":[1.05,null]`, `"estimate":null`,
		`"accept":[null,0.8]`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s\nlacks %s", text, want)
		}
	}
}
