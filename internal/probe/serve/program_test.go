package serve

import (
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"interleave/internal/probe/faulty"
)

func TestSolve(t *testing.T) {
	p, err := Solve(t.Context(), faulty.Script(t, `echo "$1-$2-$3-$4" .25; echo 7 1e-3`),
		Problem{"fib", 20, 2, 5}, StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []Solution{{"fib-20-2-5", 250 * time.Millisecond}, {"7", time.Millisecond}}
	for _, w := range want {
		if got, err := p.Next(t.Context(), UnhurriedLimit); err != nil || got != w {
			t.Errorf("got %v (%v), want %v", got, err, w)
		}
	}
	if _, err := p.Next(t.Context(), UnhurriedLimit); !errors.Is(err, io.EOF) {
		t.Errorf("got %v at the end, want EOF", err)
	}
	if status := p.Status(); status != 0 {
		t.Errorf("got status %d, want 0", status)
	}
}

func TestSolveTellsByEnvironment(t *testing.T) {
	built := faulty.Script(t, `echo "$WORKERS" 1`)
	built.Model.Env = map[string]string{"WORKERS": "{workers}"}
	p, err := Solve(t.Context(), built, Problem{"fib", 20, 3, 1}, StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	if got, err := p.Next(t.Context(), UnhurriedLimit); err != nil || got.Result != "3" {
		t.Errorf("got %v (%v), want 3", got, err)
	}
}

func TestSolveWrong(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"no seconds", "echo 7", `printed "7", not a result and seconds`},
		{"negative", "echo 7 -1", "not a result and seconds"},
		{"silent", "sleep 60", "printed no solution within"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Solve(t.Context(), faulty.Script(t, c.line), Problem{}, StartOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Kill()
			limit := UnhurriedLimit
			if c.name == "silent" {
				limit = 50 * time.Millisecond
			}
			if _, err := p.Next(t.Context(), limit); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestSolveStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p, err := Solve(ctx, faulty.Script(t, "echo 1 1; exec sleep 60"), Problem{}, StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Next(ctx, UnhurriedLimit); err != nil {
		t.Fatal(err)
	}
	pid := p.Group.PID()
	cancel()
	if _, err := p.Next(ctx, UnhurriedLimit); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want canceled", err)
	}
	p.Kill()
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the program is still there (%v)", err)
	}
}
