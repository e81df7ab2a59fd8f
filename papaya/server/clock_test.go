package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestClockIsSet: the system's clock gives the times of messages, and nothing else. It is set while
// the server runs, and while it does not. No client is disconnected, and every message is
// acknowledged and has the current time.
func TestClockIsSet(t *testing.T) {
	const year = 365 * 24 * time.Hour
	var wrong atomic.Int64
	folder, want := t.TempDir(), []time.Duration(nil)
	for _, set := range [][]time.Duration{{year, year + time.Hour}, {0, time.Hour, -time.Hour,
		-year, 0}} {
		wrong.Store(int64(set[0]))
		srv := open(t, folder, func(c *Config) {
			c.Now = func() time.Time { return time.Now().Round(0).Add(time.Duration(wrong.Load())) }
		})
		m := &member{at: srv.at[0]}
		for n, w := range set {
			wrong.Store(int64(w))
			m.say(t, fmt.Sprintf("nick%d", n), 1)
			want = append(want, w)
		}
		srv.end()
	}
	text, err := os.ReadFile(filepath.Join(folder, "log"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, " PRIVMSG ") {
			continue
		}
		if n == len(want) {
			t.Fatalf("%q is there, and was not said", line)
		}
		stamp, _, _ := strings.Cut(line, " ")
		at, err := time.Parse("2006-01-02T15:04:05.000Z", stamp)
		if off := time.Until(at.Add(-want[n])).Abs(); err != nil || off > patience {
			t.Errorf("said with a clock wrong by %v: %s, %v off (%v)", want[n], stamp, off, err)
		}
		n++
	}
	if n != len(want) {
		t.Errorf("the text has %d messages, want %d", n, len(want))
	}
}
