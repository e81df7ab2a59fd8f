package calibrate

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"interleave/internal/proc"
	"interleave/internal/record"
	"interleave/internal/sample"
)

// A quietMachine gives windows of a machine on which a waking costs so much, beside other programs.
type quietMachine struct {
	cost   time.Duration
	beside func(window int) float64 // of two cores
	noise  float64                  // of the reading, in seconds of a second
}

func (m quietMachine) windows() (looks []wakeLook) {
	random := rand.New(rand.NewPCG(1, 2))
	for turn := range wakeTurns {
		for _, rate := range []int{500, 10_000, 20_000} {
			woken := float64(rate) * (1 + .02*random.NormFloat64())
			left := woken*m.cost.Seconds() + m.noise*random.NormFloat64()
			if m.beside != nil {
				left += 2 * m.beside(3*turn+rate/10_000)
			}
			looks = append(looks, wakeLook{rate: rate, woken: woken, left: left, busy: left / 2})
		}
	}
	return looks
}

// TestSlope finds the cost of a waking, whatever runs beside it all the time, and gives no figure
// where others come and go.
func TestSlope(t *testing.T) {
	always := func(share float64) func(int) float64 { return func(int) float64 { return share } }
	for _, test := range []struct {
		name    string
		machine quietMachine
		want    time.Duration
		within  time.Duration
		err     string // a part of it
	}{
		{"exact", quietMachine{cost: 4 * time.Microsecond}, 4 * time.Microsecond, 2, ""},
		{"as read", quietMachine{cost: 4600, noise: .005}, 4600, 500, ""},
		{"beside the usual", quietMachine{cost: 4600, noise: .015, beside: always(.02)}, 4600,
			time.Microsecond, ""},
		{"free", quietMachine{noise: .005}, 0, 500, ""},
		{"beside a loop of 5 % of a core", quietMachine{cost: 4600, noise: .005,
			beside: always(.025)}, 4600, 500, ""},
		{"beside one of 40 % of a core", quietMachine{cost: 4600, noise: .005, beside: always(.2)},
			4600, 500, ""},
		{"disturbed in three windows of 18", quietMachine{cost: 4600, noise: .003,
			beside: func(window int) float64 {
				if window%7 == 5 {
					return .1
				}
				return 0
			}}, 4600, time.Microsecond, ""},
		{"beside a busy loop", quietMachine{cost: 4600, beside: always(.5)}, 0, 0,
			"other programs used 50 % of the cores"},
		{"beside programs that come and go", quietMachine{cost: 4600, beside: func(w int) float64 {
			return []float64{0, .2, .01, .15, .02}[w%5]
		}}, 0, 0, "which is too unsteady"},
	} {
		p, err := slope("threads", test.machine.windows())
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: got %+v, %v, want an error with %q", test.name, p, err, test.err)
			}
			continue
		}
		if err != nil || (p.Slope-test.want).Abs() > test.within || p.Low > p.Slope ||
			p.High < p.Slope || p.Windows != 3*wakeTurns {
			t.Errorf("%s: got %+v, %v, want %v ± %v", test.name, p, err, test.want, test.within)
		}
	}
	still := []wakeLook{{rate: 10, woken: 50}, {rate: 1000, woken: 50}}
	if _, err := slope("threads", still); err == nil ||
		!strings.Contains(err.Error(), "did not wake more often") {
		t.Errorf("threads that do not wake: got %v", err)
	}
}

