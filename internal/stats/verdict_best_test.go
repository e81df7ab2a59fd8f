package stats

import (
	"math"
	"testing"
)

// against is spread with every value mirrored about the centre: two samples that move
// against each other.
func against(n int, centre, width float64) Sample {
	s := spread(n, centre, width)
	for i, v := range s.Values {
		s.Values[i] = 2*math.Log(centre) - v
	}
	return s
}

func TestBest(t *testing.T) {
	const n = 12
	nan := math.NaN()
	hole := spread(n, 1.5, .05)
	hole.Values[3] = nan
	tests := []struct {
		name   string
		got    Finding
		word   Word
		reason string
		agree  int
	}{
		{"the best decides", Best([]Sample{spread(n, 1.5, .05), spread(n, 4, .05)}, true, 1.5, 0),
			Reproduced, "", n},
		{"the best is too near",
			Best([]Sample{spread(n, 1, .05), spread(n, 1.5, .05)}, true, 1.5, 0), NotReproduced,
			"outside the margin", 0},
		{"all are too far",
			Best([]Sample{spread(n, 3, .05), spread(n, 4, .05)}, true, 1.5, 0), NotReproduced,
			"direction reproduced, size not", 0},
		{"the best has the least",
			Best([]Sample{spread(n, 1.5, .05), spread(n, .5, .05)}, false, 1.5, 0), Reproduced, "",
			n},
		{"one of the least is too near",
			Best([]Sample{spread(n, 3, .05), spread(n, 1.5, .05)}, false, 1.5, 0), NotReproduced,
			"direction reproduced, size not", 0},
		{"two alike", Best([]Sample{spread(n, 1.5, .05), against(n, 1.5, .05)}, true, 1.5, 0),
			Reproduced, "", n},
		{"wide", Best([]Sample{spread(n, 1.5, .9), spread(n, 1.6, .9)}, true, 1.5, 0),
			Inconclusive, "too wide", 4},
		{"a round that one lacks", Best([]Sample{hole, spread(n, 2, .05)}, true, 1.5, 0),
			Reproduced, "", n - 1},
		{"rounds that are not there",
			Best([]Sample{spread(n, 1.5, .05), spread(5, 2, .05)}, true, 1.5, 0), Inconclusive,
			"7 of 12 rounds do not count", 5},
		{"no rivals", Best(nil, true, 1.5, 0), Inconclusive, "no round was measured", 0},
		{"a bad margin", Best([]Sample{spread(n, 1.5, .05)}, true, 1.5, .5), Inconclusive,
			"the margin is 0.5", 0},
	}
	for _, tt := range tests {
		checkFinding(t, tt.name, tt.got, tt.word, tt.reason)
		if tt.got.RoundsAgreeing != tt.agree {
			t.Errorf("%s: %d rounds agree, want %d", tt.name, tt.got.RoundsAgreeing, tt.agree)
		}
	}
	two := Best([]Sample{spread(n, 1.5, .05), spread(n, 4, .05)}, true, 1.5, 0)
	if one := Magnitude(spread(n, 1.5, .05), 1.5, 0); one.Interval95 != two.Interval95 {
		t.Errorf("a rival far behind moves the interval from %v to %v", one.Interval95,
			two.Interval95)
	}
}
