package run

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/probe/toolchain"
	"interleave/internal/record"
)

// TestItself has a bench whose second cell always answers a tenth more, and voids every fourth.
func TestItself(t *testing.T) {
	for _, duet := range []bool{false, true} {
		b := &fakeBench{}
		b.answer = func(s *Spec, c *record.Cell, nth int) error {
			rate := 1e5 * math.Exp(.01*float64(nth%3))
			if s.Twin {
				rate *= 1.1
			}
			answered(c, rate)
			if nth%4 == 0 {
				spoil(c, "steal")
			}
			return nil
		}
		built := &toolchain.Built{Model: &manifest.Model{Name: "c-epoll", Service: "echo"}}
		i := NewItself("/nonexistent", built)
		i.Bench = b
		trial, err := i.Try(t.Context(), duet, 5)
		if err != nil {
			t.Fatal(err)
		}
		if len(b.asked) != 16 || trial.Cells != 16 || trial.Void != 4 || (b.duets == 8) != duet {
			t.Errorf("duet %v: %d cells in %d duets, %d of %d void", duet, len(b.asked), b.duets,
				trial.Void, trial.Cells)
		}
		all, counted := trial.All[manifest.Throughput], trial.Counted[manifest.Throughput]
		if all.Estimate < 1.07 || all.Estimate > 1.13 || all.Contains(1) ||
			all.Short() || !counted.Short() { // four rounds give no interval of 95 %
			t.Errorf("duet %v: a ratio of %v, of the cells that count %v; want 1.1 and none", duet,
				all, counted)
		}
	}
}

func TestItselfFails(t *testing.T) {
	bad := errors.New("no disk")
	i := NewItself("/nonexistent", &toolchain.Built{Model: &manifest.Model{Name: "a",
		Service: "echo"}})
	i.Bench = &fakeBench{answer: func(*Spec, *record.Cell, int) error { return bad }}
	for _, duet := range []bool{false, true} {
		if _, err := i.Try(context.Background(), duet, 1); !errors.Is(err, bad) {
			t.Errorf("duet %v: got %v, want the bench's error", duet, err)
		}
	}
}

// TestBeside starts busy loops and sees them gone.
func TestBeside(t *testing.T) {
	stop, err := Beside(2)
	if err != nil {
		t.Fatal(err)
	}
	if n := loops(t); n != 2 {
		t.Errorf("%d busy loops run, want 2", n)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	for end := time.Now().Add(time.Minute); loops(t) > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if n := loops(t); n > 0 {
		t.Errorf("%d busy loops live on", n)
	}
}

// loops counts the children of this process that are busy loops.
func loops(t *testing.T) (n int) {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range found {
		line, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(line), "while :; do :; done") {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(filepath.Dir(file), "stat"))
		if _, rest, ok := strings.Cut(string(stat), ") "); err == nil && ok {
			fields := strings.Fields(rest)
			if fields[0] != "Z" && fields[1] == strconv.Itoa(os.Getpid()) {
				n++
			}
		}
	}
	return n
}
