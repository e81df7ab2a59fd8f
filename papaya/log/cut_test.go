package log

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const cutLines = "one\ntwo\nthree\nfour\n" // "three" begins at offset 8

// TestMain makes this program also the process that ends during a cut: FOLDER STEP.
func TestMain(m *testing.M) {
	if os.Getenv("PAPAYA_CUT") == "" {
		os.Exit(m.Run())
	}
	t, err := OpenText(os.Args[1])
	if err == nil {
		t.step = func(step string) {
			if step == os.Args[2] {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}
		err = errors.Join(t.Cut(8), t.Close())
	}
	if err != nil {
		panic(err)
	}
}

// TestACutThatIsKilled kills the process at each step of a cut. Then either the old text or the new
// one must be there, with each line at its offset.
func TestACutThatIsKilled(t *testing.T) {
	for _, c := range []struct {
		// The text as another program reads it after the kill, and after the next start.
		step, killed, after string
	}{
		{"new", cutLines, cutLines},
		{"copied", cutLines, cutLines},
		{"said", cutLines, "three\nfour\n"},
		{"renamed", "three\nfour\n", "three\nfour\n"},
		{"begun", "three\nfour\n", "three\nfour\n"},
		{"never", "three\nfour\n", "three\nfour\n"},
	} {
		t.Run(c.step, func(t *testing.T) {
			folder := t.TempDir()
			x := openText(t, folder)
			write(t, x, 0, cutLines)
			x.Close()
			cmd := exec.Command(os.Args[0], folder, c.step)
			cmd.Env = append(os.Environ(), "PAPAYA_CUT=1")
			if out, err := cmd.CombinedOutput(); (err == nil) != (c.step == "never") {
				t.Fatalf("the process that cuts: %v\n%s", err, out)
			}
			begin, err := ReadBegin(folder)
			if err != nil || begin != uint64(len(cutLines)-len(c.killed)) {
				t.Errorf("after the kill the log begins at %d, %v", begin, err)
			}
			wantFile(t, folder, c.killed)
			for range 2 { // the second start finds nothing to do
				x = openText(t, folder)
				wantFile(t, folder, c.after)
				p := make([]byte, 5)
				if _, err := x.ReadAt(p, 8); err != nil || string(p) != "three" {
					t.Errorf("at 8 stands %q, %v", p, err)
				}
				if x.End() != uint64(len(cutLines)) {
					t.Errorf("it ends at %d", x.End())
				}
				x.Close()
			}
			for _, name := range []string{"log.new", "log.cut", "log.begin.new", "log.cut.new"} {
				if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
					t.Errorf("%s is left", name)
				}
			}
		})
	}
}

func TestWhatStandsBeforeAGapIsKeptBeside(t *testing.T) {
	folder := t.TempDir()
	x := openText(t, folder)
	write(t, x, 0, "one\n")
	write(t, x, 100, "late\n")
	wantFile(t, folder, "late\n")
	if x.Begin() != 100 || x.End() != 105 {
		t.Errorf("from %d to %d, want 100 to 105", x.Begin(), x.End())
	}
	if old, err := os.ReadFile(filepath.Join(folder, "log.until-4")); string(old) != "one\n" {
		t.Errorf("kept: %q, %v", old, err)
	}
	if _, err := x.ReadAt(make([]byte, 4), 0); err == nil || errors.Is(err, io.EOF) ||
		!strings.Contains(err.Error(), "begins at 100") {
		t.Errorf("reading before the gap: %v", err)
	}
}

func TestLinesThatComeWhileTheHeadIsCutOff(t *testing.T) {
	folder := t.TempDir()
	x := openText(t, folder)
	write(t, x, 0, "one\ntwo\n")
	x.step = func(step string) {
		if step == "new" {
			write(t, x, 8, "three\n")
		}
	}
	if err := x.Cut(4); err != nil {
		t.Fatal(err)
	}
	x.step = nil
	write(t, x, 14, "four\n")
	wantFile(t, folder, "two\nthree\nfour\n")
	if x.Begin() != 4 || x.End() != 19 {
		t.Errorf("from %d to %d, want 4 to 19", x.Begin(), x.End())
	}
}
