package server

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"interleave/papaya/log"
)

// A recorder notes each line that it receives, and when. It is no irctest.Client, because it must
// not give up after a while without lines.
type recorder struct {
	c     net.Conn
	start time.Time
	mu    sync.Mutex
	heard []string // for example "90s PING :chat", "120s (end)"
}

// record connects a recorder, which answers PING or does not.
func record(p *pipeListener, answer bool) *recorder {
	here, there := net.Pipe()
	l := &recorder{c: here, start: time.Now()}
	p.come <- there
	go func() {
		lines := bufio.NewScanner(here)
		for lines.Scan() {
			l.note(lines.Text())
			if token, ok := strings.CutPrefix(lines.Text(), "PING "); ok && answer {
				fmt.Fprintf(here, "PONG %s\r\n", token)
			}
		}
		l.note("(end)")
	}()
	return l
}

func (l *recorder) note(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard = append(l.heard, fmt.Sprintf("%v %s", time.Since(l.start).Truncate(time.Second), line))
}

// behind returns the entries after the last one with a word.
func (l *recorder) behind(word string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, line := range l.heard {
		if out = append(out, line); strings.Contains(line, word) {
			out = nil
		}
	}
	return strings.Join(out, "; ")
}

func (l *recorder) say(format string, words ...any) { fmt.Fprintf(l.c, format+"\r\n", words...) }

// TestTimes checks the protocol's times in fake time: 30 s to register, 90 s of silence, 30 s for
// the answer.
func TestTimes(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		text, err := log.OpenText(folder)
		if err != nil {
			t.Fatal(err)
		}
		defer text.Close()
		pipe := &pipeListener{come: make(chan net.Conn), closed: make(chan struct{})}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- Run(ctx, Config{Plain: []string{"pipe"}, Data: folder, Text: text,
				Log:    &slowLog{},
				Listen: func(string, string) (net.Listener, error) { return pipe, nil }})
		}()
		// These never register.
		mute, drip := record(pipe, true), record(pipe, true)
		// This one sends a part of its registration.
		half := record(pipe, true)
		// These register.
		still, lives, talks := record(pipe, false), record(pipe, true), record(pipe, true)
		half.say("NICK half")
		for nick, l := range map[string]*recorder{"still": still, "lives": lives, "talks": talks} {
			l.say("NICK %s\r\nUSER u 0 * :%s", nick, nick)
		}
		go func() {
			for i := 0; ; i++ { // a byte each second, and no end of a line
				if _, err := drip.c.Write([]byte("x")); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		}()
		go func() {
			for range 7 {
				time.Sleep(85 * time.Second)
				talks.say("PONG x")
			}
		}()
		time.Sleep(29 * time.Second)
		synctest.Wait()
		for name, l := range map[string]*recorder{"mute": mute, "drip": drip, "half": half} {
			if got := l.behind(" 001 "); got != "" {
				t.Errorf("%s hears before its time: %s", name, got)
			}
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		const late = "30s ERROR :You have not registered in time; 30s (end)"
		const lost = "1m30s PING :chat; 2m0s ERROR :Ping timeout; 2m0s (end)"
		// The PING comes 90 s after the last line, and half a second more, since the server checks
		// twice a second.
		const asked = "1m30s PING :chat; 3m1s PING :chat; 4m31s PING :chat; 6m2s PING :chat; " +
			"7m32s PING :chat; 9m3s PING :chat"
		for _, test := range []struct {
			name, want string
			l          *recorder
		}{
			{"mute", late, mute}, {"drip", late, drip}, {"half", late, half},
			{"still", lost, still}, {"talks", "", talks}, {"lives", asked, lives},
		} {
			if got := test.l.behind(" 422 "); got != test.want {
				t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestAskedBeforeTheEnd: a client is asked before it is given up, also by a server that stood still
// for longer than both times together. The checks are further apart here than both.
func TestAskedBeforeTheEnd(t *testing.T) {
	inBubble(t, 0, Limits{Silent: tick / 4, Answer: tick / 4}, Metrics{},
		func(dial func(nick, room string) visitor) {
			v := dial("still", "#tea")
			v.Silent = true
			rest, err := v.Rest()
			if got, want := string(rest), "PING :chat\r\nERROR :Ping timeout\r\n"; got != want ||
				err != nil {
				t.Errorf("a silent client hears %q, %v; want %q", got, err, want)
			}
		})
}
