package live

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"interleave/internal/load"
	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/run"
	"interleave/internal/stats"
	"interleave/internal/verdict"
)

// spec is a cell that a run would measure.
var spec = &run.Spec{
	Experiment: &manifest.Experiment{Name: "eve-echo"}, Point: manifest.Point{Name: "echo"},
	Model: &manifest.Model{Name: "c-epoll"}, Condition: manifest.Own,
}

// measured is a cell that counts, of 100,000 requests a second.
var measured = &record.Cell{
	Model: "c-epoll", Point: "echo", Round: 2, Status: record.Measured,
	Load: manifest.Load{Shape: manifest.Closed}, Result: &load.Result{Window: time.Second,
		Part: &load.Requests{Answered: 100_000}},
}

// void is one that two gates voided, late one that one gate did, broken one whose server died.
var (
	late = &record.Cell{Model: "c-epoll", Point: "latency", Round: 3, Status: record.Void,
		Reasons: []record.Reason{{Gate: "late", Text: "was late"}}}
	void = &record.Cell{Model: "go-goroutine", Point: "echo", Round: 2, Status: record.Void,
		Reasons: []record.Reason{{Gate: "steal", Text: "stolen"}, {Gate: "late", Text: "was late"}}}
	broken = &record.Cell{Model: "node-loop", Point: "echo", Round: 2, Status: record.Broken,
		Reasons: []record.Reason{{Gate: "died", Text: "the server died under load"}}}
)

func claim(id string, w stats.Word) verdict.Verdict {
	return verdict.Verdict{Experiment: "eve-echo", Word: w, Claim: manifest.Claim{ID: id,
		Sentence: "Node serves less."}}
}

func TestLinesWithoutATerminal(t *testing.T) {
	var out strings.Builder
	v := New(&out, func() {})
	for _, e := range []run.Event{
		{Kind: run.Note, Text: "calibrating"},
		{Kind: run.CellStarts, Spec: spec},
		{Kind: run.WindowOpens, Spec: spec},
		{Kind: run.WindowCloses, Spec: spec},
		{Kind: run.CellEnds, Cell: measured},
		{Kind: run.CellEnds, Cell: void},
		{Kind: run.CellEnds, Cell: broken},
		{Kind: run.RoundEnds, Round: 2, Rounds: 8, Done: 7, Total: 24, Left: 95 * time.Second,
			Verdicts: []verdict.Verdict{claim("E2a", stats.Reproduced),
				claim("E2b", stats.Inconclusive)}},
		{Kind: run.CellEnds, Cell: late},
		{Kind: run.CellEnds, Cell: void},
		{Kind: run.CellEnds, Cell: late},
		{Kind: run.CellEnds, Cell: late},
		{Kind: run.RoundEnds, Round: 3, Rounds: 8, Done: 11, Total: 24, Left: 60 * time.Second,
			Verdicts: []verdict.Verdict{claim("E2a", stats.Reproduced),
				claim("E2b", stats.NotReproduced)}},
		{Kind: run.RoundEnds, Round: 4, Rounds: 8, Done: 12, Total: 24, Left: 50 * time.Second,
			Verdicts: []verdict.Verdict{claim("E2a", stats.Inconclusive),
				claim("E2b", stats.NotReproduced)}},
		{Kind: run.CellEnds, Cell: late},
		{Kind: run.Ends},
	} {
		v.Watch(e)
	}
	v.Close()
	want := `calibrating
failed: node-loop, echo, round 2: the server died under load
void: go-goroutine, echo, round 2: steal; late
E2a reproduced: Node serves less.
round 2 of 8: 7 of 24 cells, 1 min 35 s left; 1 reproduced, 1 inconclusive so far
void: 3 cells of round 3: late
void: go-goroutine, echo, round 2: steal; late
E2b not reproduced: Node serves less.
round 3 of 8: 11 of 24 cells, 1 min 00 s left; 1 reproduced, 1 not reproduced so far
E2a inconclusive: Node serves less.
round 4 of 8: 12 of 24 cells, 50 s left; 1 not reproduced, 1 inconclusive so far
void: c-epoll, latency, round 3: late
`
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestNothingPassesWhileAWindowIsOpen(t *testing.T) {
	var got []run.Kind
	g := gate{pass: func(e run.Event) { got = append(got, e.Kind) }}
	g.take(run.Event{Kind: run.CellStarts})
	g.take(run.Event{Kind: run.WindowOpens})
	g.take(run.Event{Kind: run.Note})
	g.take(run.Event{Kind: run.CellEnds})
	if len(got) != 1 {
		t.Fatalf("%v passed while the window was open, want only what came before", got)
	}
	g.take(run.Event{Kind: run.WindowCloses})
	want := []run.Kind{run.CellStarts, run.Note, run.CellEnds, run.WindowCloses}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
	for range 2 * maxHeld { // a window that never closes must not hold events without bound
		g.take(run.Event{Kind: run.WindowOpens})
		g.take(run.Event{Kind: run.Note})
	}
	if len(g.held) > maxHeld {
		t.Errorf("%d events held, at most %d", len(g.held), maxHeld)
	}
}

// shown is a model's screen as text, without the escape codes of colours.
func shown(m *model) string { return m.View().Content }

func TestTheScreenTellsWhereTheRunIs(t *testing.T) {
	stopped := false
	m := &model{stop: func() { stopped = true }, faults: map[string]int{}}
	if shown(m) != "" {
		t.Errorf("before the first cell the screen shows %q", shown(m))
	}
	m.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
	m.Update(run.Event{Kind: run.CellStarts, Spec: spec, Round: 2, Rounds: 8, Done: 6, Total: 24,
		Left: time.Minute})
	m.Update(run.Event{Kind: run.CellEnds, Spec: spec, Cell: measured, Round: 2, Rounds: 8, Done: 7,
		Total: 24, Left: time.Minute})
	m.Update(run.Event{Kind: run.CellEnds, Spec: spec, Cell: void, Round: 2, Rounds: 8, Done: 8,
		Total: 24, Left: time.Minute})
	m.Update(run.Event{Kind: run.RoundEnds,
		Verdicts: []verdict.Verdict{claim("E2a", stats.Reproduced)}})
	for _, want := range []string{
		"eve-echo · echo · c-epoll, own cores · round 2 of 8",
		"8 of 24 cells, 1 cell void or failed, 1 min 00 s left",
		"c-epoll, echo: 100 k requests/s", "late 1, steal 1", "1 reproduced so far",
	} {
		if !strings.Contains(shown(m), want) {
			t.Errorf("the screen lacks %q:\n%s", want, shown(m))
		}
	}
	m.Update(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl})
	if !stopped || !strings.Contains(shown(m), "stopping the current cell") {
		t.Errorf("after Ctrl-C stop was called: %v; the screen:\n%s", stopped, shown(m))
	}
}

func TestSpell(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 59 * time.Second: "59 s", 61 * time.Second: "1 min 01 s",
		65 * time.Minute: "1 h 05 min",
	} {
		if got := spell(d); got != want {
			t.Errorf("spell(%v) = %q, want %q", d, got, want)
		}
	}
}
