package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"interleave/papaya/irc"
)

// A fakeServer returns one end of a pipe for each dial.
type fakeServer struct {
	dials []time.Time
	ends  chan net.Conn
	fail  int // how many dials fail at first
}

func (p *fakeServer) dial(ctx context.Context) (net.Conn, error) {
	p.dials = append(p.dials, time.Now())
	if len(p.dials) <= p.fail {
		return nil, errors.New("nobody is there")
	}
	ours, theirs := net.Pipe()
	select {
	case p.ends <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestConnComesBackWithLongerAndLongerWaits(t *testing.T) {
	for pause, first := range map[time.Duration]time.Duration{0: firstWait,
		50 * time.Millisecond: 50 * time.Millisecond} {
		t.Run(first.String(), func(t *testing.T) { comesBack(t, pause, first) })
	}
}

func comesBack(t *testing.T, pause, first time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		p := &fakeServer{ends: make(chan net.Conn), fail: 7}
		told := make(chan any, 100)
		c := &Conn{Dial: p.dial, Tell: func(e any) { told <- e }, Pause: pause}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.Run(ctx) }()
		server := <-p.ends
		for i := 1; i < len(p.dials); i++ {
			gap := p.dials[i].Sub(p.dials[i-1])
			want := min(first<<(i-1), longestWait)
			if gap < want*8/10 || gap > want*12/10 {
				t.Errorf("wait %d: got %v, want about %v", i, gap, want)
			}
		}
		c.Steady()
		server.Close()
		before := time.Now()
		<-p.ends
		if waited := time.Since(before); waited > 2*first {
			t.Errorf("after all was well: waited %v, want about %v", waited, first)
		}
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestConnCarriesLinesAndSendsTheLastWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &fakeServer{ends: make(chan net.Conn)}
		told := make(chan any, 100)
		c := &Conn{Dial: p.dial, Tell: func(e any) { told <- e }}
		c.Send(irc.Message{Command: "LOST"}) // there is no connection
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.Run(ctx) }()
		server := <-p.ends
		if e := <-told; e != (Opened{}) {
			t.Fatalf("got %v", e)
		}
		fmt.Fprintf(server, "\r\n:x PING 1\r\n")
		if l, ok := (<-told).(Line); !ok || l.Command != "PING" {
			t.Fatalf("got %v", l)
		}
		c.Send(irc.Message{Command: "PONG", Params: []string{"1"}})
		lines := bufio.NewScanner(server)
		lines.Scan()
		c.Send(irc.Message{Command: "QUIT"})
		stop()
		if lines.Text() != "PONG 1" || !lines.Scan() || lines.Text() != "QUIT" {
			t.Errorf("got %q", lines.Text())
		}
		<-ended
	})
}

func TestConnGivesUpWhatIsSilentOrTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &fakeServer{ends: make(chan net.Conn)}
		lost := make(chan Lost, 100)
		c := &Conn{Dial: p.dial, Tell: func(e any) {
			if l, ok := e.(Lost); ok {
				lost <- l
			}
		}}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.Run(ctx) }()
		silent, start := <-p.ends, time.Now()
		line, err := bufio.NewReader(silent).ReadString('\n')
		if err != nil || line != "PING papaya\r\n" || time.Since(start) != askAfter {
			t.Errorf("got %q, %v after %v", line, err, time.Since(start))
		}
		<-lost
		if waited := time.Since(start); waited < lostAfter || waited > lostAfter+writeWait {
			t.Errorf("given up after %v", waited)
		}
		long := <-p.ends
		go func() { _, _ = long.Write([]byte(strings.Repeat("x", maxRead+1))) }()
		if l := <-lost; !strings.Contains(l.Err.Error(), "a line of more than") {
			t.Errorf("got %v", l.Err)
		}
		stop()
		<-ended
	})
}
