// Package faulty is for tests: it has servers with one fault each, which a test must find. The one
// called good has none, and every test must pass it.
package faulty

import (
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/netns"
	"interleave/internal/probe/toolchain"
)

// folder is where the programs of a test binary are built. Main makes and removes it.
var folder string

// Main runs the tests of a package that uses faulty servers; its TestMain calls it. The tests wait
// more than they compute, so 16 run at once unless -parallel says how many.
func Main(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "faulty")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		folder = dir
		flag.Parse()
		told := false
		flag.Visit(func(f *flag.Flag) { told = told || f.Name == "test.parallel" })
		if !told {
			_ = flag.Set("test.parallel", "16") // the flag is there, and takes a number
		}
		return m.Run()
	}())
}

// programs has for each source that was asked for a function that builds it once.
var programs sync.Map

// Program builds the Go program of a folder, such as "testdata/chat", once for all tests of the
// package and returns its path. The folder is relative to that of the test.
func Program(t *testing.T, source string) (path string) {
	t.Helper()
	build, _ := programs.LoadOrStore(source, sync.OnceValues(func() (string, error) {
		program := filepath.Join(folder, filepath.Base(source))
		out, err := exec.Command("go", "build", "-o", program,
			filepath.Join(source, "main.go")).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("building %s: %w\n%s", source, err, out)
		}
		return program, nil
	}))
	path, err := build.(func() (string, error))()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// own is the path of one of this package's programs, whichever package's test asks.
func own(t *testing.T, name string) string {
	t.Helper()
	for up := "."; ; up = filepath.Join(up, "..") {
		if _, err := os.Stat(filepath.Join(up, "go.mod")); err == nil {
			return filepath.Join(up, "internal/probe/faulty/testdata", name)
		}
		if abs, err := filepath.Abs(up); err != nil || abs == "/" {
			t.Fatalf("no go.mod above the test's folder: %v", err)
		}
	}
}

// Server returns a server of the service echo that has one fault; testdata/bad lists them.
func Server(t *testing.T, fault string) *toolchain.Built {
	t.Helper()
	program := Program(t, own(t, "bad"))
	return Built(t, &manifest.Model{Name: fault, Service: "echo",
		Run: []string{program, fault, "{port}", "{host}"}})
}

// Host returns a host behind a tap that has one fault; testdata/host lists them. The test is
// skipped where taps cannot be made.
func Host(t *testing.T, fault string) *toolchain.Built {
	t.Helper()
	if err := netns.Able(manifest.Tap); err != nil {
		t.Skip("SKIP:", err)
	}
	program := Program(t, own(t, "host"))
	return Built(t, &manifest.Model{Name: fault, Service: "transfer", Hosts: manifest.Tap,
		Run: []string{program, fault, "{device}", "{address}", "{peer}", "{port}"}})
}

// Script returns a program of one line of shell, which has the kernel, the problem, the workers and
// the rounds as $1 to $4.
func Script(t *testing.T, line string) *toolchain.Built {
	t.Helper()
	return Built(t, &manifest.Model{Name: "sh-serial", Service: "forkjoin",
		Run: []string{"sh", "-c", line, "sh", "{kernel}", "{problem}", "{workers}", "{rounds}"}})
}

// Built returns a model as if it had been built, with folders of its own.
func Built(t *testing.T, model *manifest.Model) *toolchain.Built {
	t.Helper()
	model.Dir = t.TempDir()
	if model.Ready == "" {
		model.Ready = manifest.ReadyLine
	}
	return &toolchain.Built{Model: model, Env: os.Environ(), Out: t.TempDir()}
}

// rungs are the patiences with which Find looks for a fault, one after the other.
var rungs = []float64{1, 5, 30}

// Find has a fault looked for until the error holds one of the wanted texts, which are separated
// by "|". A fault of which nothing ever comes shows when a limit ends, so the limits are short
// first. On a busy machine that may bring another error, which is believed only with the longest
// limits. That there is no error is believed at once. If no text is wanted, nothing is hurried.
func Find(want string, look func(patience float64) error) (err error) {
	if want == "" {
		return look(math.Inf(1))
	}
	for _, patience := range rungs {
		if err = look(patience); err == nil || Holds(err, want) {
			return err
		}
	}
	return err
}

// Holds reports whether an error contains one of the texts, which are separated by "|".
func Holds(err error, texts string) bool {
	for text := range strings.SplitSeq(texts, "|") {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}

// Eventually waits until another process has done something.
func Eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	const patience = 5 * time.Minute // it ends only a test that has failed
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if done() {
			return
		}
	}
	t.Errorf("waited %v for %s", patience, what)
}

// NeedPing skips the test if there is no command ping.
func NeedPing(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("ping"); err != nil {
		t.Skip("SKIP: ping: apt-get install iputils-ping")
	}
}
