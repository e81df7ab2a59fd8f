package group

import (
	"slices"
	"testing"
	"time"
)

// TestSeveral looks at two groups as one: a busy one and an idle one.
func TestSeveral(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		busy, idle := start(t, o, `while :; do :; done`), start(t, o, `exec sleep 300`)
		all := Together(busy, idle)
		if all.Source() != busy.Source() {
			t.Errorf("got source %q, want %q", all.Source(), busy.Source())
		}
		var u Usage
		until(t, "the busy one to use its core", func() bool {
			if err := all.Look(&u); err != nil {
				t.Fatal(err)
			}
			return u.User+u.System > 50*time.Millisecond
		})
		if want := []int{busy.PID(), idle.PID()}; !slices.Equal(u.PIDs, want) {
			t.Errorf("got processes %v, want %v", u.PIDs, want)
		}
		user, system := idle.CPU()
		last := u.User + u.System
		if err := all.Look(&u); err != nil || u.User+u.System < last ||
			u.User+u.System-last > 10*time.Second || len(u.PIDs) != 2 {
			t.Errorf("looked at again: got %+v (%v), before %v", u, err, last)
		}
		if idleCPU := user + system; idleCPU > last {
			t.Errorf("the idle one alone has used %v, both %v", idleCPU, last)
		}
		if err := idle.Close(); err != nil {
			t.Fatal(err)
		}
		if err := all.Look(&u); err == nil {
			t.Error("one of the groups is closed: got no error")
		}
	})
}
