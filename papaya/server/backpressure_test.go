package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"interleave/internal/irctest"
	"interleave/papaya/log"
)

// These tests run in a bubble of testing/synctest. Time passes only while all goroutines wait, so
// the measured times do not depend on the machine.

// A slowLog takes the same time for each batch, and stores nothing.
type slowLog struct {
	log.Log
	took     time.Duration
	mu       sync.Mutex
	sequence uint64
}

func (l *slowLog) Append(context.Context, []byte) (uint64, error) {
	time.Sleep(l.took)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sequence++
	return l.sequence, nil
}

func (l *slowLog) Last(context.Context) (uint64, error)              { return 0, nil }
func (l *slowLog) LoadState(context.Context) (uint64, []byte, error) { return 0, nil, nil }
func (l *slowLog) Forget(context.Context, uint64) error              { return nil }
func (l *slowLog) SaveState(context.Context, uint64, []byte) error   { return nil }

// A pipeListener has no network: a write waits until it is read.
type pipeListener struct {
	come   chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-p.come:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipeListener) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// inBubble runs a server with a slowLog. dial has a client join a room.
func inBubble(t *testing.T, took time.Duration, limits Limits, metrics Metrics,
	test func(dial func(nick, room string) visitor)) {
	t.Helper()
	inOpenBubble(t, took, limits, metrics, func(t *testing.T, connect func() visitor) {
		test(func(nick, room string) visitor {
			v := connect()
			go func() {
				_ = v.say("NICK " + nick + "\r\nUSER u 0 * :u\r\nJOIN " + room + "\r\nPING in")
			}()
			if err := v.until("PONG"); err != nil {
				t.Fatalf("%s does not come in: %v", nick, err)
			}
			return v
		})
	})
}

// inOpenBubble is inBubble for clients that are only connected.
func inOpenBubble(t *testing.T, took time.Duration, limits Limits, metrics Metrics,
	test func(t *testing.T, connect func() visitor)) {
	t.Helper()
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		text, err := log.OpenText(folder)
		if err != nil {
			t.Fatal(err)
		}
		p := &pipeListener{come: make(chan net.Conn), closed: make(chan struct{})}
		ready, ended := make(chan struct{}), make(chan error, 1)
		ctx, stop := context.WithCancel(t.Context())
		var open []net.Conn
		go func() {
			ended <- Run(ctx, Config{Plain: []string{"pipe"}, Data: folder, Text: text,
				Log: &slowLog{took: took}, Limits: limits, Metrics: metrics,
				Listen: func(string, string) (net.Listener, error) { return p, nil },
				Ready:  func() { close(ready) }})
		}()
		<-ready
		test(t, func() visitor {
			mine, theirs := net.Pipe()
			p.come <- theirs
			open = append(open, mine)
			return visitor{irctest.NewConn(mine)}
		})
		for _, c := range open {
			c.Close()
		}
		stop()
		if err := errors.Join(<-ended, text.Close()); err != nil {
			t.Error(err)
		}
	})
}

// A visitor is a client in the bubble. Goroutines beside the test's use it, so it returns errors.
type visitor struct{ *irctest.Conn }

func (v visitor) say(words string) error {
	_, err := io.WriteString(v, words+"\r\n")
	return err
}

// until reads up to a line that has words.
func (v visitor) until(words string) error {
	_, err := v.Await(func(line string) bool { return strings.Contains(line, words) })
	return err
}

