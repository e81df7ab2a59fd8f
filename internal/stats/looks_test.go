package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// drawn is a run of so many rounds, in standard deviations of a round.
func drawn(r *rand.Rand, n int, centre, share, correlation float64) []float64 {
	x := make([]float64, n)
	v := r.NormFloat64()
	for i := range x {
		v = correlation*v + math.Sqrt(1-correlation*correlation)*r.NormFloat64()
		x[i] = centre + v
		if r.Float64() < share {
			x[i] += 5 * r.NormFloat64()
		}
	}
	return x
}

// rejected is the number of rounds after which a look finds the centre above 0, or 0: the same as
// look with this zone, by counting.
func rejected(x []float64) int {
	sum := 0
	for i, v := range x[:min(len(x), LastLook)] {
		for _, other := range x[:i+1] {
			if other+v < 0 {
				sum++
			}
		}
		if sum <= criticalAt(0, i+1) {
			return i + 1
		}
	}
	return 0
}

func TestLookCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 11))
	for range 500 {
		x := drawn(r, LastLook, r.Float64(), .1, 0)
		l := look(Sample{Values: x}, newNumbers(x), zone{0, math.Inf(1), math.Inf(-1), math.Inf(1)})
		if want := rejected(x); l.round != want {
			t.Fatalf("decided at round %d, by counting at %d: %v", l.round, want, x)
		}
	}
}

// TestCorrelatedRounds holds the promise where the table's own does not: with rounds that resemble
// their neighbours, a word is wrong on one side in at most 5 % of runs up to a correlation of .2.
func TestCorrelatedRounds(t *testing.T) {
	const runs = 20_000
	for _, tt := range []struct{ correlation, least, most float64 }{
		{0, .017, .0215}, {.1, .024, .036}, {.2, .036, .05}, {.3, .055, .08},
	} {
		r := rand.New(rand.NewPCG(3, 3))
		wrong := 0
		for range runs {
			if rejected(drawn(r, LastLook, 0, 0, tt.correlation)) > 0 {
				wrong++
			}
		}
		if share := float64(wrong) / runs; share < tt.least || share > tt.most {
			t.Errorf("correlation %g: wrong in %.2f %% of runs, want %g to %g", tt.correlation,
				100*share, 100*tt.least, 100*tt.most)
		}
	}
}

// TestRoundsToDecision holds the table of docs/method.md.
func TestRoundsToDecision(t *testing.T) {
	const runs = 4000
	var table strings.Builder
	fmt.Fprintln(&table, "| distance from the edge | rounds in the mean, normal noise "+
		"| decided by 12 | by 30 | 10 % disturbed: in the mean | by 12 | by 30 |")
	fmt.Fprintln(&table, "|---|---|---|---|---|---|---|")
	for _, effect := range []float64{.5, 1, 1.5, 2, 3} {
		fmt.Fprintf(&table, "| %g sd |", effect)
		for _, share := range []float64{0, .1} {
			r := rand.New(rand.NewPCG(8, 8))
			sum, by12, by30 := 0, 0, 0
			for range runs {
				rounds := rejected(drawn(r, LastLook, effect, share, 0))
				if rounds == 0 {
					rounds = LastLook
				}
				if sum += rounds; rounds <= 12 {
					by12++
				}
				if rounds <= 30 {
					by30++
				}
			}
			percent := func(n int) int { return int(math.Round(100 * float64(n) / runs)) }
			fmt.Fprintf(&table, " %.1f | %d %% | %d %% |", float64(sum)/runs, percent(by12),
				percent(by30))
		}
		fmt.Fprintln(&table)
	}
	text, err := os.ReadFile("../../docs/method.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), table.String()) {
		t.Errorf("docs/method.md lacks this table:\n%s", table.String())
	}
}

// TestBoundaryOfTheDocs holds the other table of docs/method.md.
func TestBoundaryOfTheDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/method.md")
	if err != nil {
		t.Fatal(err)
	}
	for tens := 0; tens <= LastLook; tens += 10 {
		row := fmt.Sprintf("| %d |", tens)
		for n := tens; n < tens+10; n++ {
			if n >= MinRounds && n <= LastLook {
				row += fmt.Sprintf(" %d", criticalAt(0, n))
			}
			row += " |"
		}
		if !strings.Contains(string(text), row+"\n") {
			t.Errorf("docs/method.md lacks the row %s", row)
		}
	}
}

// TestGivenUpInTime looks at truths from the edge to where most runs decide. Of runs that would be
// decided by the last look, few may be given up; at the edge itself, most should be, early.
func TestGivenUpInTime(t *testing.T) {
	const runs = 1000
	margin := within(-2, 2).zone // in standard deviations of a round
	strip := beyond(.5, 0, "").zone
	for _, tt := range []struct {
		name   string
		zone   zone
		centre float64
		share  float64
		early  float64 // the mean round at which most are given up; 0 if few should be
	}{
		{"margin", margin, 0, 0, 0}, {"margin", margin, 1, 0, 0}, {"margin", margin, 1.4, 0, 0},
		{"margin", margin, 1.6, 0, 0}, {"margin", margin, 2, 0, 24}, {"margin", margin, 2.5, 0, 0},
		{"disturbed margin", margin, 1, .1, 0}, {"disturbed margin", margin, 1.4, .1, 0},
		{"disturbed margin", margin, 2, .1, 24}, {"strip", strip, .25, 0, 14},
		{"strip", strip, .8, 0, 0}, {"strip", strip, 1.1, 0, 0}, {"strip", strip, -.4, 0, 0},
	} {
		r := rand.New(rand.NewPCG(9, 9))
		decided, lost, given, rounds := 0, 0, 0, 0
		for range runs {
			x := drawn(r, LastLook, tt.centre, tt.share, 0)
			l := look(Sample{Values: x}, newNumbers(x), tt.zone)
			e, up := newNumbers(x), 0
			for i := 0; i < LastLook && up == 0 && (l.round == 0 || i+1 < l.round); i++ {
				e.add(i)
				if foresee(e, tt.zone).hopeless {
					up = i + 1
				}
			}
			if l.round > 0 {
				decided++
				if up > 0 {
					lost++
				}
			}
			if up > 0 {
				given, rounds = given+1, rounds+up
			}
		}
		if lost > 60 {
			t.Errorf("%s, centre %g: %d of the %d runs that would be decided are given up",
				tt.name, tt.centre, lost, decided)
		}
		if mean := float64(rounds) / float64(max(given, 1)); tt.early > 0 &&
			(given < 900 || mean > tt.early) {
			t.Errorf("%s, centre %g: %d of %d runs are given up, at round %.1f; want most, by %g",
				tt.name, tt.centre, given, runs, mean, tt.early)
		}
	}
}

