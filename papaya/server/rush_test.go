package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestRushedLines: during a rush, lines that may wait are written at the next tick, or in their
// order with a line that may not. At other times they are written at once.
func TestRushedLines(t *testing.T) {
	s := &server{}
	c := &conn{server: s}
	// staged returns what is staged, and whether it is about to be written.
	staged := func() (text string, soon bool) {
		if c.stage != nil {
			text = string(c.stage.own)
		}
		return text, len(s.dirty) > 0
	}
	flushed := func() {
		c.stage, c.dirty, s.dirty = nil, false, nil
	}
	want := func(when, text string, soon bool) {
		t.Helper()
		if got, is := staged(); got != text || is != soon {
			t.Errorf("%s: %q is staged, and written soon: %v; want %q, %v", when, got, is, text,
				soon)
		}
	}
	s.rush.now = rushLogins - 1
	c.WriteLater([]byte("a"))
	want("before a rush", "a", true)
	flushed()
	s.rush.now++
	c.WriteLater([]byte("b"))
	c.WriteLater([]byte("c"))
	want("during a rush", "bc", false)
	s.tickRush()
	want("at the next tick", "bc", true)
	flushed()
	c.WriteLater([]byte("d"))
	c.Write([]byte("e"))
	c.WriteLater([]byte("f"))
	want("with another line", "def", true)
	flushed()
	s.tickRush()
	want("with nothing to write", "", false)
	c.WriteLater([]byte("g"))
	want("after the rush", "g", true)
	if s.rush.waiting != nil || c.waits {
		t.Errorf("left over: %+v", s.rush)
	}
}

// TestRushOfAccounts: those who are in see all accounts that come and go, in order, whether that is
// a rush or not.
func TestRushOfAccounts(t *testing.T) {
	srv := open(t, t.TempDir(), func(c *Config) {
		c.Accounts, c.AlwaysOn = everybody{}, func() bool { return true }
	})
	ann := login(srv.connect(), "ann", "ann", "#tea")
	ann.Send("CAP REQ :away-notify")
	ann.Expect(" ACK :away-notify")
	const others = 2 * rushLogins
	var want []string
	visit := func(name string, rooms ...string) {
		c := login(srv.connect(), name, name, rooms...)
		c.Send("QUIT")
		c.ExpectEnd()
		want = append(want, name+" AWAY :not connected")
	}
	for n := range others {
		visit(fmt.Sprint("u", n), "#tea")
	}
	for n := range others {
		name := fmt.Sprint("u", n)
		want = append(want, name+" AWAY")
		visit(name)
	}
	var got []string
	ann.ExpectFunc("that all have come and gone", func(l string) bool {
		source, rest, _ := strings.Cut(strings.TrimPrefix(l, ":"), " ")
		if nick, _, _ := strings.Cut(source, "!"); strings.HasPrefix(rest, "AWAY") {
			got = append(got, nick+" "+rest)
		}
		return len(got) == len(want)
	})
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