// TestBatchingDelaysNobody checks "never more than 2 ms": how long a line waits while the log could
// take it.
func TestBatchingDelaysNobody(t *testing.T) {
	const took, limit = 5 * time.Millisecond, 2 * time.Millisecond
	var mu sync.Mutex
	var batches, entries int
	var waited, added time.Duration
	metrics := Metrics{
		Gathered: func(w, a time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			waited, added = max(waited, w), max(added, a)
		},
		Batches: func(n, _ int, _ time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			batches++
			entries += n
		},
	}
	inBubble(t, took, Limits{}, metrics, func(dial func(nick, room string) visitor) {
		var all sync.WaitGroup
		for n := range 16 {
			v := dial(fmt.Sprintf("t%d", n), "#tea")
			all.Go(func() { // some clients at the same time, and some between two batches
				for i := range 100 {
					time.Sleep(time.Duration(1+(7*n+13*i)%23) * 300 * time.Microsecond)
					if err := errors.Join(v.say(fmt.Sprintf("PRIVMSG #tea :%d\r\nPING said%d", i,
						i)), v.until(fmt.Sprintf("PONG chat :said%d", i))); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
	})
	t.Logf("%d entries in %d batches; waited %v at most, of it %v for batching", entries, batches,
		waited, added)
	if entries < 1600 || batches*2 > entries {
		t.Errorf("%d entries in %d batches: nothing was gathered under load", entries, batches)
	}
	if added > limit {
		t.Errorf("batching has added %v, want %v at most", added, limit)
	}
	if waited > took+limit {
		t.Errorf("a line has waited %v for the log, which takes %v for a batch", waited, took)
	}
}

// TestWhoTalksWaitsForWhoReads: some clients flood a room, in which one client reads and another
// does not. Other clients talk in another room.
func TestWhoTalksWaitsForWhoReads(t *testing.T) {
	var cut, held int
	var mu sync.Mutex
	metrics := Metrics{
		Cut:    func(string) { mu.Lock(); cut++; mu.Unlock() },
		Paused: func(time.Duration) { mu.Lock(); held++; mu.Unlock() },
	}
	// Together they send 7 MB/s: in each batch one line of 440 bytes from each. That is almost
	// three times the limit of unread bytes.
	const talkers, each = 16, 100
	inBubble(t, time.Millisecond, Limits{Unread: 256 << 10}, metrics,
		func(dial func(nick, room string) visitor) {
			reader, never := dial("reader", "#tea"), dial("never", "#tea")
			a, b := dial("a", "#other"), dial("b", "#other")
			var all sync.WaitGroup
			for n := range talkers {
				talker := dial(fmt.Sprintf("talker%d", n), "#tea")
				all.Go(func() {
					for range each {
						if err := talker.say("PRIVMSG #tea :" +
							strings.Repeat("x", 400)); err != nil {
							t.Error(err)
							return
						}
					}
					_ = talker.say("PING done")
				})
				all.Go(func() {
					if err := talker.until("PONG chat :done"); err != nil {
						t.Errorf("talker %d: %v", n, err)
					}
				})
			}
			all.Go(func() { // reads 2 MB/s
				got := 0
				for n := 0; got < talkers*each; n++ {
					l, err := reader.Next()
					if err != nil {
						t.Errorf("the client that reads was cut off after %d lines: %v", got, err)
						return
					}
					if strings.Contains(l, " PRIVMSG ") {
						got++
					}
					if n%5 == 0 {
						time.Sleep(time.Millisecond)
					}
				}
			})
			all.Go(func() { // these two are not in the flooded room
				for i := range 100 {
					began := time.Now()
					if err := errors.Join(a.say(fmt.Sprintf("PRIVMSG #other :%d.", i)),
						b.until(fmt.Sprintf("PRIVMSG #other :%d.", i))); err != nil {
						t.Error(err)
						return
					}
					if took := time.Since(began); took > 5*time.Millisecond {
						t.Errorf("line %d of another room took %v", i, took)
					}
					time.Sleep(3 * time.Millisecond)
				}
			})
			all.Wait()
			_, err := never.Rest()
			t.Logf("the client that never reads: %v", err)
		})
	mu.Lock()
	defer mu.Unlock()
	if cut < 1 || held < 2 {
		t.Errorf("%d were cut off, and lines were held %d times; want one that never reads cut "+
			"off, and some held", cut, held)
	}
}
