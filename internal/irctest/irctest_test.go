package irctest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// A recorder is a test that is expected to fail.
type recorder struct {
	testing.TB
	failure string
}

func (r *recorder) Helper()        {}
func (r *recorder) Cleanup(func()) {}
func (r *recorder) Fatal(words ...any) {
	r.Fatalf("%s", fmt.Sprint(words...))
}

// Fatalf unwinds the goroutine by a panic that failureOf recovers.
func (r *recorder) Fatalf(format string, words ...any) {
	r.failure = fmt.Sprintf(format, words...)
	panic(r)
}

// failureOf runs a step that must fail, and returns its message.
func failureOf(t *testing.T, step func(t testing.TB)) (failure string) {
	t.Helper()
	r := &recorder{TB: t}
	defer func() {
		if got := recover(); got != r {
			t.Fatalf("the step did not fail: %v", got)
		}
		failure = r.failure
	}()
	step(r)
	return ""
}

// pair returns a client at one end of a pipe. The server at the other end writes a text at once.
// received ends the connection, and returns everything that the client has sent.
func pair(t testing.TB, says string) (c *Client, received func() string) {
	ours, theirs := net.Pipe()
	all := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(theirs)
		all <- string(b)
	}()
	go func() { _, _ = io.WriteString(theirs, says) }()
	c = New(t, ours)
	return c, func() string { ours.Close(); return <-all }
}

func TestClientRegistersAndAnswersPing(t *testing.T) {
	c, received := pair(t, ":x 001 ann :hi\r\nPING :a b\r\n:x 422 ann :no\r\n:x 366 ann #tea :end"+
		"\r\n:b!b@h PRIVMSG #tea :one\r\n:b!b@h PRIVMSG #tea :two\r\n")
	c.Register("ann", "#tea")
	if got := c.Expect("two"); !slices.Equal(got, []string{":b!b@h PRIVMSG #tea :one",
		":b!b@h PRIVMSG #tea :two"}) {
		t.Errorf("got %q", got)
	}
	want := "NICK ann\r\nUSER ann 0 * :ann\r\nPONG :a b\r\nJOIN #tea\r\n"
	if got := received(); got != want {
		t.Errorf("the server received %q, want %q", got, want)
	}
}

func TestSilentClientsReceivePing(t *testing.T) {
	c, received := pair(t, "PING :a\r\n:x 001 ann :hi\r\n")
	c.Silent = true
	if got := c.Expect("001"); !slices.Equal(got, []string{"PING :a", ":x 001 ann :hi"}) {
		t.Errorf("got %q", got)
	}
	if got := received(); got != "" {
		t.Errorf("the server received %q", got)
	}
}

// TestFailuresSayWhatWasReceivedLast reads lines from the buffer after the other end has closed.
func TestFailuresSayWhatWasReceivedLast(t *testing.T) {
	ours, theirs := net.Pipe()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		var many strings.Builder
		for n := range 2 * lastLines {
			fmt.Fprintf(&many, "line %d\r\n", n)
		}
		_, _ = io.WriteString(theirs, many.String())
		theirs.Close()
	}()
	failure := failureOf(t, func(t testing.TB) {
		c := New(t, ours)
		c.Expect("line 0")
		<-closed
		c.Expect("coffee")
	})
	for text, want := range map[string]bool{`"coffee"`: true, "line 15": true, "line 8": true,
		"line 7": false, "EOF": true} {
		if strings.Contains(failure, text) != want {
			t.Errorf("%q is in the failure: %v, want %v\n%s", text, !want, want, failure)
		}
	}
}

func TestLinesMustEndInCRLF(t *testing.T) {
	for says, want := range map[string]string{
		"one\n":                         "CR LF",
		strings.Repeat("x", maxLine+10): "buffer full",
	} {
		c, received := pair(t, says)
		if _, err := c.Next(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: got %v, want %q", says, err, want)
		}
		received()
	}
}

// TestWaitsEnd plays Patience in fake time: a server that is silent, and one that does not read.
func TestWaitsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		silent := failureOf(t, func(t testing.TB) { New(t, ours).Expect("001") })
		still := failureOf(t, func(t testing.TB) { New(t, ours).ExpectEnd() })
		deaf := failureOf(t, func(t testing.TB) { New(t, ours).Send("NICK %s", "ann") })
		for got, want := range map[string]string{silent: "i/o timeout", still: "still open",
			deaf: "NICK ann"} {
			if !strings.Contains(got, want) {
				t.Errorf("got %q, want %q in it", got, want)
			}
		}
		ours.Close()
	})
}

func TestEndOfAConnection(t *testing.T) {
	ours, theirs := net.Pipe()
	go func() {
		_, _ = io.WriteString(theirs, "one\r\ntwo\r\nERROR :bye")
		theirs.Close()
	}()
	c := New(t, ours)
	c.Expect("one")
	if got := c.ExpectEnd(); !slices.Equal(got, []string{"two", "ERROR :bye"}) {
		t.Errorf("got %q", got)
	}
	if _, err := c.Next(); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("after the end: %v, want a connection that is closed", err)
	}
}

func TestRestIsAsItWasSent(t *testing.T) {
	ours, theirs := net.Pipe()
	go func() {
		_, _ = io.WriteString(theirs, "one\r\ntwo\n\x00three")
		theirs.Close()
	}()
	c := New(t, ours)
	c.Expect("one")
	if rest, err := c.Rest(); string(rest) != "two\n\x00three" || err != nil {
		t.Errorf("got %q, %v", rest, err)
	}
}

// TestSeveralMayWrite has two goroutines write in fake time, which moves on while one waits.
func TestSeveralMayWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		c := NewConn(ours)
		done := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := io.WriteString(c, "a line\r\n")
				done <- err
			}()
		}
		synctest.Wait() // one writes, one waits
		b := make([]byte, 16)
		if _, err := io.ReadFull(theirs, b); err != nil || string(b) != "a line\r\na line\r\n" {
			t.Errorf("got %q, %v", b, err)
		}
		if err := errors.Join(<-done, <-done); err != nil {
			t.Error(err)
		}
		ours.Close()
	})
}
