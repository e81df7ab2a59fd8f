package log

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	lineA = "2026-11-22T07:20:11.123Z :ann!ann@127.0.0.1 PRIVMSG #tea :the kettle is on\n"
	lineB = "2026-11-22T07:20:12.123Z :bob!bob@127.0.0.1 PRIVMSG #pot :mine, too\n"
)

func TestRemovedLinesLeaveTheirPlaces(t *testing.T) {
	folder := t.TempDir()
	x := openText(t, folder)
	write(t, x, 0, lineA+lineB+lineA)
	tea := func(line []byte, _ uint64) bool { return bytes.Contains(line, []byte(" #tea ")) }
	if n, err := x.Blank(tea); n != 2 || err != nil {
		t.Fatalf("removed %d, %v; want 2", n, err)
	}
	empty := "2026-11-22T07:20:11.123Z -" + strings.Repeat(" ", len(lineA)-27) + "\n"
	wantFile(t, folder, empty+lineB+empty)
	if !IsBlank([]byte(empty)) || IsBlank([]byte(lineA)) {
		t.Error("a line that was removed is not told from others")
	}
	if n, err := x.Blank(tea); n != 0 || err != nil {
		t.Errorf("again: removed %d, %v", n, err)
	}
	if _, err := os.Stat(filepath.Join(folder, "log.new")); err == nil {
		t.Error("log.new is left")
	}
	write(t, x, uint64(2*len(lineA)+len(lineB)), lineB)
	x.Close()

	// After a crash the lines are written again from the stream. Removed lines stay removed, and
	// nothing is set aside.
	x = openText(t, folder)
	write(t, x, uint64(len(lineA)), lineB+lineA+lineB+lineA)
	wantFile(t, folder, empty+lineB+empty+lineB+lineA)
	if torn, _ := filepath.Glob(filepath.Join(folder, "log.torn*")); torn != nil {
		t.Errorf("set aside: %v", torn)
	}
	// A line that differs is still found.
	write(t, x, uint64(len(lineA)), strings.ToUpper(lineB))
	if torn, _ := filepath.Glob(filepath.Join(folder, "log.torn*")); torn == nil {
		t.Error("lines that differ from the stream have stayed")
	}
}

func TestLinesThatComeWhileOthersAreRemoved(t *testing.T) {
	folder := t.TempDir()
	x := openText(t, folder)
	write(t, x, 0, lineA+lineB)
	n, err := x.Blank(func(line []byte, at uint64) bool {
		if at == 0 {
			write(t, x, x.End(), lineA)
		}
		return at == 0
	})
	if n != 1 || err != nil {
		t.Fatalf("removed %d, %v", n, err)
	}
	got, err := os.ReadFile(filepath.Join(folder, "log"))
	if err != nil || !strings.HasSuffix(string(got), lineB+lineA) || x.End() != uint64(len(got)) {
		t.Errorf("the file holds %q, %v", got, err)
	}
}
