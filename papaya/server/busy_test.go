package server

import (
	"context"
	"net"
	"strings"
	"testing"
)

// busy checks no logins but those of ann, by password and by SCRAM.
type busy struct{ everybody }

func (b busy) Verify(ctx context.Context, name, password string, from net.Addr) (Person, error) {
	if name != "ann" {
		return Person{}, ErrBusy
	}
	return b.everybody.Verify(ctx, name, password, from)
}

func (busy) Begin(context.Context, string, net.Addr) (Exchange, string, error) {
	return nil, "", ErrBusy
}

// TestBusyLogins: a client whose login cannot be checked now is disconnected before it is
// registered, with what it has sent behind it, and is not told that the login has failed. One that
// is registered stays, and is told.
func TestBusyLogins(t *testing.T) {
	gone := make(chan bool, 9)
	srv := open(t, t.TempDir(), func(c *Config) {
		c.Accounts, c.Scram = busy{}, busy{}
		c.Metrics.Disconnected = func() { gone <- true }
	})
	for mechanism, word := range map[string]string{"PLAIN": plainWord("bob", "x"),
		"SCRAM-SHA-256": "bixh"} {
		c := srv.connect()
		c.Send("CAP REQ :sasl\r\nNICK bob\r\nUSER bob 0 * :Bob\r\nAUTHENTICATE %s\r\n"+
			"AUTHENTICATE %s\r\nCAP END\r\nJOIN #tea", mechanism, word)
		lines := c.Expect("ERROR :")
		c.Send("PING late")
		c.ExpectEnd()
		<-gone // nothing waits for a login that is not checked
		lacks(t, lines, " 904 ")
		lacks(t, lines, " 001 ")
		if got := lines[len(lines)-1]; got != "ERROR :"+ErrBusy.Error() {
			t.Errorf("%s: the last line is %q", mechanism, got)
		}
	}
	ann := login(srv.connect(), "ann", "ann", "#tea")
	ann.Send("AUTHENTICATE PLAIN\r\nAUTHENTICATE %s\r\nPING still", plainWord("bob", "x"))
	ann.Expect(" 904 ann :" + ErrBusy.Error())
	ann.Expect("PONG chat :still")
	if strings.Contains(srv.said.String(), "could not be checked") {
		t.Errorf("the log complains:\n%s", srv.said.String())
	}
}

// abandoned tells which exchanges have ended.
type abandoned struct{ ended chan string }

func (a abandoned) Begin(_ context.Context, message string, _ net.Addr) (Exchange, string, error) {
	return left{a, message}, "challenge", nil
}

type left struct {
	abandoned
	message string
}

func (l left) Finish(message string) (Person, string, error) {
	l.ended <- l.message + " " + message
	return Person{}, "", ErrNotYours
}

// TestAbandonedScram: a login by SCRAM with which the client does not go on has an end: when the
// client begins another one, and with its connection.
func TestAbandonedScram(t *testing.T) {
	scram := abandoned{make(chan string, 9)}
	srv := open(t, t.TempDir(), func(c *Config) { c.Accounts, c.Scram = busy{}, scram })
	c := srv.connect()
	c.Send("CAP REQ :sasl\r\nNICK ann\r\nUSER ann 0 * :Ann")
	begin := func(word string) {
		t.Helper()
		c.Send("AUTHENTICATE SCRAM-SHA-256")
		c.Expect("AUTHENTICATE +")
		c.Send("AUTHENTICATE %s", word)
		c.Expect("AUTHENTICATE Y2hhbGxlbmdl") // challenge
	}
	begin("MQ==") // 1
	c.Send("AUTHENTICATE *")
	c.Expect(" 906 ")
	begin("Mg==") // 2
	if got := <-scram.ended; got != "1 " {
		t.Errorf("the first ended with %q", got)
	}
	c.Send("AUTHENTICATE eA==") // x
	c.Expect(" 904 ")
	if got := <-scram.ended; got != "2 x" {
		t.Errorf("the second ended with %q", got)
	}
	begin("Mw==") // 3
	c.Send("QUIT")
	c.ExpectEnd()
	if got := <-scram.ended; got != "3 " {
		t.Errorf("the third ended with %q", got)
	}
}
