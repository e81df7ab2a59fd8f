package server

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"interleave/papaya/hall"
)

// slowPeople takes a while for a password, and makes ann an administrator.
type slowPeople struct{ people }

func (p slowPeople) Verify(ctx context.Context, name, password string,
	from net.Addr) (Person, error) {
	time.Sleep(50 * time.Millisecond)
	who, err := p.people.Verify(ctx, name, password, from)
	who.Role = hall.Admin
	return who, err
}

// TestAnswersInOrder: lines behind a login, in one packet or later ones, wait for its answer, so a
// client has its answers in the order of its lines. A QUIT behind a login is obeyed, too.
func TestAnswersInOrder(t *testing.T) {
	srv := open(t, t.TempDir(), func(c *Config) { c.Accounts = slowPeople{} })
	g := srv.connect()
	g.Send("CAP REQ :sasl\r\nNICK ann\r\nUSER ann 0 * :Ann\r\nAUTHENTICATE PLAIN\r\n"+
		"AUTHENTICATE %s\r\nPING one", plainWord("ann", "wrong"))
	g.Send("PING two")
	g.Send("AUTHENTICATE PLAIN\r\nAUTHENTICATE %s\r\nCAP END\r\nOPER ann wrong\r\nPING three\r\n"+
		"OPER ann :the kettle is on\r\nMODE ann\r\nJOIN #tea\r\nPING four\r\n"+
		"OPER ann wrong\r\nQUIT :enough\r\nPING five",
		plainWord("ann", "the kettle is on"))
	said := strings.Join(g.ExpectEnd(), "\n")
	rest := said
	for _, want := range []string{" 904 ", "PONG chat :one", "PONG chat :two", " 903 ", " 001 ",
		" 464 ann ", "PONG chat :three", " 381 ann ", " 221 ann +o", " JOIN #tea",
		"PONG chat :four", " 464 ann ", "ERROR :"} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("no %q in its place in\n%s", want, said)
		}
		rest = after
	}
	if strings.Contains(said, "five") {
		t.Errorf("a line behind QUIT is answered:\n%s", said)
	}
}