// TestLookOf reads a window as the gate does, and refuses one that was not counted.
func TestLookOf(t *testing.T) {
	got, err := lookOf(sample.Delta{Wall: 500 * time.Millisecond, User: 40 * time.Millisecond,
		System: 20 * time.Millisecond, Self: 10 * time.Millisecond, Busy: 100 * time.Millisecond,
		Voluntary: 4000}, 2)
	want := wakeLook{woken: 8000, left: .06, busy: .03}
	off := max(math.Abs(got.woken-want.woken), math.Abs(got.left-want.left),
		math.Abs(got.busy-want.busy))
	if err != nil || off > 1e-9 {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for _, d := range []sample.Delta{{}, {Wall: -time.Second, Busy: 1}, {Wall: time.Second}} {
		if _, err := lookOf(d, 2); err == nil {
			t.Errorf("%+v: no error", d)
		}
	}
}

// TestStep waits for the count of the cores' rest, and says what is wrong with one that stands
// still or cannot be read.
func TestStep(t *testing.T) {
	unreadable := errors.New("no such file")
	for _, test := range []struct {
		name string
		rest func(looks int) (time.Duration, error)
		want error
	}{
		{"a count that rises", func(n int) (time.Duration, error) {
			return time.Duration(n/7) * proc.Tick, nil
		}, nil},
		{"one that stands still", func(int) (time.Duration, error) { return time.Hour, nil },
			errNoRest},
		{"one that falls", func(n int) (time.Duration, error) {
			return time.Hour - time.Duration(n)*proc.Tick, nil
		}, errNoRest},
		{"none", func(int) (time.Duration, error) { return 0, unreadable }, unreadable},
		{"one that vanishes", func(n int) (time.Duration, error) {
			if n > 3 {
				return 0, unreadable
			}
			return 0, nil
		}, unreadable},
	} {
		synctest.Test(t, func(t *testing.T) {
			looks := 0
			err := rest(func() (time.Duration, error) {
				looks++
				return test.rest(looks)
			}).step(t.Context())
			if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
				t.Errorf("%s: got %v after %d looks, want %v", test.name, err, looks, test.want)
			}
		})
	}
	if _, err := idle(new(proc.Reader))(); err != nil {
		t.Errorf("this machine: %v", err)
	}
}

// TestWakings measures this machine, quiet or not: there is a figure within bounds, or the reason
// why there is none.
func TestWakings(t *testing.T) {
	w := Wakings(t.Context(), os.Args[0])
	t.Logf("%+v", w)
	switch {
	case w.Measured:
		if w.Cost < time.Microsecond || w.Cost > 7*time.Microsecond || len(w.Patterns) == 0 {
			t.Errorf("got %+v", w)
		}
	case w.Cost != record.DefaultWakeCost || w.Note == "":
		t.Errorf("got %+v, want %v and the reason", w, record.DefaultWakeCost)
	}
}

// TestWaysWake: each way wakes, and not much more often than it is told. A busy machine may keep it
// from some of its wakings.
func TestWaysWake(t *testing.T) {
	const rate = 4000
	each := map[string]int64{"sleeper": 1, "pair": 3} // wakings for one of a rate
	for _, w := range ways {
		t.Run(w.kind, func(t *testing.T) {
			b := newBench(os.Args[0])
			b.server = w.cores(b)
			s, err := b.start(w.kind)
			if err != nil {
				t.Fatal(err)
			}
			defer s.close()
			if err := s.setRate(rate); err != nil {
				t.Fatal(err)
			}
			sampler := sample.New(s.group, time.Hour)
			sampler.Start()
			defer sampler.Stop()
			from := sampler.Mark(sample.MarkOpen)
			for end := time.Now().Add(patience); ; {
				d := sampler.Mark(sample.MarkClosed).Sub(from)
				if d.Voluntary >= 1000 {
					// half as many more, and those of the runtime's own threads, also at the start
					asked := float64(each[w.kind]*rate) * 1.5
					most := (asked+3000)*d.Wall.Seconds() + 200
					if float64(d.Voluntary) > most {
						t.Errorf("it woke %d times in %v, want %.0f at most", d.Voluntary, d.Wall,
							most)
					}
					break
				} else if time.Now().After(end) {
					t.Fatalf("it woke %d times", d.Voluntary)
				}
				if err := pause(t.Context(), 20*time.Millisecond); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestWakesRefuse: a rate that is none ends the server, and the controller hears of it.
func TestWakesRefuse(t *testing.T) {
	for _, line := range []string{"0", "-1", "x", "100001"} {
		var out strings.Builder
		err := reference([]string{"sleeper"}, strings.NewReader(line+"\n"), &out)
		if err == nil || !strings.Contains(err.Error(), "is no rate") ||
			out.String() != "ready 0\n" {
			t.Errorf("%q: got %v after %q", line, err, out.String())
		}
	}
	s, err := newBench(os.Args[0]).start("sleeper")
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if err := s.setRate(maxWakes + 1); err == nil {
		t.Error("a rate above the largest was set")
	}
}

// TestWakingsWithoutFigure: nothing that is missing keeps a run from being made.
func TestWakingsWithoutFigure(t *testing.T) {
	if w := Wakings(t.Context(), "/nonexistent"); w.Measured || w.Cost != record.DefaultWakeCost ||
		!strings.Contains(w.Note, "a thread that sleeps: starting the reference server sleeper") {
		t.Errorf("got %+v, want the default and what could not be started", w)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if w := Wakings(ctx, os.Args[0]); w.Measured || !strings.Contains(w.Note, "canceled") {
		t.Errorf("interrupted: got %+v", w)
	}
}