// TestTheFirstLookStands holds that later rounds do not take a word back, and that a reader is
// told.
func TestTheFirstLookStands(t *testing.T) {
	nan := math.NaN()
	jump := Sample{Values: []float64{.5, .6, .55, .52, .58, .54, nan, -2, -2.1, -2.2, -2.3, -2.4,
		-2.5, -2.6, -2.7, -2.8, -2.9}, Rounds: []int{2, 3, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
		17, 18, 19, 20}}
	f := Direction(jump, Greater, 0)
	if f.Word != Reproduced || f.Looked != 9 || f.AtLook == nil || f.AtLook.Lower < 1.6 {
		t.Errorf("got %s at round %d, interval %v; want reproduced at round 9", f.Word, f.Looked,
			f.AtLook)
	}
	if len(f.Cautions) < 1 || !strings.Contains(strings.Join(f.Cautions, ";"),
		"decided at round 9; the interval of all 16 rounds alone would not show it") {
		t.Errorf("cautions %q do not tell of the later rounds", f.Cautions)
	}
	voidFirst := jump
	voidFirst.Values = append([]float64{nan, nan, nan}, jump.Values[:6]...)
	voidFirst.Rounds = nil
	if f := Direction(voidFirst, Greater, 0); f.Word != Inconclusive || f.Looked != 0 {
		t.Errorf("3 of 9 rounds do not count, but it is %s at round %d", f.Word, f.Looked)
	}
	voidFirst.Values = append(voidFirst.Values, .5, .6, .5)
	if f := Direction(voidFirst, Greater, 0); f.Word != Reproduced || f.Looked != 12 {
		t.Errorf("3 of 12 rounds do not count: %s at round %d, want reproduced at 12", f.Word,
			f.Looked)
	}
}

// TestPrefixesAgree holds that a word, once given, is the same whatever comes after: each prefix of
// a run has the verdict that the whole had at that round.
func TestPrefixesAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 10))
	for range 300 {
		x := drawn(r, 40, 2*r.Float64(), .1, 0)
		for i := range x {
			if r.IntN(12) == 0 {
				x[i] = math.NaN()
			}
			x[i] /= 20
		}
		whole := Magnitude(Sample{Values: x}, 1.05, 1.1)
		for n := range len(x) {
			f := Magnitude(Sample{Values: x[:n]}, 1.05, 1.1)
			want := Inconclusive
			if whole.Looked > 0 && n >= whole.Looked {
				want = whole.Word
			}
			if f.Word != want || want != Inconclusive && f.Looked != whole.Looked {
				t.Fatalf("after %d rounds %s at %d; the whole run is %s at %d", n, f.Word,
					f.Looked, whole.Word, whole.Looked)
			}
		}
	}
}

func TestAfterTheLastLook(t *testing.T) {
	x := Sample{}
	for i := range 90 {
		v := math.Log(1.05) + .3*float64(i%3-1)
		if i >= LastLook {
			v = 1 + .01*float64(i)
		}
		x.Values = append(x.Values, v)
	}
	f := Direction(x, Greater, 0)
	if f.Word != Inconclusive || !f.Edge || f.NeedRounds != 0 || f.Rounds != 90 {
		t.Errorf("got %s (%s), edge %t, %d rounds more: want it given up after %d rounds", f.Word,
			f.Reason, f.Edge, f.NeedRounds, LastLook)
	}
}

// TestForecast holds that runs which are still open take about as many rounds as they were said to:
// the means of both agree within a factor of 2.5, which is what a budget needs.
func TestForecast(t *testing.T) {
	const runs = 400
	margin := within(-2, 2).zone
	for _, centre := range []float64{.5, 1, 3, 3.5} {
		for _, at := range []int{4, 6, 8, 12} {
			r := rand.New(rand.NewPCG(12, uint64(at)))
			said, took, open := 0.0, 0.0, 0
			for range runs {
				x := drawn(r, LastLook, centre, 0, 0)
				l := look(Sample{Values: x}, newNumbers(x), margin)
				if l.round <= at {
					continue
				}
				e := newNumbers(x)
				for i := range at {
					e.add(i)
				}
				if n := foresee(e, margin).need(0); n > 0 {
					open++
					said += float64(n)
					took += float64(l.round - at)
				}
			}
			if ratio := said / took; open < 30 || ratio < .5 || ratio > 2.5 {
				t.Errorf("centre %g, after %d rounds: %d runs are open, said to need %.1f more, "+
					"and need %.1f", centre, at, open, said/float64(open), took/float64(open))
			}
		}
	}
}
