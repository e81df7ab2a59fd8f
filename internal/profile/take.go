package profile

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// readLimit bounds the JDK's program, which takes seconds for a recording of ten.
const readLimit = 2 * time.Minute

// A Taker makes servers of a language keep a profile, and reads it.
type Taker struct {
	Tells string // the profiler and its event, for the report
	// Env makes a server keep a profile in the file, until it ends.
	Env  func(file string) string
	read func(ctx context.Context, file, java string) (*Node, error)
}

// takers by language.
var takers = map[string]Taker{
	"go": {
		Tells: "runtime/pprof, 100 samples a second of CPU",
		Env:   func(file string) string { return "CPUPROFILE=" + file },
		read: func(_ context.Context, file, _ string) (*Node, error) {
			f, err := os.Open(file)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			return ReadPprof(f)
		},
	},
	"java": {
		Tells: "JFR's CPU-time samples, up to 500 a second, without the JVM's own threads " +
			"(compiling, collecting)",
		Env: func(file string) string {
			return "JAVA_TOOL_OPTIONS=-XX:FlightRecorderOptions=stackdepth=128 " +
				"-XX:StartFlightRecording=filename=" + file + ",dumponexit=true," + CPUTime +
				"#enabled=true"
		},
		read: readRecording,
	},
}

// Of returns how a language's servers are profiled, if they can be.
func Of(language string) (Taker, bool) {
	t, ok := takers[language]
	return t, ok
}

// Read reads the profile that a server has left. Java is the program that ran it; the JDK has a
// program that reads recordings beside it.
func (t Taker) Read(ctx context.Context, file, java string) (*Node, error) {
	n, err := t.read(ctx, file, java)
	if err != nil {
		return nil, err
	}
	if n.N == 0 {
		return nil, fmt.Errorf("no sample: the server had next to nothing to do")
	}
	return n, nil
}

func readRecording(ctx context.Context, file, java string) (*Node, error) {
	if _, err := os.Stat(file); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(filepath.Dir(java), "jfr"), "print", "--json",
		"--stack-depth", "128", "--events", CPUTime, file)
	var said bytes.Buffer
	cmd.Stderr = &said
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("jfr print: %w: %.200s", err, said.String())
	}
	return ReadJFR(bytes.NewReader(text))
}
