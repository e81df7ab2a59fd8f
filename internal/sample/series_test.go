package sample

import (
	"slices"
	"testing"
	"time"
)

const ms = time.Millisecond

func TestCPUByInterval(t *testing.T) {
	at := func(at, user time.Duration, mark string) Sample {
		return Sample{At: at * ms, User: user * ms, Mark: mark}
	}
	tests := []struct {
		name    string
		samples []Sample
		want    []float64
	}{
		{"none", nil, nil},
		{"no end", []Sample{at(0, 0, MarkOpen), at(100, 50, "")}, nil},
		{"plain", []Sample{at(50, 9, ""), at(100, 10, MarkOpen), at(200, 60, ""),
			at(300, 160, MarkClosed), at(400, 161, "")}, []float64{50, 100}},
		{"short rest", []Sample{at(0, 0, MarkOpen), at(100, 50, ""), at(110, 60, MarkClosed)},
			[]float64{50}},
		{"late and early", []Sample{at(0, 0, MarkOpen), at(160, 80, ""), at(200, 90, ""),
			at(300, 150, MarkClosed)}, []float64{50, 50}},
		{"only marks", []Sample{at(0, 0, MarkOpen), at(1000, 250, MarkClosed)}, []float64{25}},
		// 80 is nearer to 100 than 120 is
		{"stints", []Sample{at(0, 0, MarkOpen), at(40, 8, ""), at(80, 40, ""), at(120, 40, ""),
			at(160, 60, ""), at(200, 68, ""), at(200, 68, MarkClosed)}, []float64{50, 25}},
		{"more stints", []Sample{at(0, 0, MarkOpen), at(35, 7, ""), at(70, 14, ""),
			at(105, 42, ""), at(140, 50, MarkClosed)}, []float64{40}},
	}
	for _, tt := range tests {
		s := Series{Samples: tt.samples}
		if got := s.CPUByInterval(100 * ms); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestDelta(t *testing.T) {
	a := Sample{At: 1 * ms, User: 1 * ms, System: 2 * ms, RSS: 5, Mark: MarkOpen}
	b := Sample{At: 5 * ms, User: 2 * ms, System: 3 * ms, RSS: 4, Voluntary: 7, Steal: ms,
		Mark: MarkClosed}
	s := Series{Samples: []Sample{a, b}}
	got, ok := s.Between(MarkOpen, MarkClosed)
	want := Delta{Wall: 4 * ms, User: ms, System: ms, RSS: -1, Voluntary: 7, Steal: ms}
	if !ok || got != want {
		t.Errorf("got %+v, %v, want %+v", got, ok, want)
	}
	if got.Percent() != 50 || (Delta{}).Percent() != 0 {
		t.Errorf("got %v %%, want 50", got.Percent())
	}
	if _, ok := s.Between(MarkIdle, MarkClosed); ok {
		t.Error("a mark that is missing was found")
	}
}

func TestLayer(t *testing.T) {
	l := layer{cost: 10 * ms, at: time.Now()} // at 2 % it is due again after 500 ms
	ran := 0
	read := func() { ran++ }
	l.run(false, read)
	if ran != 0 {
		t.Error("a dear layer was read again at once")
	}
	l.run(true, read)
	if ran != 1 {
		t.Error("a layer was not read at a mark")
	}
	l = layer{cost: 10 * ms, at: time.Now().Add(-600 * ms)}
	l.run(false, read)
	if ran != 2 || l.cost >= 10*ms {
		t.Errorf("a layer that was due: ran %d times, cost %v", ran, l.cost)
	}
}
