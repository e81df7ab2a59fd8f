package log

import (
	"context"
	"errors"
	"testing"
)

// TestKeysTakeTurns: a bounded number of requests for keys is under way, and others wait for as
// long as they may. After a restart of the embedded server the keys are there.
func TestKeysTakeTurns(t *testing.T) {
	j, err := Open(t.Context(), Options{Folder: t.TempDir(), Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	keys, err := j.Keys(t.Context(), "tea")
	if err != nil {
		t.Fatal(err)
	}
	if err := keys.Put(t.Context(), "kettle", []byte("on"), 0); err != nil {
		t.Fatal(err)
	}
	get := func(ctx context.Context) error {
		_, _, err := keys.Get(ctx, "kettle")
		return err
	}
	var all []func()
	for range keysAtOnce {
		done, err := j.turn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, done)
	}
	late, cancel := context.WithCancel(t.Context())
	cancel()
	for what, err := range map[string]error{"get": get(late),
		"put":    keys.Put(late, "kettle", []byte("off"), 1),
		"delete": keys.Delete(late, "kettle", 1)} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s while too many are under way: %v", what, err)
		}
	}
	waited := make(chan error)
	go func() { waited <- get(t.Context()) }()
	all[0]()
	if err := <-waited; err != nil {
		t.Errorf("one that has waited: %v", err)
	}
	for _, done := range all[1:] {
		done()
	}
	before := j.current()
	if err := j.restart(t.Context(), errors.New("a test")); err != nil {
		t.Fatal(err)
	}
	if err := get(t.Context()); err != nil || j.current() == before {
		t.Errorf("after a restart: %v", err)
	}
}
