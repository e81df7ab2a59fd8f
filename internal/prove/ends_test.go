package prove

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// ends is a package whose test ends in the way that a file names.
const ends = `package three

import (
	"os"
	"syscall"
	"testing"
)

func TestEnd(t *testing.T) {
	way, err := os.ReadFile("../out/way")
	if err != nil {
		t.Fatal(err)
	}
	switch string(way) {
	case "panic":
		panic("out of luck")
	case "exit":
		println("goes")
		os.Exit(3)
	case "killed":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "limit":
		select {}
	case "part":
		t.Run("part", func(t *testing.T) { t.Error("a part fails") })
	case "fatal":
		t.Log("first")
		t.Fatal("wanted more")
	case "skipped":
		t.Skip("SKIP: install luck")
	}
}
`

// TestEnds checks the messages about test programs that end in unusual ways.
func TestEnds(t *testing.T) {
	files := map[string]string{"three/three_test.go": ends}
	three := func(t *testing.T) *checkout {
		c := newCheckout(t, files)
		c.o.Packages = []string{"three"}
		return c
	}
	if err := Build(t.Context(), three(t).o); err != nil { // once for all that follow
		t.Fatal(err)
	}
	for way, want := range map[string]string{
		"panic":   "out of luck",
		"exit":    "the test program ended with exit status 3",
		"killed":  "the test program ended with signal: killed",
		"limit":   "test timed out after",
		"part":    "again:     go test ./three -count=1 -run '^TestEnd$/^part$'",
		"fatal":   "wanted more",
		"skipped": "SKIP three TestEnd: install luck",
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			c := three(t)
			c.write("out/way", way)
			if way == "limit" {
				c.o.Limit = 2 * time.Second
			}
			report, err := c.run()
			if fails := way != "skipped"; fails != errors.Is(err, ErrFailed) ||
				fails != (report.Failed() > 0) {
				t.Errorf("got %v with %d failures", err, report.Failed())
			}
			if !strings.Contains(c.out.String(), want) {
				t.Errorf("the output lacks %q:\n%s", want, c.out.String())
			}
		})
	}
}

// TestLaterIsStopped fails in the first ring while a test of the second runs, which is stopped.
func TestLaterIsStopped(t *testing.T) {
	c := newCheckout(t, map[string]string{"three/three_test.go": `package three

import (
	"os"
	"testing"
	"time"
)

func TestFails(t *testing.T) {
	for {
		if _, err := os.Stat("../out/begun"); err == nil {
			t.Fatal("out of luck")
		}
		time.Sleep(time.Millisecond)
	}
}

func TestLater(t *testing.T) {
	os.WriteFile("../out/begun", nil, 0o644)
	select {}
}
`})
	c.change(RingsFile, "[[reads]]", "[[part]]\nring = \"whole\"\npackages = [\"three\"]\n"+
		"tests = [\"TestLater\"]\nmoved = true\nwhy = \"it is later\"\n\n[[reads]]")
	c.o.Rings, c.o.Packages = []string{"core", "whole"}, []string{"three"}
	c.o.Limit = time.Minute
	report, err := c.run()
	if !errors.Is(err, ErrFailed) || report.Failed() != 1 ||
		!slices.Equal(report.NotRun, []string{"whole three"}) {
		t.Errorf("got %v, %d failures and %q not run\n%s", err, report.Failed(), report.NotRun,
			c.out.String())
	}
}
