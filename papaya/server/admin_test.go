package server

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"interleave/papaya/hall"
)

// TestOrders: an administrator lists sessions and rooms and gives orders, which still hold after a
// restart.
func TestOrders(t *testing.T) {
	var admin Admin
	if err := admin.Order(t.Context(), hall.EndNick, "ann", ""); !errors.Is(err, ErrNotServing) {
		t.Errorf("before the start: %v", err)
	}
	folder := t.TempDir()
	srv := open(t, folder, func(c *Config) { c.Admin = &admin })
	ann, bob := srv.connect().Register("ann", "#tea", "#pot"), srv.connect().Register("bob", "#tea")
	sessions, err := admin.Sessions(t.Context())
	if err != nil || len(sessions) != 2 || sessions[0].Nick != "ann" ||
		strings.Join(sessions[0].Rooms, " ") != "#tea #pot" || sessions[1].Host != "127.0.0.1" {
		t.Errorf("sessions: %+v, %v", sessions, err)
	}
	if err := admin.Order(t.Context(), hall.KickMember, "#tea", "bob", "not now"); err != nil {
		t.Fatal(err)
	}
	bob.Expect("KICK #tea bob :not now")
	if err := admin.Order(t.Context(), hall.EndNick, "bob", "enough\r\nof it"); err != nil {
		t.Fatal(err)
	}
	if got := bob.ExpectEnd(); !strings.HasPrefix(got[len(got)-1], "ERROR :enough") {
		t.Errorf("bob hears %q", got)
	}
	if err := admin.Order(t.Context(), hall.RemoveRoom, "#pot", "closed"); err != nil {
		t.Fatal(err)
	}
	ann.Expect("KICK #pot ann :closed")
	srv.end()
	late, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := admin.Rooms(late); !errors.Is(err, ErrNotServing) {
		t.Errorf("after the end: %v", err)
	}
	open(t, folder, func(c *Config) { c.Admin = &admin })
	rooms, err := admin.Rooms(t.Context())
	if err != nil || len(rooms) != 1 || rooms[0].Name != "#tea" || rooms[0].Away != 1 {
		t.Errorf("rooms after a start: %+v, %v; want #tea with ann away", rooms, err)
	}
}

// TestNews: who waits for news hears of a message, and of the end.
func TestNews(t *testing.T) {
	var admin Admin
	srv := open(t, t.TempDir(), func(c *Config) { c.Admin = &admin })
	ann := srv.connect().Register("ann", "#tea")
	wait := func(news <-chan struct{}, what string) {
		t.Helper()
		select {
		case <-news:
		case <-time.After(patience):
			t.Fatalf("no news of %s", what)
		}
	}
	ann.Send("PRIVMSG #tea :it is ready")
	for {
		news := admin.News()
		list, err := admin.Messages(t.Context(), "#tea", hall.Page{Limit: 9})
		if err != nil {
			t.Fatal(err)
		}
		if len(list) > 0 {
			break
		}
		wait(news, "a message")
	}
	ends := admin.News()
	srv.end()
	wait(ends, "the end")
}

// TestFlood: a client that sends more than it may is not read from for a while. No line is lost,
// and other clients are not affected.
func TestFlood(t *testing.T) {
	var lines, rests atomic.Int64
	account := make(chan string, 1)
	srv := open(t, t.TempDir(), func(c *Config) {
		c.Say = func(_ net.Addr, who string, n int) time.Duration {
			select {
			case account <- who:
			default:
			}
			if n > linesAtOnce {
				t.Errorf("%d lines at once", n)
			}
			if lines.Add(int64(n)) > 100 && rests.Load() < 3 {
				rests.Add(1)
				return 50 * time.Millisecond
			}
			return 0
		}
	})
	ann, bob := srv.connect().Register("ann", "#tea"), srv.connect().Register("bob", "#tea")
	ann.Send("%s", strings.TrimSuffix(strings.Repeat("PRIVMSG #tea :again\r\n", 200), "\r\n"))
	for range 200 {
		bob.Expect("again")
	}
	if rests.Load() != 3 || <-account != "" {
		t.Errorf("rested %d times, want 3", rests.Load())
	}
	ann.Send("QUIT")
	ann.ExpectEnd()
}
