package bot

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"interleave/papaya/account"
	"interleave/papaya/hall"
)

// TestWait: a request waits until something is said, in its room or in another one first, and until
// the server ends.
func TestWait(t *testing.T) {
	down := errors.New("the server does not serve")
	for _, c := range []struct {
		name   string
		err    error
		status int
		body   string
	}{
		{"said", nil, 200, `"text":"hello"`},
		{"the end", down, 503, "cannot be done"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			p.chat.silent, p.chat.asked = true, make(chan struct{}, 10)
			token := p.token(Token{Kind: Bot, Name: "b", Rooms: []string{"#dev"}, Read: true})
			type answer struct {
				status int
				body   string
			}
			answers := make(chan answer, 1)
			go func() {
				status, body, _ := p.ask("GET", "/api/rooms/dev/messages?after=2s&wait=15", nil,
					"Authorization", "Bearer "+token)
				answers <- answer{status, body}
			}()
			<-p.chat.asked
			select {
			case got := <-answers:
				t.Fatalf("it did not wait: %v", got)
			default:
			}
			p.chat.tell(c.err)
			if got := <-answers; got.status != c.status || !strings.Contains(got.body, c.body) {
				t.Errorf("got %d %s, want %d with %s", got.status, got.body, c.status, c.body)
			}
		})
	}
}

// TestWaitEnds: a request in a silent room ends in time, and looks again no more often than it may
// while much is said in others.
func TestWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		talk := &chat{silent: true, asked: make(chan struct{}, 1000)}
		s := NewServer(Open(&account.Memory{}), talk, slog.New(slog.DiscardHandler), time.Now)
		ends := make(chan struct{})
		go func() { // another room, in which somebody speaks each millisecond
			for {
				select {
				case <-ends:
					return
				case <-time.After(time.Millisecond):
				}
				talk.mu.Lock()
				if talk.news != nil {
					close(talk.news)
					talk.news = nil
				}
				talk.mu.Unlock()
			}
		}()
		began := time.Now()
		list, err := s.await(t.Context(), Token{ID: "x"}, "#dev", hall.Page{After: "2s"},
			2*time.Second)
		close(ends)
		took, looks := time.Since(began), len(talk.asked)
		if err != nil || len(list) != 0 || took < 2*time.Second || took > 3*time.Second {
			t.Errorf("got %v, %v after %v, want nothing after 2 s", list, err, took)
		}
		if most := int(2*time.Second/newsPause) + 2; looks > most || looks < most/2 {
			t.Errorf("it has looked %d times, want at most %d", looks, most)
		}
	})
}

// TestFewWait: so many requests of one token wait, and no more; others may.
func TestFewWait(t *testing.T) {
	s := NewServer(Open(&account.Memory{}), &chat{}, slog.New(slog.DiscardHandler), time.Now)
	for range maxWaiting {
		if !s.waiting.begin("x") {
			t.Fatal("too few may wait")
		}
	}
	page := hall.Page{After: "2s"}
	_, err := s.await(t.Context(), Token{ID: "x"}, "#dev", page, time.Second)
	if l, ok := errors.AsType[limited](err); !ok || l.wait <= 0 {
		t.Errorf("one more: got %v, want that it comes again later", err)
	}
	if list, err := s.await(t.Context(), Token{ID: "y"}, "#dev", page, time.Second); err != nil ||
		len(list) != 1 {
		t.Errorf("of another token: got %v, %v", list, err)
	}
	for range maxWaiting {
		s.waiting.end("x")
	}
	if len(s.waiting.count) != 0 {
		t.Errorf("%v still wait", s.waiting.count)
	}
	if _, err := s.await(t.Context(), Token{ID: "x"}, "#dev", page, time.Second); err != nil {
		t.Errorf("when the others have gone: %v", err)
	}
}
