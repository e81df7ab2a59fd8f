package log

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestKeysOnAFullDisk: a key or a state that cannot be written because the disk is full is refused
// at once, with that reason. It can be written when there is room again.
func TestKeysOnAFullDisk(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "stream"))
	keys, err := j.Keys(t.Context(), "accounts")
	if err != nil {
		t.Fatal(err)
	}
	if err := j.SaveState(t.Context(), 1, []byte("early")); err != nil {
		t.Fatal(err)
	}
	full := func(folder string, _ int) error {
		return &os.PathError{Op: "write", Path: folder, Err: syscall.ENOSPC}
	}
	j.space = full
	err = keys.Put(t.Context(), "ann", []byte("hash"), 0)
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("on a full disk: %v, want no space left on device", err)
	}
	if _, err := j.Keys(t.Context(), "invitations"); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a table on a full disk: %v, want no space left on device", err)
	}
	if err := j.SaveState(t.Context(), 2, []byte("later")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a state on a full disk: %v, want no space left on device", err)
	}
	j.space = checkSpace
	if at, state, err := j.LoadState(t.Context()); at != 1 || string(state) != "early" ||
		err != nil {
		t.Errorf("the state before is %q at %d, %v", state, at, err)
	}
	if err := keys.Put(t.Context(), "ann", []byte("hash"), 0); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if value, _, err := keys.Get(t.Context(), "ann"); string(value) != "hash" || err != nil {
		t.Errorf("kept: %q, %v", value, err)
	}
}
