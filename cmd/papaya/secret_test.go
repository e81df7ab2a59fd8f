package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"interleave/papaya/hall"
	"interleave/papaya/log"
)

// TestMsgidSecret: servers that start at the same time have one secret, which is another one in
// another log, and is the same after a restart. One of a wrong length is told.
func TestMsgidSecret(t *testing.T) {
	folder, secrets := t.TempDir(), map[hall.Secret]bool{}
	open := func(name string) (l *log.JetStream) {
		t.Helper()
		l, err := log.Open(t.Context(), log.Options{Folder: filepath.Join(folder, name)})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	secret := func(l log.Log) (hall.Secret, error) {
		store, err := openKeys(t.Context(), l)
		if err != nil {
			return hall.Secret{}, err
		}
		return openMsgids(t.Context(), store)
	}
	one := open("one")
	var all sync.WaitGroup
	var lock sync.Mutex
	for range 8 {
		all.Go(func() {
			s, err := secret(one)
			lock.Lock()
			defer lock.Unlock()
			if secrets[s] = true; err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	one = open("one")
	defer one.Close()
	s, err := secret(one)
	if secrets[s] = true; err != nil || len(secrets) != 1 || s == (hall.Secret{}) {
		t.Errorf("there are %d secrets, %v", len(secrets), err)
	}
	other := open("other")
	defer other.Close()
	if again, err := secret(other); again == s || err != nil {
		t.Errorf("another log has the same secret, %v", err)
	}

	store, err := openKeys(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	_, revision, err := store.Get(t.Context(), msgidName)
	if err == nil {
		err = store.Put(t.Context(), msgidName, []byte("short"), revision)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := secret(one); err == nil || !strings.Contains(err.Error(), "5 bytes, not 16") {
		t.Errorf("a secret of 5 bytes: %v", err)
	}
}

// TestMsgidsOfTheFolder: exports have the msgids that the server gives. A wrong file is refused,
// and a disk that takes none is told of.
func TestMsgidsOfTheFolder(t *testing.T) {
	folder, secret, from := t.TempDir(), hall.Secret{1: 2}, uint64(100)
	said := &bytes.Buffer{}
	logger := slog.New(slog.NewTextHandler(said, nil))
	wants := func(want *hall.Msgids) {
		t.Helper()
		got, err := readMsgids(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []uint64{0, 99, 100, 1 << 40} {
			if got.Of(at) != want.Of(at) {
				t.Errorf("the msgid of %d is %s, want %s", at, got.Of(at), want.Of(at))
			}
		}
	}
	wants(hall.NewMsgids(hall.Secret{}, nil))
	saveMsgids(folder, secret, from, logger)
	wants(hall.NewMsgids(secret, &from))
	file := filepath.Join(folder, msgidsFile)
	before, err := os.Stat(file)
	if err != nil || before.Mode().Perm() != 0o600 {
		t.Fatalf("its mode is %v, %v", before, err)
	}
	saveMsgids(folder, secret, from, logger)
	if after, err := os.Stat(file); err != nil || !os.SameFile(before, after) {
		t.Errorf("it was written again, %v", err)
	}
	secret[0], from = 1, 50 // another log
	saveMsgids(folder, secret, from, logger)
	wants(hall.NewMsgids(secret, &from))
	if said.Len() > 0 {
		t.Errorf("the log says %s", said)
	}
	saveMsgids(filepath.Join(folder, "none"), secret, from, logger)
	if !strings.Contains(said.String(), "exports as JSON") {
		t.Errorf("of a folder that is not there the log says %q", said)
	}
	for _, wrong := range []string{"", "{}", `{"secret":"AAAA","from":1}`, `{"secret":7}`, "[]"} {
		if err := os.WriteFile(file, []byte(wrong), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readMsgids(folder); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}
