package log

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func openText(t *testing.T, folder string) *Text {
	t.Helper()
	text, err := OpenText(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { text.Close() })
	return text
}

func write(t *testing.T, x *Text, at uint64, lines string) {
	t.Helper()
	if err := x.Write(at, []byte(lines)); err != nil {
		t.Fatalf("writing %q at %d: %v", lines, at, err)
	}
}

func wantFile(t *testing.T, folder, want string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(folder, "log"))
	if err != nil || string(got) != want {
		t.Errorf("the file holds %q, %v; want %q", got, err, want)
	}
}

func TestALineThatACrashHasCutOffIsRemoved(t *testing.T) {
	for _, c := range [][2]string{
		{"", ""}, {"one\n", "one\n"}, {"one\ntw", "one\n"}, {"on", ""},
		{"one\n" + strings.Repeat("x", 200<<10), "one\n"},
	} {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "log"), []byte(c[0]), 0o600); err != nil {
			t.Fatal(err)
		}
		openText(t, folder).Close()
		wantFile(t, folder, c[1])
	}
}

func TestWhatIsThereIsNotWrittenTwice(t *testing.T) {
	folder := t.TempDir()
	x := openText(t, folder)
	write(t, x, 0, "one\ntwo\n")
	x.Close()
	x = openText(t, folder)
	write(t, x, 4, "two\nthree\n")
	wantFile(t, folder, "one\ntwo\nthree\n")
	p := make([]byte, 100)
	if n, err := x.ReadAt(p, 8); err != nil || string(p[:n]) != "three\n" {
		t.Errorf("read %q, %v", p[:n], err)
	}
	if _, err := x.ReadAt(p, x.End()); !errors.Is(err, io.EOF) {
		t.Errorf("behind the end: %v", err)
	}
}

func TestWhatTheStreamDoesNotSayIsSetAside(t *testing.T) {
	folder := t.TempDir()
	x := openText(t, folder)
	write(t, x, 0, "one\n\x00\x00\x00\n")
	write(t, x, 4, "two\nthree\n")
	wantFile(t, folder, "one\ntwo\nthree\n")
	if torn, err := os.ReadFile(filepath.Join(folder,
		"log.torn-4")); string(torn) != "\x00\x00\x00\n" {
		t.Errorf("set aside: %q, %v", torn, err)
	}
}

func TestAGapMovesTheBeginning(t *testing.T) {
	folder := t.TempDir()
	x := openText(t, folder)
	write(t, x, 1000, "late\n")
	x.Close()
	x = openText(t, folder)
	if x.Begin() != 1000 || x.End() != 1005 {
		t.Errorf("from %d to %d, want 1000 to 1005", x.Begin(), x.End())
	}
	write(t, x, 1005, "later\n")
	if err := x.Cut(1005); err != nil {
		t.Fatal(err)
	}
	wantFile(t, folder, "later\n")
	if _, err := x.ReadAt(make([]byte, 1), 1000); err == nil {
		t.Error("lines that were cut off can be read")
	}
	write(t, x, 1011, "last\n")
	wantFile(t, folder, "later\nlast\n")
}

// TestWhatIsGoneIsNotWrittenAgain writes the stream's lines since the last state to a text whose
// head was cut off, or whose file was removed.
func TestWhatIsGoneIsNotWrittenAgain(t *testing.T) {
	folder := t.TempDir()
	x := openText(t, folder)
	write(t, x, 0, "one\ntwo\n")
	if err := x.Cut(4); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		write(t, x, 0, "one\n")
		write(t, x, 0, "one\ntwo\nthree\n")
		wantFile(t, folder, "two\nthree\n")
		x.Close()
		x = openText(t, folder)
	}
	if err := os.Remove(filepath.Join(folder, "log")); err != nil {
		t.Fatal(err)
	}
	write(t, x, 14, "four\n")
	x.Close()
	x = openText(t, folder)
	write(t, x, 0, "one\ntwo\nthree\n")
	write(t, x, 14, "four\n")
	wantFile(t, folder, "four\n")
	if x.Begin() != 14 || x.End() != 19 {
		t.Errorf("from %d to %d, want 14 to 19", x.Begin(), x.End())
	}
}

func TestOneServerHasTheFolder(t *testing.T) {
	folder := t.TempDir()
	openText(t, folder)
	if _, err := OpenText(folder); err == nil || !strings.Contains(err.Error(), "another server") {
		t.Errorf("a second server: %v", err)
	}
}

func TestLinesWaitForTheFolder(t *testing.T) {
	root := t.TempDir()
	folder := filepath.Join(root, "data")
	x := openText(t, folder)
	write(t, x, 0, "one\n")
	if err := os.Rename(folder, folder+"-away"); err != nil {
		t.Fatal(err)
	}
	if err := x.Ready(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a folder: %v", err)
	}
	if err := x.Write(4, []byte("two\n")); err == nil {
		t.Error("lines were written without a folder")
	}
	if err := os.Rename(folder+"-away", folder); err != nil {
		t.Fatal(err)
	}
	if err := x.Ready(); err != nil {
		t.Error(err)
	}
	wantFile(t, folder, "one\ntwo\n")
}
