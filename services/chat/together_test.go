package chat

import (
	"fmt"
	"strings"
	"testing"

	"interleave/internal/irctest"
	"interleave/internal/probe/probetest"
)

// together is how many clients come and go at once: more than c-process announces in one message.
const together = 300

// TestTogether: clients that join a room at the same moment learn of each other exactly once, by
// the list of names or by a JOIN. Each JOIN is sent to all before its client is told that it is in.
// Clients that quit at the same moment are told to all who stay, once each.
func TestTogether(t *testing.T) {
	for _, model := range []string{"c-process*", "c-epoll"} {
		probetest.Each(t, model, func(t *testing.T, m *probetest.Subject) {
			folder, _ := m.Folder(t, 0)
			server := m.Start(t, folder)
			var all []*newcomer
			for i := range together {
				c := irctest.Dial(t, address(server))
				all = append(all, &newcomer{c, fmt.Sprintf("c%d", i), map[string]int{}})
				c.Register(all[i].nick)
			}
			for _, c := range all {
				c.Send("JOIN #tea")
			}
			for _, c := range all {
				c.joins(t)
			}
			for _, c := range all {
				c.seesOnce(t, all, "JOIN")
			}
			stayers, gone := all[:together/2], all[together/2:]
			for _, c := range gone {
				c.Send("QUIT")
			}
			for _, c := range gone {
				c.ExpectEnd()
			}
			for _, c := range stayers {
				clear(c.seen)
				c.ExpectFunc("the QUITs of all who go", func(line string) bool {
					c.count(line, "QUIT")
					return len(c.seen) == len(gone)
				})
				c.seesOnce(t, gone, "QUIT")
			}
		})
	}
}

// A newcomer counts how often it has seen the others.
type newcomer struct {
	*irctest.Client
	nick string
	seen map[string]int
}

// joins reads up to the end of the list of names. Its own JOIN comes first.
func (c *newcomer) joins(t *testing.T) {
	t.Helper()
	lines := c.Expect(" 366 ")
	if nick, _ := who(lines[0], "JOIN"); nick != c.nick {
		t.Fatalf("%s joins, and the first line is %q", c.nick, lines[0])
	}
	for _, line := range lines {
		if _, names, found := strings.Cut(line, " = #tea :"); found {
			for _, nick := range strings.Fields(names) {
				c.seen[nick]++
			}
		} else if nick, _ := who(line, "JOIN"); nick != c.nick {
			c.count(line, "JOIN")
		}
	}
}

// count notes whom a line with this command is about.
func (c *newcomer) count(line, command string) {
	if nick, found := who(line, command); found {
		c.seen[nick]++
	}
}

// seesOnce reads what has been sent until now. By then it has seen each of the others once.
func (c *newcomer) seesOnce(t *testing.T, others []*newcomer, command string) {
	t.Helper()
	c.Send("PING :now")
	for _, line := range c.Expect("PONG") {
		c.count(line, command)
	}
	for _, o := range others {
		if n := c.seen[o.nick]; n != 1 {
			t.Fatalf("%s has seen %s %d times by then (%s)", c.nick, o.nick, n, command)
		}
	}
}

// who returns the nick of a line with this command.
func who(line, command string) (nick string, found bool) {
	prefix, rest, _ := strings.Cut(line, " ")
	if !strings.HasPrefix(rest, command+" ") {
		return "", false
	}
	nick, _, _ = strings.Cut(strings.TrimPrefix(prefix, ":"), "!")
	return nick, true
}
