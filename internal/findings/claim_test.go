package findings

import (
	"math"
	"slices"
	"strings"
	"testing"

	"interleave/internal/manifest"
	"interleave/internal/stats"
	"interleave/internal/verdict"
)

var inf = math.Inf(1)

// TestPublished: a column has the source's figures, and none of our thresholds.
func TestPublished(t *testing.T) {
	for _, c := range []struct {
		name   string
		claim  manifest.Claim
		accept Range
		want   Range
	}{
		{"a size", manifest.Claim{Kind: "magnitude", Published: 3.16}, Range{2.528, 3.95},
			Range{3.16, 3.16}},
		{"an amount", manifest.Claim{Kind: "absolute", Published: 32768}, Range{26210, 40960},
			Range{32770, 32770}},
		{"a size beside a direction", manifest.Claim{Kind: "direction", Published: .71},
			Range{0, .9524}, Range{.71, .71}},
		{"at least", manifest.Claim{Kind: "direction", Published: 4}, Range{4, inf}, Range{}},
		{"between two", manifest.Claim{Kind: "magnitude", Published: 5.83,
			Sentence: "Threads take 4 times at least and 8.5 times at most as long."},
			Range{3.999, 8.5}, Range{4, 8.5}},
		{"one of two is in the sentence", manifest.Claim{Kind: "magnitude", Published: 5,
			Sentence: "About 4 times."}, Range{4, 6.25}, Range{5, 5}},
		{"a bound", manifest.Claim{Kind: "bound", Published: 99}, Range{99.49, inf}, Range{}},
		{"the same", manifest.Claim{Kind: "equality", Published: 1}, Range{.9, 1.1}, Range{}},
		{"a shape", manifest.Claim{Kind: "shape", Published: 1}, Range{.8, 1.25}, Range{}},
		{"ours", manifest.Claim{Kind: "magnitude", Published: 5, Ours: true}, Range{4, 6.25},
			Range{}},
		{"none", manifest.Claim{Kind: "magnitude"}, Range{0, inf}, Range{}},
	} {
		if got := published(c.claim, c.accept); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// compared is a finding of a ratio that is open after six rounds and so many void ones.
func compared(void int) stats.Finding {
	return stats.Finding{Word: stats.Inconclusive, Rounds: 6, Voided: void, Estimate: .9,
		Interval95: stats.Interval{Estimate: .9, Lower: .8, Upper: 1, Level: .95, Attained: .95},
		Accept:     [2]float64{.8, 1.25}}
}

// TestTheDecidingRowIsThere: a flat curve is shown against its first point, and decided by a pair
// of others. Cautions of pairs without a row are counted.
func TestTheDecidingRowIsThere(t *testing.T) {
	v := verdict.Verdict{Claim: manifest.Claim{ID: "E8", Kind: "shape", Shape: "flat"},
		Word: stats.Inconclusive, Sentence: "Inconclusive.",
		Cautions: []string{"2 against 1: resembles", "3 against 2: resembles",
			"3 against 1: resembles", "the machine was busy: twice"}}
	v.Finding = compared(0)
	v.Finding.Weakest = "3 against 2"
	for _, name := range []string{"2 against 1", "3 against 1", "3 against 2", "4 against 3"} {
		v.Finding.Parts = append(v.Finding.Parts,
			stats.Part{Name: name, Finding: compared(1)})
	}
	v.Cautions = append(v.Cautions, "4 against 3: resembles", "4 against 3: decided early")
	for _, name := range []string{"2 against 1", "3 against 1"} {
		v.Parts = append(v.Parts, verdict.Part{Name: name, Unit: "ratio", Void: 1,
			Finding: compared(1)})
	}
	c := claimOf("eve", v)
	last := c.Parts[len(c.Parts)-1]
	if len(c.Parts) != 3 || last.Name != "3 against 2" || last.Unit != "ratio" ||
		last.Rounds != 6 || last.Void != 1 || last.Estimate != (Span{.9, .8, 1}) {
		t.Errorf("the rows are %+v", c.Parts)
	}
	want := []string{"2 against 1: resembles", "3 against 2: resembles", "3 against 1: resembles",
		"the machine was busy: twice", "2 cautions of comparisons that the table leaves out"}
	if !slices.Equal(c.Cautions, want) {
		t.Errorf("got the cautions %q, want %q", c.Cautions, want)
	}
	if here, _, _ := headline(c); here != "0.90 (0.80–1.00)" {
		t.Errorf("the claim stands at %s", here)
	}
}

// TestNamesOfClaims: the same name in two sources gets the source's letter, with all of its kind.
func TestNamesOfClaims(t *testing.T) {
	f := &Figures{Claims: []Claim{{Source: "go-c10k", ID: "G1"}, {Source: "go-c10k", ID: "H1"},
		{Source: "threads-fibers", ID: "H1"}, {Source: "threads-fibers", ID: "H7"},
		{Source: "other", ID: "H2"}}}
	var got []string
	for _, c := range f.Claims {
		got = append(got, f.link(c))
	}
	want := "[G1](go-c10k.md#g1) [G-H1](go-c10k.md#g-h1) [T-H1](threads-fibers.md#t-h1) " +
		"[T-H7](threads-fibers.md#t-h7) [other-H2](other.md#other-h2)"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("got %s, want %s", s, want)
	}
	if got := f.refer("go-c10k", "see H1 and G1, not H7 or XH1"); got !=
		"see G-H1 and G1, not H7 or XH1" {
		t.Errorf("got %q", got)
	}
}

// TestUnitsOfATable: a figure, the published one and the region are in one unit, and a ratio has
// the digits that its sentence has.
func TestUnitsOfATable(t *testing.T) {
	p := Part{Unit: "bytes", Estimate: Span{27030, 27010, 27050}, Published: Range{32770, 32770},
		Accept: Range{26210, 40960}}
	got := strings.Join([]string{figure(p.Estimate, p.Unit), publishedCell(p),
		region(p.Accept, p.Unit)}, "; ")
	if want := "26.4 (26.4–26.4) KiB; 32.0 KiB; 25.6 KiB to 40.0 KiB"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, c := range []struct {
		span Span
		want string
	}{{Span{.9116, .7407, 1.363}, "0.91 (0.74–1.36)"}, {Span{1.413, 1.412, 1.416},
		"1.413 (1.412–1.416)"}, {Span{12.34, 12, 13}, "12.3 (12.0–13.0)"}, {none, "–"},
		{Span{.0909, math.Inf(-1), inf}, "0.09"}} {
		if got := figure(c.span, "ratio"); got != c.want {
			t.Errorf("%v: got %s, want %s", c.span, got, c.want)
		}
	}
	threads := Part{Unit: "threads", Estimate: Span{6, 6, 6.48}, Accept: Range{1.05, inf}}
	got = figure(threads.Estimate, threads.Unit) + "; " + region(threads.Accept, threads.Unit) +
		"; " + region(Range{480, 750}, "pingers") + "; " + region(Range{0, 95.2}, "threads")
	if want := "6.00 (6.00–6.48) threads; above 1.05 threads; 480 to 750 pingers; below 95.2 " +
		"threads"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := publishedCell(Part{Unit: "ratio", Published: Range{4, 8.5}}); got != "4.00 to 8.50" {
		t.Errorf("got %s", got)
	}
}

// rows are models with one value for each round; a missing round is 0.
func rows(values map[string][]float64) (out []verdict.Row) {
	for _, name := range []string{"a", "b", "c", "d"} {
		r := verdict.Row{Model: name}
		for i, v := range values[name] {
			if v > 0 {
				r.Rounds, r.Values = append(r.Rounds, i+1), append(r.Values, v)
			}
		}
		if r.Centre = stats.HodgesLehmann(r.Values, .95); len(r.Values) > 0 {
			out = append(out, r)
		}
	}
	return out
}

// TestTheBestIsTheBest: models that were not measured in the same rounds are compared within those
// that they share, and one that shares too few is not told apart, with the reason.
func TestTheBestIsTheBest(t *testing.T) {
	s := series{Table: Table{Service: "ping", Metric: manifest.LatencyP99}, rows: rows(
		map[string][]float64{
			"a": {10, 10, 10, 10, 10, 10, 0, 0, 0, 0, 0, 0}, // quick, in quick rounds
			"b": {8, 8, 8, 8, 8, 8, 16, 16, 16, 16, 16, 16}, // quicker than a
			"c": {12, 12, 12, 12, 12, 12},
			"d": {0, 0, 0, 0, 1, 1}, // hardly measured
		})}
	c := s.choice("p99", nil)
	var got []string
	for _, p := range c.Models {
		got = append(got, p.Model+" "+string(p.Group))
	}
	if s := strings.Join(got, ", "); s != "b level, d open, a behind, c behind" {
		t.Errorf("got %s", s)
	}
	if want := "d (fewer than 6 rounds in common with b)"; untold(c) != want {
		t.Errorf("not told apart: got %q, want %q", untold(c), want)
	}
	if got := times(c, c.Models[1]); got != "0.12 of 2 rounds" {
		t.Errorf("the one that was hardly measured: %s", got)
	}
	if c := s.choice("p99", map[string]string{"b": "a", "c": "x"}); len(c.Models) != 3 ||
		c.Models[0].Model != "a" {
		t.Errorf("without the variant of a: %+v", c.Models)
	}
	cold := s
	cold.cold, cold.Condition = true, manifest.Own
	if s.rank(c) <= cold.rank(c) {
		t.Error("fresh servers on cores of their own answer before warm ones on shared cores")
	}
	alone := series{rows: rows(map[string][]float64{"a": {1, 1, 1, 1, 1, 1}, "d": {1, 1}})}
	if rank := alone.rank(alone.choice("p99", nil)); rank != 0 {
		t.Errorf("a choice of one model has the rank %d", rank)
	}
}

// TestTheHeadOfAClaim: which of several comparisons stands for it.
func TestTheHeadOfAClaim(t *testing.T) {
	for _, c := range []struct {
		name  string
		claim Claim
		want  string
	}{
		{"the only one", Claim{Parts: []Part{{Name: "a"}}}, "a"},
		{"the one that decides", Claim{Weakest: "b", Parts: []Part{{Name: "a"}, {Name: "b"}}}, "b"},
		{"the best", Claim{Sentence: "A served 2x b's, b being the best of the others.",
			Parts: []Part{{Name: "a"}, {Name: "b"}}}, "b"},
		{"the crossing", Claim{Parts: []Part{{Name: "crossing", Word: stats.Inconclusive},
			{Name: "a"}}}, "crossing"},
		{"none of two", Claim{Parts: []Part{{Name: "a"}, {Name: "b"}}}, ""},
		{"no part", Claim{}, ""},
	} {
		if p, found := c.claim.head(); p.Name != c.want || found != (c.want != "") {
			t.Errorf("%s: got %q, want %q", c.name, p.Name, c.want)
		}
	}
}
