package trial_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"interleave/eve/build"
	"interleave/eve/emit"
	"interleave/eve/interp"
	"interleave/eve/trial"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// A failure reports its place and the tasks that it came through: the same in a program of `eve
// run`, in an optimised one, on one worker and on several, and in the interpreter.
func TestTraces(t *testing.T) {
	trial.NeedCompiler(t)
	files, err := filepath.Glob("../testdata/fail/*.eve")
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".eve"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p := trial.Check(t, file, string(text))
			golden := strings.TrimSuffix(file, ".eve") + ".err"
			quick := trial.Build(t, p, emit.Options{Checked: true, Debug: true}, build.Options{})
			if *update {
				if err := os.WriteFile(golden, []byte(trace(trial.Run(t, quick, 1))),
					0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			for _, exe := range []string{quick, trial.Build(t, p, emit.Options{},
				build.Options{Optimise: true})} {
				for _, workers := range []int{1, 2, 4} {
					if got := trace(trial.Run(t, exe, workers)); got != string(want) {
						t.Errorf("%d workers: got\n%s\nwant\n%s\ngo test ./eve/trial -update "+
							"rewrites it", workers, got, want)
					}
				}
			}
			for seed := range uint64(4) {
				var said strings.Builder
				end := interp.Run(p, interp.Options{Seed: seed, Stderr: &said})
				if end.Trace != "" {
					said.WriteString(end.Trace + "\n")
				}
				if said.String() != string(want) {
					t.Errorf("the interpreter, schedule %d: got\n%s\nwant\n%s", seed, said.String(),
						want)
				}
			}
		})
	}
}

// trace is the output of a failed program, without the addresses of the objects that it held.
func trace(end trial.Ending) string {
	var b strings.Builder
	for line := range strings.Lines(end.Err) {
		if !strings.HasPrefix(line, "    it held ") {
			b.WriteString(line)
		}
	}
	return b.String()
}
