package probe

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"interleave/internal/manifest"
)

// script is a program of one line of shell, which sees kernel, problem, workers and
// rounds as $1 to $4.
func script(t *testing.T, line string) *Built {
	t.Helper()
	return &Built{
		Model: &manifest.Model{Name: "sh-serial", Service: "forkjoin", Dir: t.TempDir(),
			Ready: manifest.ReadyLine,
			Run: []string{"sh", "-c", line, "sh", "{kernel}", "{problem}", "{workers}",
				"{rounds}"}},
		Env: os.Environ(),
		Out: t.TempDir(),
	}
}

func TestSolve(t *testing.T) {
	p, err := Solve(t.Context(), script(t, `echo "$1-$2-$3-$4" .25; echo 7 1e-3`),
		Problem{"fib", 20, 2, 5}, StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []Solution{{"fib-20-2-5", 250 * time.Millisecond}, {"7", time.Millisecond}}
	for _, w := range want {
		if got, err := p.Next(t.Context(), unhurriedLimit); err != nil || got != w {
			t.Errorf("got %v (%v), want %v", got, err, w)
		}
	}
	if _, err := p.Next(t.Context(), unhurriedLimit); !errors.Is(err, io.EOF) {
		t.Errorf("got %v at the end, want EOF", err)
	}
	if status := p.Status(); status != 0 {
		t.Errorf("got status %d, want 0", status)
	}
}

func TestSolveTellsByEnvironment(t *testing.T) {
	built := script(t, `echo "$WORKERS" 1`)
	built.Model.Env = map[string]string{"WORKERS": "{workers}"}
	p, err := Solve(t.Context(), built, Problem{"fib", 20, 3, 1}, StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	if got, err := p.Next(t.Context(), unhurriedLimit); err != nil || got.Result != "3" {
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
			p, err := Solve(t.Context(), script(t, c.line), Problem{}, StartOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Kill()
			limit := unhurriedLimit
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
	p, err := Solve(ctx, script(t, "echo 1 1; exec sleep 60"), Problem{}, StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Next(ctx, unhurriedLimit); err != nil {
		t.Fatal(err)
	}
	pid := p.Group.PID()
	cancel()
	if _, err := p.Next(ctx, unhurriedLimit); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want canceled", err)
	}
	p.Kill()
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the program is still there (%v)", err)
	}
}

// checks reads a conform file of a service of programs.
func checksOf(t *testing.T, text string) ([]Check, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "conform"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "conform", "small.results"), []byte(text),
		0o644); err != nil {
		t.Fatal(err)
	}
	return Checks(&manifest.Service{Name: "forkjoin", Dir: dir, Protocol: manifest.Program},
		&manifest.Model{})
}

func TestProgramChecks(t *testing.T) {
	const good = `case "$1" in fib) for i in $(seq "$4"); do echo 6765 .1; done;; *) echo "no kernel $1" >&2; exit 2;; esac`
	for _, c := range []struct{ name, line, want string }{
		{"good", good, ""},
		{"wrong result", "echo 6766 .1; echo 6766 .1", "got 6766, want 6765"},
		{"too few", "echo 6765 .1", "ended before its last solution"},
		{"too many", "echo 6765 .1; echo 6765 .1; echo 6765 .1", "one solution more"},
		{"status", good + "; exit 3", "status 3 at the end"},
		{"wrong on two workers", `echo $((6764+$3)) .1; echo $((6764+$3)) .1`,
			"2 workers: got 6766"},
		{"takes nonsense", `[ "$1" = fib ] || set -- fib; for i in 1 2; do echo 6765 .1; done`,
			"want nothing"},
		{"refuses at length",
			`case "$1" in fib) echo 6765 .1; echo 6765 .1;; *) echo a >&2; echo b >&2; exit 2;; esac`, "want status 2 and one line"},
	} {
		t.Run(c.name, func(t *testing.T) {
			checks, err := checksOf(t, "# results\nfib 20 = 6765\nfails nonsense 1 # refused\n")
			if err != nil || len(checks) != 2 {
				t.Fatalf("got %d checks (%v), want 2", len(checks), err)
			}
			var failed []string
			for _, check := range checks {
				if err := check.Play(t.Context(), script(t, c.line), Unhurried); err != nil {
					failed = append(failed, err.Error())
				}
			}
			got := strings.Join(failed, "; ")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	checks, err := checksOf(t, "fib 20 7 = 47355\n")
	if err != nil || len(checks) != 1 {
		t.Fatalf("got %d checks (%v), want 1", len(checks), err)
	}
	if err := checks[0].Play(t.Context(), script(t, `for i in 1 2; do echo $(($3*6765)) .1; done`),
		Unhurried); err != nil {
		t.Errorf("with 7 workers: %v", err)
	}
	for _, wrong := range []string{"fib 20", "fib twenty = 6765", "fails", "fails fib 1 2",
		"fib 20 0 = 1", "fib 20 many = 1"} {
		if _, err := checksOf(t, wrong); err == nil ||
			!strings.Contains(err.Error(), "small.results:1: ") {
			t.Errorf("%q: got %v, want an error with its line", wrong, err)
		}
	}
}
