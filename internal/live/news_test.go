package live

import (
	"math"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/run"
	"interleave/internal/stats"
	"interleave/internal/verdict"
)

// turn is one of a budget, for two claims.
var turn = &run.Turn{Turn: record.Turn{Experiment: "eve-echo", Condition: manifest.Own,
	Claims: []string{"E2a", "E2b"}}}

// found is a claim with an interval.
func found(id string, w stats.Word, estimate, low, high float64,
	accept [2]float64) verdict.Verdict {
	v := claim(id, w)
	v.Finding = stats.Finding{Word: w, Estimate: estimate, Rounds: 7, Accept: accept,
		Interval95: stats.Interval{Estimate: estimate, Lower: low, Upper: high}}
	return v
}

func TestAnswer(t *testing.T) {
	end := math.Inf(1)
	for _, tt := range []struct {
		v    verdict.Verdict
		want string
	}{
		{found("E1b", stats.Reproduced, 1.34, 1.21, 1.49, [2]float64{1.05, end}),
			"E1b reproduced: 1.34 (1.21 to 1.49), at least 1.05 claimed, after 7 rounds: Node " +
				"serves less."},
		{found("E1c", stats.NotReproduced, .5, .4, .6, [2]float64{.8, 1.25}),
			"E1c not reproduced: 0.5 (0.4 to 0.6), 0.8 to 1.25 claimed, after 7 rounds: Node " +
				"serves less."},
		{found("E1d", stats.Reproduced, .5, .4, .6, [2]float64{0, .95}),
			"E1d reproduced: 0.5 (0.4 to 0.6), at most 0.95 claimed, after 7 rounds: Node serves " +
				"less."},
		{claim("E4a", stats.Reproduced), "E4a reproduced: Node serves less."},
	} {
		if got := answer(&tt.v); got != tt.want {
			t.Errorf("got  %q,\nwant %q", got, tt.want)
		}
	}
}

// TestNewsAreToldOnce: a claim is told when it is decided, and when that changes.
func TestNewsAreToldOnce(t *testing.T) {
	var n news
	for i, step := range []struct {
		word stats.Word
		told bool
	}{
		{stats.NotMeasured, false}, {stats.Inconclusive, false}, {stats.Reproduced, true},
		{stats.Reproduced, false}, {stats.Inconclusive, true}, {stats.NotReproduced, true},
	} {
		if got := len(n.of([]verdict.Verdict{claim("E2a", step.word)})) == 1; got != step.told {
			t.Errorf("step %d, %s: told %v, want %v", i, step.word, got, step.told)
		}
	}
}

// TestLinesOfABudget: claims are told when they fall, all else every half minute.
func TestLinesOfABudget(t *testing.T) {
	var out strings.Builder
	v := New(&out, func() {})
	still := claim("E2b", stats.Inconclusive)
	at := func(seconds int) run.Event {
		return run.Event{Kind: run.RoundEnds, Turn: turn,
			Spent:    time.Duration(seconds) * time.Second,
			Left:     time.Duration(100-seconds) * time.Second,
			Verdicts: []verdict.Verdict{claim("E2a", stats.Reproduced), still}}
	}
	for _, e := range []run.Event{
		{Kind: run.Begins, Verdicts: []verdict.Verdict{claim("E2a", stats.Reproduced), still}},
		{Kind: run.CellEnds, Cell: late}, at(5), {Kind: run.CellEnds, Cell: late},
		{Kind: run.CellEnds, Cell: late}, at(20), {Kind: run.CellEnds, Cell: late}, at(34), at(36),
	} {
		v.Watch(e)
	}
	still = claim("E2b", stats.NotReproduced)
	v.Watch(at(50))
	last := at(99)
	last.Kind, last.Turn = run.Ends, nil
	v.Watch(last)
	v.Close()
	want := `E2a reproduced: Node serves less.
void: c-epoll, latency, round 3: late
1 of 2 claims decided, 1 min 35 s left; measured eve-echo, own cores, for E2a E2b
void: 3 cells: late
1 of 2 claims decided, 1 min 04 s left; measured eve-echo, own cores, for E2a E2b
E2b not reproduced: Node serves less.
`
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestTheScreenOfABudget shows what is measured for which claims, and fits a narrow terminal.
func TestTheScreenOfABudget(t *testing.T) {
	m := &model{stop: func() {}, faults: map[string]int{}}
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 30})
	_, cmd := m.Update(run.Event{Kind: run.Begins,
		Verdicts: []verdict.Verdict{claim("E2a", stats.Reproduced),
			claim("E2b", stats.NotMeasured)}})
	if cmd == nil {
		t.Error("a claim that is decided is not printed")
	}
	m.Update(run.Event{Kind: run.CellStarts, Spec: spec, Turn: turn, Spent: time.Minute,
		Left: 9 * time.Minute})
	for _, want := range []string{"eve-echo · echo · c-epoll, own cores · for E2a E2b",
		"1 of 2 claims decided, 9 min 00 s left", "1 reproduced, 1 not measured so far"} {
		if !strings.Contains(shown(m), want) {
			t.Errorf("the screen lacks %q:\n%s", want, shown(m))
		}
	}
	if strings.Contains(shown(m), "round") {
		t.Errorf("a budget has no number of rounds:\n%s", shown(m))
	}
}
