package log

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func open(t *testing.T, folder string) *JetStream {
	t.Helper()
	j, err := Open(t.Context(), Options{Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

// patience bounds every wait; nothing is expected to be fast.
const patience = 5 * time.Minute

// follow returns the first n batches after a sequence.
func follow(t *testing.T, l Log, after uint64, n int) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var got []string
	enough := errors.New("enough")
	err := l.Follow(ctx, after, func(sequence uint64, batch []byte) error {
		got = append(got, fmt.Sprintf("%d %s", sequence, batch))
		if len(got) == n {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Fatalf("following: %v after %q", err, got)
	}
	return got
}

func TestBatchesStayInOrderOverARestart(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "stream")
	j := open(t, folder)
	for i := range 100 {
		if seq, err := j.Append(t.Context(), fmt.Appendf(nil, "batch %d", i+1)); err != nil ||
			seq != uint64(i+1) {
			t.Fatalf("append %d: sequence %d, %v", i+1, seq, err)
		}
	}
	j.Close()
	j = open(t, folder)
	if last, err := j.Last(t.Context()); err != nil || last != 100 {
		t.Fatalf("the last is %d, %v; want 100", last, err)
	}
	for i, got := range follow(t, j, 40, 60) {
		if want := fmt.Sprintf("%d batch %d", i+41, i+41); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}

func TestAFollowerOutlivesANewStart(t *testing.T) {
	root := t.TempDir()
	folder := filepath.Join(root, "data", "stream")
	if err := os.Mkdir(filepath.Dir(folder), 0o700); err != nil {
		t.Fatal(err)
	}
	j := open(t, folder)
	got := make(chan uint64, 10)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_ = j.Follow(ctx, 0, func(sequence uint64, _ []byte) error { got <- sequence; return nil })
	}()
	next := func(want uint64) {
		t.Helper()
		select {
		case n := <-got:
			if n != want {
				t.Fatalf("followed %d, want %d", n, want)
			}
		case <-time.After(patience):
			t.Fatalf("%d was not followed", want)
		}
	}
	if _, err := j.Append(ctx, []byte("one")); err != nil {
		t.Fatal(err)
	}
	next(1)
	if err := os.Rename(filepath.Dir(folder), filepath.Join(root, "away")); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(ctx, []byte("two")); !errors.Is(err, ErrRefused) ||
		!errors.Is(err, os.ErrNotExist) {
		t.Fatalf("without its folder the log says %v", err)
	}
	// a new folder in the place of the old one
	if err := os.Mkdir(filepath.Dir(folder), 0o700); err != nil {
		t.Fatal(err)
	}
	if n, err := j.Append(ctx, []byte("three")); err != nil || n != 2 {
		t.Fatalf("in a new folder: %d, %v; want 2", n, err)
	}
	next(2)
}

func TestKeys(t *testing.T) {
	ctx, j := t.Context(), open(t, filepath.Join(t.TempDir(), "stream"))
	keys, err := j.Keys(ctx, "accounts")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := keys.Get(ctx, "ann"); !errors.Is(err, ErrNoKey) {
		t.Errorf("a key that is not there: %v", err)
	}
	if err := keys.Put(ctx, "ann", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	if err := keys.Put(ctx, "ann", []byte("2"), 0); !errors.Is(err, ErrRevision) {
		t.Errorf("making a key twice: %v", err)
	}
	value, revision, err := keys.Get(ctx, "ann")
	if err != nil || string(value) != "1" {
		t.Fatalf("got %q, %v", value, err)
	}
	if err := keys.Put(ctx, "ann", []byte("2"), revision); err != nil {
		t.Fatal(err)
	}
	if err := keys.Put(ctx, "ann", []byte("3"), revision); !errors.Is(err, ErrRevision) {
		t.Errorf("changing an old revision: %v", err)
	}
	if err := keys.Delete(ctx, "ann", revision); !errors.Is(err, ErrRevision) {
		t.Errorf("deleting an old revision: %v", err)
	}
	_, revision, _ = keys.Get(ctx, "ann")
	if err := keys.Delete(ctx, "ann", revision); err != nil {
		t.Error(err)
	}
	if err := keys.Put(ctx, "bob.1", nil, 0); err != nil {
		t.Error(err)
	}
	if list, err := keys.Keys(ctx, "bo"); err != nil || len(list) != 1 || list[0] != "bob.1" {
		t.Errorf("keys: %q, %v", list, err)
	}
	if err := keys.Put(ctx, "a b", nil, 0); err == nil {
		t.Error("a key with a blank was taken")
	}
}

func TestTheNewestStateStays(t *testing.T) {
	ctx, j := t.Context(), open(t, filepath.Join(t.TempDir(), "stream"))
	if n, state, err := j.LoadState(ctx); n != 0 || state != nil || err != nil {
		t.Fatalf("an empty log has the state %d, %q, %v", n, state, err)
	}
	large := make([]byte, 3*partSize/2)
	for i, state := range [][]byte{[]byte("a"), large, []byte("old")} {
		if err := j.SaveState(ctx, []uint64{5, 9, 7}[i], state); err != nil {
			t.Fatal(err)
		}
	}
	if n, state, err := j.LoadState(ctx); n != 9 || len(state) != len(large) || err != nil {
		t.Errorf("got %d with %d bytes, %v; want 9 with %d", n, len(state), err, len(large))
	}
}

// TestStateThatIsKilled: wherever the program is killed while it saves a state, the last one is
// there after a restart, and a later one can be saved.
func TestStateThatIsKilled(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "stream")
	ctx, old := t.Context(), make([]byte, 3*partSize/2)
	old[partSize] = 'o'
	j := open(t, folder)
	if err := j.SaveState(ctx, 5, old); err != nil {
		t.Fatal(err)
	}
	for parts := range uint64(4) {
		kv, err := j.current().js.KeyValue(ctx, "papaya-state")
		if err != nil {
			t.Fatal(err)
		}
		for n := range parts {
			if _, err := kv.Put(ctx, partName(9+parts, int(n)), []byte("new")); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		j = open(t, folder)
		if at, state, err := j.LoadState(ctx); at != 5 || !bytes.Equal(state, old) || err != nil {
			t.Fatalf("after %d parts: %d with %d bytes, %v", parts, at, len(state), err)
		}
	}
	if err := j.SaveState(ctx, 12, []byte("later")); err != nil {
		t.Fatal(err)
	}
	if at, state, err := j.LoadState(ctx); at != 12 || string(state) != "later" || err != nil {
		t.Errorf("the later state is %d, %q, %v", at, state, err)
	}
}
