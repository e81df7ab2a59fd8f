package file

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// plenty are limits that no test reaches by accident.
var plenty = Limits{Size: 1 << 20, Account: 4 << 20, Total: 8 << 20, Pixels: 1 << 20}

// openStore opens a folder as a start does.
func openStore(t *testing.T, folder string, limits *Limits) *Store {
	t.Helper()
	s, err := Open(folder, func() Limits { return *limits }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func newStore(t *testing.T) *Store {
	limits := plenty
	return openStore(t, filepath.Join(t.TempDir(), "files"), &limits)
}

// put stores a file.
func put(ctx context.Context, s *Store, owner, name string, data []byte) (Info, string, error) {
	u, err := s.Begin(owner, int64(len(data)))
	if err != nil {
		return Info{}, "", err
	}
	defer u.Abort()
	if _, err := u.Write(data); err != nil {
		return Info{}, "", err
	}
	return u.Commit(ctx, name)
}

func mustPut(t *testing.T, s *Store, owner, name string, data []byte) (Info, string) {
	t.Helper()
	i, token, err := put(t.Context(), s, owner, name, data)
	if err != nil {
		t.Fatal(err)
	}
	return i, token
}

// content returns the content of a token's file.
func contentOf(t *testing.T, s *Store, token string) string {
	t.Helper()
	f, err := s.open(token, dataName)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(f); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// names lists what is in the folder of a store.
func names(t *testing.T, s *Store) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(s.folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestStoreKeepsFiles(t *testing.T) {
	folder, limits := filepath.Join(t.TempDir(), "files"), plenty
	s := openStore(t, folder, &limits)
	i, token := mustPut(t, s, "Ann", "tea.txt", []byte("green"))
	if !isToken(token) || i.Name != "tea.txt" || i.Size != 5 || i.Type != unknown ||
		i.Owner != "Ann" || len(i.ID) != idLen || time.Since(i.Made).Abs() > time.Hour {
		t.Errorf("stored %+v as %q", i, token)
	}
	_, other := mustPut(t, s, "bob", "tea.txt", []byte("black"))
	for range 2 { // now, and after a restart
		if got := contentOf(t, s, token) + " " + contentOf(t, s, other); got != "green black" {
			t.Errorf("got %q", got)
		}
		if found, ok := s.Find(token); !ok || found != i {
			t.Errorf("found %+v, %v; want %+v", found, ok, i)
		}
		if n, size := s.Usage(); n != 2 || size != 10 {
			t.Errorf("%d files of %d bytes", n, size)
		}
		s.Close()
		s = openStore(t, folder, &limits)
	}
	for _, wrong := range []string{"", strings.ToLower(token), token[1:], "..", newToken()} {
		if _, ok := s.Find(wrong); ok {
			t.Errorf("%q leads to a file", wrong)
		}
	}
	for _, name := range names(t, s) {
		if strings.Contains(name, token) || strings.Contains(name, other) {
			t.Errorf("the disk has a token: %s", name)
		}
	}
	info, err := os.Stat(filepath.Join(folder, folderOf(token), dataName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v, %v; want 0600", info.Mode(), err)
	}
}

func TestLimits(t *testing.T) {
	limits := Limits{Size: 10, Account: 25, Total: 40, Pixels: 100}
	s := openStore(t, t.TempDir(), &limits)
	ten := []byte("0123456789")
	for _, step := range []struct {
		owner string
		data  []byte
		want  string // a part of the error; empty: none
	}{
		{"ann", nil, "is empty"},
		{"ann", append(ten, '!'), "larger than 10 B"},
		{"ann", ten, ""}, {"ANN", ten, ""},
		{"ann", ten, "your files would take more than 25 B"},
		{"ann", ten[:5], ""},
		{"bob", ten, ""},
		{"carol", ten, "the files of this server would take more than 40 B"},
		{"carol", ten[:5], ""},
		{"carol", ten[:1], "this server"},
	} {
		_, _, err := put(t.Context(), s, step.owner, "x", step.data)
		if (err == nil) != (step.want == "") || err != nil &&
			!strings.Contains(err.Error(), step.want) {
			t.Errorf("%s, %d bytes: %v, want %q", step.owner, len(step.data), err, step.want)
		}
	}
	if n, size := s.Usage(); n != 5 || size != 40 || len(names(t, s)) != 5 {
		t.Errorf("%d files of %d bytes, %d folders", n, size, len(names(t, s)))
	}
	list := s.List()
	largest := slices.MaxFunc(list, func(a, b Info) int { return int(a.Size - b.Size) })
	if err := s.Remove(largest.ID); err != nil {
		t.Fatal(err)
	}
	if _, _, err := put(t.Context(), s, "carol", "x", ten); err != nil {
		t.Errorf("after one was removed: %v", err)
	}
	limits.Size = 1
	if _, _, err := put(t.Context(), s, "dave", "x", ten); err == nil {
		t.Error("a limit that was lowered does not hold")
	}
}

// TestUploadsThatAreUnderWayCount: uploads that have not ended cannot exceed the limits together,
// and one that is given up counts no more.
func TestUploadsThatAreUnderWayCount(t *testing.T) {
	limits := Limits{Size: 10, Account: 15, Total: 100, Pixels: 100}
	s := openStore(t, t.TempDir(), &limits)
	one, err := s.Begin("ann", -1)
	if err != nil {
		t.Fatal(err)
	}
	two, err := s.Begin("ann", -1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one.Write(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	if _, err := one.Write([]byte{0}); !errors.Is(err, tooLarge(10)) {
		t.Errorf("a byte too many: %v", err)
	}
	if _, err := two.Write(make([]byte, 6)); !errors.Is(err, tooMuch(15)) {
		t.Errorf("both together: %v", err)
	}
	one.Abort()
	if _, err := two.Write(make([]byte, 10)); err != nil {
		t.Errorf("after the other was given up: %v", err)
	}
	two.Abort()
	if n, size := s.Usage(); n != 0 || size != 0 || len(names(t, s)) != 0 || len(s.used) != 0 {
		t.Errorf("%d files of %d bytes are left, and %q", n, size, names(t, s))
	}
}

// TestFullDisk: a disk that is full, at whichever write, is told as that, and nothing is left of
// the upload. When there is room again, files are taken again.
func TestFullDisk(t *testing.T) {
	s := newStore(t)
	writes := 0
	fail := -1 // the write that fails
	s.write = func(f *os.File, p []byte) (int, error) {
		if writes++; writes == fail {
			n, _ := f.Write(p[:len(p)/2])
			return n, &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
		}
		return f.Write(p)
	}
	picture := pngOf(40, 30)
	mustPut(t, s, "ann", "a.png", picture)
	all := writes
	if all != 3 { // data, thumbnail, info
		t.Fatalf("%d writes, want 3", all)
	}
	for fail = 1; fail <= all; fail++ {
		writes = 0
		if _, _, err := put(t.Context(), s, "ann", "a.png", picture); !errors.Is(err, errFull) {
			t.Errorf("write %d: %v, want %v", fail, err, errFull)
		}
		if got := names(t, s); len(got) != 1 {
			t.Errorf("write %d: left %q", fail, got)
		}
	}
	fail = -1
	s.space = func(folder string, _ uint64, _ int) error {
		return &os.PathError{Op: "write", Path: folder, Err: syscall.ENOSPC}
	}
	if _, err := s.Begin("ann", 1); !errors.Is(err, errFull) {
		t.Errorf("without room for messages: %v, want %v", err, errFull)
	}
	s.space = func(string, uint64, int) error { return nil }
	n, size := s.Usage()
	mustPut(t, s, "ann", "b.png", picture)
	if m, now := s.Usage(); m != n+1 || now != 2*size {
		t.Errorf("with room again: %d files of %d bytes, before %d of %d", m, now, n, size)
	}
}

// TestStartCleansUp: what a crash leaves of an upload or a removal is gone after the next start.
// What is damaged is not served, and nothing else is touched.
func TestStartCleansUp(t *testing.T) {
	folder, limits := filepath.Join(t.TempDir(), "files"), plenty
	s := openStore(t, folder, &limits)
	_, whole := mustPut(t, s, "ann", "a", []byte("whole"))
	_, half := mustPut(t, s, "ann", "b", []byte("half"))
	_, damaged := mustPut(t, s, "ann", "c", []byte("damaged"))
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, path)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(freshPrefix+"1/data", "x")
	write(gonePrefix+folderOf(newToken())+"/data", "x")
	write("note", "somebody's")
	write(folderOf(damaged)+"/"+infoName, "{")
	if err := os.Remove(filepath.Join(folder, folderOf(half), infoName)); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, folder, &limits)
	want := []string{folderOf(whole), folderOf(damaged), "note"}
	slices.Sort(want)
	if got := names(t, s); !slices.Equal(got, want) {
		t.Errorf("the folder has %q, want %q", got, want)
	}
	if n, size := s.Usage(); n != 1 || size != 5 || contentOf(t, s, whole) != "whole" {
		t.Errorf("%d files of %d bytes", n, size)
	}
	if _, ok := s.Find(damaged); ok {
		t.Error("a damaged file is served")
	}
}

func TestRemove(t *testing.T) {
	s := newStore(t)
	i, token := mustPut(t, s, "ann", "a", []byte("1"))
	other, _ := mustPut(t, s, "bob", "b", []byte("22"))
	for _, wrong := range []string{"", "x", i.ID + "0", strings.Repeat("0", idLen)} {
		if err := s.Remove(wrong); !errors.Is(err, ErrNone) {
			t.Errorf("removing %q: %v", wrong, err)
		}
	}
	if err := s.Remove(i.ID); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Find(token); ok || contentOf(t, s, token) == "1" {
		t.Error("a removed file is served")
	}
	s.Close()
	if list := s.List(); len(list) != 1 || list[0] != other || len(names(t, s)) != 1 {
		t.Errorf("left: %v, %q", list, names(t, s))
	}
	if err := s.Remove(other.ID); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if n, size := s.Usage(); n != 0 || size != 0 || len(names(t, s)) != 0 || len(s.used) != 0 {
		t.Errorf("%d files of %d bytes are left, and %q", n, size, names(t, s))
	}
}
