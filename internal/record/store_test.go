package record

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"interleave/internal/manifest"
)

// aRun makes a run with n cells and returns its directory.
func aRun(t *testing.T, n int) string {
	t.Helper()
	w, err := Create(t.TempDir(), Header{ID: NewID(time.Unix(0, 0)), Seed: 7}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := w.Append(&Cell{Model: "c-epoll", Round: i + 1, Status: Measured}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.Dir
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	dir := aRun(t, 3)
	run, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(run.Cells), 3; got != want {
		t.Errorf("%d cells, want %d", got, want)
	}
	if got, want := run.Header.Seed, uint64(7); got != want {
		t.Errorf("seed %d, want %d", got, want)
	}
	if got, want := run.Header.ID, "19700101T000000Z"; got != want {
		t.Errorf("ID %s, want %s", got, want)
	}
}

func TestATornLineIsCutOffAndTheRunGoesOn(t *testing.T) {
	whole := aRun(t, 2)
	data, err := os.ReadFile(filepath.Join(whole, cellsFile))
	if err != nil {
		t.Fatal(err)
	}
	first := bytes.IndexByte(data, '\n') + 1
	for cut := first; cut < len(data); cut += 7 { // a kill may come after any byte
		dir := aRun(t, 0)
		if err := os.WriteFile(filepath.Join(dir, cellsFile), data[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		w, run, err := Resume(dir)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if got, want := len(run.Cells), 1; got != want {
			t.Fatalf("cut at %d: %d cells, want %d", cut, got, want)
		}
		err = errors.Join(w.Append(&Cell{Model: "next", Round: 2}), w.Close())
		if err != nil {
			t.Fatal(err)
		}
		run, err = Read(dir)
		if err != nil || len(run.Cells) != 2 || run.Cells[1].Model != "next" {
			t.Fatalf("cut at %d: after resuming %v, %v", cut, run, err)
		}
	}
}

func TestABadLineInTheMiddleIsNamed(t *testing.T) {
	dir := aRun(t, 2)
	name := filepath.Join(dir, cellsFile)
	data, _ := os.ReadFile(name)
	if err := os.WriteFile(name, append([]byte("{\"round\":\n"), data...), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Read(dir)
	if err == nil || !strings.Contains(err.Error(), "cells.jsonl:1:") {
		t.Errorf("got %v, want an error that names cells.jsonl:1", err)
	}
}

func TestTwoWritersDoNotShareARun(t *testing.T) {
	dir := aRun(t, 1)
	w, _, err := Resume(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, _, err := Resume(dir); !errors.Is(err, ErrLocked) {
		t.Errorf("a second writer got %v, want %v", err, ErrLocked)
	}
	if _, err := Read(dir); err != nil {
		t.Errorf("a reader beside a writer: %v", err)
	}
}

func TestTwoRunsOfOneSecondHaveTwoFolders(t *testing.T) {
	root, h := t.TempDir(), Header{ID: "20260101T000000Z"}
	a, err := Create(root, h, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Create(root, h, nil)
	if err != nil {
		t.Fatal(err)
	}
	if a.Dir == b.Dir || b.Header().ID != "20260101T000000Z-2" {
		t.Errorf("folders %s and %s", a.Dir, b.Dir)
	}
}

// TestAFullDiskLosesNoOtherCell bounds the size of files, which fails a write half-way as a full
// disk does.
func TestAFullDiskLosesNoOtherCell(t *testing.T) {
	w, err := Create(t.TempDir(), Header{ID: "full"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	small := &Cell{Model: "small"}
	if err := w.Append(small); err != nil {
		t.Fatal(err)
	}
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(w.size) + 100,
		Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	err = w.Append(&Cell{Model: "large", Tail: strings.Repeat("x", 4096)})
	if e := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); e != nil {
		t.Fatal(e)
	}
	if err == nil {
		t.Fatal("a write beyond the limit succeeded")
	}
	if err := errors.Join(w.Append(small), w.Close()); err != nil {
		t.Fatal(err)
	}
	run, err := Read(w.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Cells) != 2 || run.Cells[1].Model != "small" {
		t.Errorf("after a failed write the file holds %d cells, want the 2 small ones",
			len(run.Cells))
	}
}

func TestARunWhoseFillFailsIsNone(t *testing.T) {
	root, full := t.TempDir(), errors.New("no space")
	if _, err := Create(root, Header{ID: "half"},
		func(string) error { return full }); !errors.Is(err, full) {
		t.Errorf("got %v, want %v", err, full)
	}
	if ids, err := List(root); err != nil || len(ids) != 0 {
		t.Errorf("runs %v, %v, want none", ids, err)
	}
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	for _, id := range []string{"20260101T000000Z", "20260101T000001Z", "20260202T000000Z"} {
		w, err := Create(root, Header{ID: id}, nil)
		if err != nil {
			t.Fatal(err)
		}
		w.Close()
	}
	tests := []struct{ name, want, fails string }{
		{"last", "20260202T000000Z", ""},
		{"20260101T000000Z", "20260101T000000Z", ""},
		{"202602", "20260202T000000Z", ""},
		{"202601", "", "the beginning of 2 runs"},
		{"1999", "", "no run"},
		{filepath.Join(root, "20260101T000001Z"), "20260101T000001Z", ""},
	}
	for _, tt := range tests {
		dir, err := Find(root, tt.name)
		if tt.fails != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("Find(%q): %v, want an error with %q", tt.name, err, tt.fails)
			}
			continue
		}
		if err != nil || filepath.Base(dir) != tt.want {
			t.Errorf("Find(%q) = %s, %v, want %s", tt.name, dir, err, tt.want)
		}
	}
	if _, err := Find(t.TempDir(), "last"); err == nil ||
		!strings.Contains(err.Error(), "interleave run") {
		t.Errorf("Find without runs: %v, want an error that names the way out", err)
	}
}

func TestALaterFormatIsRefused(t *testing.T) {
	dir := aRun(t, 0)
	if err := os.WriteFile(filepath.Join(dir, headerFile), []byte(`{"version": 99}`),
		0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "version 99") {
		t.Errorf("got %v, want an error that names version 99", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("{}\n"))
	f.Add([]byte(`{"experiment":"e","round":1,"status":"measured","result":{"window_ns":1,"slices":[1]}}` + "\n" + `{"round"`))
	for _, kind := range []string{"requests", "turns", "messages", "chat", "ingest", "quiet",
		"streams", "images", "pings", "transfers", "bulk", "solved"} {
		f.Add([]byte(`{"status":"measured","result":{"kind":"` + kind + `","part":{}}}` + "\n"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cells, whole, err := decode(bytes.NewReader(data))
		if err != nil {
			return
		}
		if whole > int64(len(data)) || int(whole) != 0 && data[whole-1] != '\n' {
			t.Errorf("whole lines end at %d of %d", whole, len(data))
		}
		if got, want := len(cells), bytes.Count(data[:whole], []byte{'\n'}); got != want {
			t.Errorf("%d cells of %d lines", got, want)
		}
		for i := range cells { // no figure of a strange cell may panic
			for m := range metrics {
				cells[i].Raw(m)
			}
		}
	})
}

// metrics are those of the vocabulary, and one that nobody knows.
var metrics = func() map[manifest.Metric]bool {
	m := map[manifest.Metric]bool{"unknown": true}
	for name := range manifest.Metrics {
		m[name] = true
	}
	return m
}()
