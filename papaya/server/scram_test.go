package server

import (
	"context"
	"encoding/base64"
	"net"
	"strings"
	"testing"
)

// duels implements Scram: the client's last message is its first one backwards.
type duels struct{ long int }

func (d duels) Begin(_ context.Context, message string, _ net.Addr) (Exchange, string, error) {
	if message == "nobody" {
		return nil, "", ErrNotYours
	}
	return duel(message), strings.Repeat("x", d.long) + message, nil
}

type duel string

func (d duel) Finish(message string) (Person, string, error) {
	for i := range message {
		if len(message) != len(d) || message[i] != d[len(d)-1-i] {
			return Person{}, "", ErrNotYours
		}
	}
	return Person{Account: string(d)}, "proof", nil
}

// TestScramLogin: the messages of SCRAM go to and fro, and the account is the client's when it has
// confirmed the server's proof. A wrong message, or an end, begins again. Answers of 400 bytes and
// more come in pieces.
func TestScramLogin(t *testing.T) {
	srv := open(t, t.TempDir(), func(c *Config) { c.Accounts, c.Scram = people{}, duels{298} })
	word := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	g := srv.connect()
	g.Send("CAP LS 302")
	g.Expect("sasl=PLAIN,EXTERNAL,SCRAM-SHA-256")
	g.Send("CAP REQ :sasl\r\nNICK ann\r\nUSER ann 0 * :Ann")
	begin := func() {
		t.Helper()
		g.Send("AUTHENTICATE scram-sha-256")
		g.Expect("AUTHENTICATE +")
	}
	for _, wrong := range []string{"AUTHENTICATE " + word("nobody"), "AUTHENTICATE +",
		"AUTHENTICATE !", "AUTHENTICATE " + word("ann") + "\r\nAUTHENTICATE " + word("ann"),
		"AUTHENTICATE " + word("ann") + "\r\nAUTHENTICATE +",
		"AUTHENTICATE " + word("aa") + "\r\nAUTHENTICATE " + word("aa") + "\r\n" +
			"AUTHENTICATE " + word("x")} {
		begin()
		g.Send("%s", wrong)
		g.Expect(" 904 ")
	}
	begin()
	g.Send("AUTHENTICATE %s\r\nAUTHENTICATE *", word("ann"))
	g.Expect(" 906 ")
	begin()
	g.Send("AUTHENTICATE %s", word("aa"))
	for _, want := range []string{"AUTHENTICATE " + word(strings.Repeat("x", 298)+"aa"),
		"AUTHENTICATE +"} {
		if got := g.ExpectLine("AUTHENTICATE "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	g.Send("AUTHENTICATE %s", word("aa"))
	g.Expect("AUTHENTICATE " + word("proof"))
	g.Send("AUTHENTICATE +\r\nCAP END")
	g.Expect(" 900 ann * aa ")
	g.Expect(" 903 ")
	g.Expect(" 001 ")
}
