package build_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"interleave/eve/build"
	"interleave/eve/compile"
	"interleave/eve/emit"
	"interleave/eve/source"
	"interleave/eve/trial"
)

// BenchmarkHTTP measures how long a user waits for a program that serves HTTP and is a client of
// it, in 136 lines: from its text to the file, after a change in one of its lines, and without one.
// The library is compiled already.
func BenchmarkHTTP(b *testing.B) {
	trial.NeedCompiler(b)
	const file = "balance.eve"
	content, err := os.ReadFile(filepath.Join("../../docs/eve/examples", file))
	if err != nil {
		b.Fatal(err)
	}
	text := string(content)
	const line = `x.respond(503, "`
	if !strings.Contains(text, line) {
		b.Fatalf("%s has no line with %s", file, line)
	}
	changed := func() string { // as no run before has built it
		return strings.Replace(text, line, line+fmt.Sprint(time.Now().UnixNano()), 1)
	}
	for _, how := range []struct {
		name string
		emit emit.Options
		o    build.Options
	}{
		{"run", emit.Options{Checked: true, Debug: true}, build.Options{}},
		{"build", emit.Options{}, build.Options{Optimise: true,
			Out: filepath.Join(b.TempDir(), "program")}},
	} {
		makes := func(b *testing.B, text string) {
			p, diags := compile.Check(source.NewFile(file, text), nil)
			if p == nil {
				b.Fatalf("%s: %v", file, diags)
			}
			units, err := emit.Program(p, how.emit)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := build.Build(b.Context(), units, how.o); err != nil {
				b.Fatal(err)
			}
		}
		makes(b, text)
		b.Run(how.name+"/changed", func(b *testing.B) {
			before := used()
			for b.Loop() {
				makes(b, changed())
			}
			b.ReportMetric(float64((used()-before).Milliseconds())/float64(b.N), "cpu-ms/op")
		})
		b.Run(how.name+"/unchanged", func(b *testing.B) {
			before := used()
			for b.Loop() {
				makes(b, text)
			}
			b.ReportMetric(float64((used()-before).Milliseconds())/float64(b.N), "cpu-ms/op")
		})
	}
}

// used is the processor time of this process and of the compilers that it has run: a machine that
// is busy otherwise stretches only the time on the clock.
func used() time.Duration {
	var all time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		if syscall.Getrusage(who, &r) == nil {
			all += time.Duration(r.Utime.Nano() + r.Stime.Nano())
		}
	}
	return all
}
