package torture

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTextOfARush: messages that were acknowledged must be in the text once, in their room.
func TestTextOfARush(t *testing.T) {
	const line = "2026-11-27T01:00:00.000Z :u1!u1@host PRIVMSG "
	for _, test := range []struct {
		name, text, want string
	}{
		{"once", line + "#r0 :w-1- x\n" + line + "#r0 :w-2- y\n" + line + "#r0 :w-9- other\n", ""},
		{"lost", line + "#r0 :w-2- y\n", `1 acknowledged messages are lost or there twice: ` +
			`"w-1- x" in #r0 was acknowledged, and is there 0 times`},
		{"twice", line + "#r0 :w-1- x\n" + line + "#r0 :w-2- y\n" + line + "#r0 :w-1- x\n",
			"is there 2 times"},
		{"elsewhere", line + "#r1 :w-1- x\n" + line + "#r0 :w-2- y\n", "is there 0 times"},
	} {
		folder, told := t.TempDir(), ""
		if err := os.Mkdir(filepath.Join(folder, "data"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "data", "log"), []byte(test.text),
			0o600); err != nil {
			t.Fatal(err)
		}
		r := &rush{RushOptions: RushOptions{Folder: folder,
			Tell: func(line string) { told = line }},
			acked: map[string]string{"w-1- x": "#r0", "w-2- y": "#r0"}}
		err := r.checkText()
		switch {
		case test.want == "":
			if err != nil || told != "2 messages were acknowledged, and each is in the text once" {
				t.Errorf("%s: %v, %q", test.name, err, told)
			}
		case err == nil || !strings.Contains(err.Error(), test.want):
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

func TestEnoughFiles(t *testing.T) {
	if err := enoughFiles(1); err != nil {
		t.Error(err)
	}
	if err := enoughFiles(1 << 40); err == nil || !strings.Contains(err.Error(), "ulimit -n") {
		t.Errorf("more sessions than any machine has: %v", err)
	}
}

func TestSpread(t *testing.T) {
	var all []time.Duration
	for n := 200; n > 0; n-- {
		all = append(all, time.Duration(n)*time.Millisecond)
	}
	for want, times := range map[string][]time.Duration{
		"half within 100ms, 99 % within 198ms, all within 200ms": all,
		"half within 2ms, 99 % within 2ms, all within 2ms":       {2 * time.Millisecond},
		"(nothing)": nil,
	} {
		if got := spread(times); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestStorm: a storm is over when each session has its histories, and remembers the first
// acknowledgement and why sessions were turned away.
func TestStorm(t *testing.T) {
	r := &rush{devices: make([]*device, 2)}
	s := r.begin(time.Now())
	for n := range 2 {
		select {
		case <-s.done:
			t.Errorf("it is over after %d of 2 sessions", n)
		default:
		}
		s.enter()
		s.read()
	}
	<-s.done
	if got := s.reasons(); got != "none was turned away" {
		t.Errorf("got %q", got)
	}
	s.turnedAway("b")
	s.turnedAway("a")
	s.turnedAway("b")
	if got := s.reasons(); got != `turned away 1 times "a", 2 times "b"` {
		t.Errorf("got %q", got)
	}
	if s.firstServed() != 0 {
		t.Error("nothing was acknowledged")
	}
	s.serve()
	first := s.firstServed()
	s.serve()
	if first == 0 || s.firstServed() != first {
		t.Errorf("the first acknowledgement: %v, then %v", first, s.firstServed())
	}
}
