package figure

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

func TestTicks(t *testing.T) {
	tests := []struct {
		name string
		s    scale
		n    int
		unit string
		want []float64
	}{
		{"linear", scale{low: 0, high: 103, to: 700}, 6, "", []float64{0, 20, 40, 60, 80, 100}},
		{"tenths", scale{low: 0, high: .31, to: 700}, 4, "", []float64{0, .1, .2, .3}},
		{"bytes", scale{low: 0, high: 25 << 20, to: 700}, 5, "bytes",
			[]float64{0, 5 << 20, 10 << 20, 15 << 20, 20 << 20, 25 << 20}},
		{"decades", scale{low: 9, high: 1.1e6, to: 700, log: true}, 6, "µs",
			[]float64{10, 100, 1e3, 1e4, 1e5, 1e6}},
		{"1 2 5", scale{low: 9, high: 120, to: 700, log: true}, 6, "µs",
			[]float64{10, 20, 50, 100}},
		{"ratios", scale{low: .5, high: 1.3, to: 700, log: true}, 6, "",
			[]float64{.5, .67, .8, 1, 1.25}},
		{"near 1", scale{low: .95, high: 1.06, to: 700, log: true}, 5, "",
			[]float64{.95, .975, 1, 1.025, 1.05}},
		{"nothing", scale{low: 1, high: 1, to: 700}, 5, "", nil},
	}
	for _, tt := range tests {
		if got := tt.s.ticks(tt.n, tt.unit); !slices.EqualFunc(got, tt.want,
			func(a, b float64) bool { return math.Abs(a-b) < 1e-9*max(1, b) }) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestScale(t *testing.T) {
	e := newExtent(true)
	e.add(.5, 2, math.NaN(), math.Inf(1), -1, 0)
	s := e.scale(0.1, 0, 100)
	if got := s.at(1); math.Abs(got-50) > 1e-9 {
		t.Errorf("1 between .5 and 2 stands at %v, want 50", got)
	}
	if got := s.at(1e9); got != 100 {
		t.Errorf("beyond the end stands at %v, want 100", got)
	}
	if s.inside(1e9) || !s.inside(1) {
		t.Error("inside tells the wrong side")
	}
}

// TestSpread: labels end up apart, in the order of their wishes, within bounds.
func TestSpread(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		labels := make([]label, 1+r.IntN(20))
		for i := range labels {
			labels[i].want = 30 + 400*r.Float64()*r.Float64()
		}
		const gap, top, bottom = 13, 26, 400
		spread(labels, gap, top, bottom)
		slices.SortStableFunc(labels,
			func(a, b label) int { return int(math.Copysign(1, a.want-b.want)) })
		for i, l := range labels {
			if l.at < top-1e-6 || l.at > bottom+1e-6 {
				t.Fatalf("%v labels: one stands at %v, outside %v to %v", len(labels), l.at, top,
					bottom)
			}
			if i > 0 && l.at-labels[i-1].at < gap-1e-6 {
				t.Fatalf("%v labels: two stand %v apart, want %v", len(labels), l.at-labels[i-1].at,
					gap)
			}
		}
	}
	alone := []label{{want: 100}, {want: 200}}
	spread(alone, 13, 0, 400)
	if alone[0].at != 100 || alone[1].at != 200 {
		t.Errorf("labels with room moved to %v and %v", alone[0].at, alone[1].at)
	}
	crowd := make([]label, 100)
	spread(crowd, 13, 0, 100) // more than fit: nearer, but still in bounds
	if last := crowd[99].at; last > 100+1e-6 {
		t.Errorf("the last of a crowd stands at %v", last)
	}
}

func TestSwarm(t *testing.T) {
	at := []float64{10, 10.5, 11, 50} // a fourth beside the three would be full
	offsets := swarm(at, 2.5, 8)
	for i := range at {
		for j := range i {
			if d := math.Hypot(at[i]-at[j], offsets[i]-offsets[j]); d < 4 {
				t.Errorf("dots %d and %d are %.1f apart", i, j, d)
			}
		}
		if math.Abs(offsets[i]) > 8 {
			t.Errorf("dot %d is %v off", i, offsets[i])
		}
	}
	if offsets[3] != 0 {
		t.Errorf("a dot with room is %v off", offsets[3])
	}
	if got := swarm(make([]float64, 300), 2.5, 8); len(got) != 300 {
		t.Errorf("%d offsets for 300 dots", len(got))
	}
}

func TestShares(t *testing.T) {
	shares := Shares(12_000)
	for _, mark := range []float64{.5, .9, .99} {
		if !slices.Contains(shares, mark) {
			t.Errorf("%v is not read", mark)
		}
	}
	if last := shares[len(shares)-1]; 12_000*(1-last) < 10 {
		t.Errorf("%v is read, where %.1f requests are left", last, 12_000*(1-last))
	}
	if !slices.IsSorted(shares) {
		t.Error("shares do not rise")
	}
}

func TestStylesDiffer(t *testing.T) {
	type look struct {
		hue    int
		marker Marker
	}
	seen := map[look]string{}
	for name, s := range StylesFor(words) {
		k := look{s.Hue, s.Marker}
		if other, found := seen[k]; found {
			t.Errorf("%s looks like %s", name, other)
		}
		seen[k] = name
	}
}

// luminance is that of WCAG 2.
func luminance(hex string) float64 {
	channel := func(from int) float64 {
		n, err := strconv.ParseUint(hex[from:from+2], 16, 8)
		if err != nil {
			panic(err)
		}
		v := float64(n) / 255
		if v <= .04045 {
			return v / 12.92
		}
		return math.Pow((v+.055)/1.055, 2.4)
	}
	return .2126*channel(0) + .7152*channel(2) + .0722*channel(4)
}

// TestContrast: text has 4.5:1 on its paper, marks and lines 3:1, in light and in dark.
func TestContrast(t *testing.T) {
	colors := map[string][2]string{}
	for _, m := range regexp.MustCompile(`--([a-z0-9-]+): light-dark\(#([0-9a-f]{6}), #([0-9a-f]{6})\)`).FindAllStringSubmatch(Styles, -1) {
		colors[m[1]] = [2]string{m[2], m[3]}
	}
	least := map[string]float64{"ink": 7, "muted": 4.5, "axis": 3, "noise": 3, "pub": 3,
		"accept-edge": 3}
	for i := range 10 {
		least[fmt.Sprintf("h%d", i)] = 3
	}
	for name, want := range least {
		for theme, paper := range colors["paper"] {
			a, b := luminance(colors[name][theme]), luminance(paper)
			if got := (max(a, b) + .05) / (min(a, b) + .05); got < want {
				t.Errorf("%s in theme %d has contrast %.2f, want %v", name, theme, got, want)
			}
		}
	}
}
