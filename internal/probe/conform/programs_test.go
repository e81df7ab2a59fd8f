package conform

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"interleave/internal/manifest"
	"interleave/internal/probe/faulty"
	"interleave/internal/probe/serve"
)

// programChecksOf reads a conform file of a service of programs.
func programChecksOf(t *testing.T, text string) ([]Check, error) {
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
			checks, err := programChecksOf(t,
				"# results\nfib 20 = 6765\nfails nonsense 1 # refused\n")
			if err != nil || len(checks) != 2 {
				t.Fatalf("got %d checks (%v), want 2", len(checks), err)
			}
			var failed []string
			for _, check := range checks {
				err := check.Play(t.Context(), faulty.Script(t, c.line), serve.Unhurried)
				if err != nil {
					failed = append(failed, err.Error())
				}
			}
			got := strings.Join(failed, "; ")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	checks, err := programChecksOf(t, "fib 20 7 = 47355\n")
	if err != nil || len(checks) != 1 {
		t.Fatalf("got %d checks (%v), want 1", len(checks), err)
	}
	seven := faulty.Script(t, `for i in 1 2; do echo $(($3*6765)) .1; done`)
	if err := checks[0].Play(t.Context(), seven, serve.Unhurried); err != nil {
		t.Errorf("with 7 workers: %v", err)
	}
	for _, wrong := range []string{"fib 20", "fib twenty = 6765", "fails", "fails fib 1 2",
		"fib 20 0 = 1", "fib 20 many = 1"} {
		if _, err := programChecksOf(t, wrong); err == nil ||
			!strings.Contains(err.Error(), "small.results:1: ") {
			t.Errorf("%q: got %v, want an error with its line", wrong, err)
		}
	}
}
