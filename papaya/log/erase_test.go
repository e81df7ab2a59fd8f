package log

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// erased is what Erase makes of a line.
func erased(line string) string { return string(blank([]byte(line))) }

func erase(t *testing.T, x *Text, at, size int) {
	t.Helper()
	if err := x.Erase(uint64(at), size); err != nil {
		t.Fatal(err)
	}
}

func TestErase(t *testing.T) {
	folder := t.TempDir()
	x := openText(t, folder)
	write(t, x, 0, lineA+lineB+lineA+lineB)
	erase(t, x, len(lineA), len(lineB+lineA))
	wantFile(t, folder, lineA+erased(lineB)+erased(lineA)+lineB)
	erase(t, x, len(lineA), len(lineB)) // again, as after a crash
	erase(t, x, 0, len(lineA))
	want := erased(lineA) + erased(lineB) + erased(lineA) + lineB
	wantFile(t, folder, want)

	for name, s := range map[string]span{"within a line": {2, len(lineA) - 2},
		"not to its end": {uint64(len(want) - len(lineB)), 10}} {
		erase(t, x, int(s.at), s.size)
		if got, _ := os.ReadFile(filepath.Join(folder, "log")); string(got) != want {
			t.Errorf("%s: the file becomes %q", name, got)
		}
	}
	if err := x.Erase(uint64(len(want)-len(lineB)), 2*len(lineB)); err == nil {
		t.Error("more than there is can be erased")
	}

	// After a crash the lines come again from the stream, and stay erased.
	x.Close()
	x = openText(t, folder)
	write(t, x, 0, lineA+lineB+lineA+lineB+lineA)
	wantFile(t, folder, want+lineA)
	if x.Cut(uint64(len(lineA))) != nil {
		t.Fatal("it cannot be cut")
	}
	erase(t, x, 0, len(lineA)) // before the beginning
	erase(t, x, len(want), len(lineA))
	wantFile(t, folder, want[len(lineA):]+erased(lineA))
}

// TestAnEraseThatIsKilled: a line of which a crash has left a part is the line of the stream.
func TestAnEraseThatIsKilled(t *testing.T) {
	folder := t.TempDir()
	half := erased(lineB)[:40] + lineB[40:]
	if err := os.WriteFile(filepath.Join(folder, "log"), []byte(lineA+half), 0o600); err != nil {
		t.Fatal(err)
	}
	x := openText(t, folder)
	write(t, x, 0, lineA+lineB+lineA)
	erase(t, x, len(lineA), len(lineB))
	wantFile(t, folder, lineA+erased(lineB)+lineA)
	if torn, _ := filepath.Glob(filepath.Join(folder, "log.torn*")); torn != nil {
		t.Errorf("set aside: %v", torn)
	}
}

// TestEraseWhileTheTextIsCopied: what is erased while a copy is made is erased in the copy, too.
func TestEraseWhileTheTextIsCopied(t *testing.T) {
	folder := t.TempDir()
	x := openText(t, folder)
	write(t, x, 0, lineA+lineB+lineA)
	x.step = func(step string) {
		if step == "writing" {
			erase(t, x, len(lineA), len(lineB))
			erase(t, x, 0, len(lineA)) // it is cut off
		}
	}
	if err := x.Cut(uint64(len(lineA))); err != nil {
		t.Fatal(err)
	}
	wantFile(t, folder, erased(lineB)+lineA)
	x.step = nil
	write(t, x, uint64(len(lineA+lineB+lineA)), lineB)
	n, err := x.Blank(func(line []byte, at uint64) bool {
		if at == uint64(len(lineA+lineB)) { // the next line was read with this one
			erase(t, x, len(lineA+lineB+lineA), len(lineB))
			return true
		}
		return false
	})
	if n != 1 || err != nil {
		t.Fatalf("removed %d, %v", n, err)
	}
	wantFile(t, folder, erased(lineB)+erased(lineA)+erased(lineB))
}

// TestEraseOfLinesThatWait: lines that cannot be written yet are erased before they are written,
// and lines that cannot be erased are erased as soon as they can.
func TestEraseOfLinesThatWait(t *testing.T) {
	folder := t.TempDir()
	x := openText(t, folder)
	write(t, x, 0, lineA)
	x.pending = []byte(lineB + lineA)
	erase(t, x, len(lineA), len(lineB))
	if got := string(x.pending); got != erased(lineB)+lineA {
		t.Errorf("waiting: %q", got)
	}
	aside := folder + ".aside"
	if err := os.Rename(folder, aside); err != nil {
		t.Fatal(err)
	}
	if err := x.Erase(0, len(lineA)); err == nil {
		t.Error("a line in a folder that is gone can be erased")
	}
	if err := os.Rename(aside, folder); err != nil {
		t.Fatal(err)
	}
	if err := x.Ready(); err != nil {
		t.Fatal(err)
	}
	wantFile(t, folder, erased(lineA)+erased(lineB)+lineA)
	if strings.Contains(string(x.pending), "kettle") || len(x.unerased) > 0 {
		t.Errorf("still waiting: %q, %v", x.pending, x.unerased)
	}
}
