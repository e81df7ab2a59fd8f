package torture

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"interleave/papaya/checker"
	"interleave/papaya/irc"
)

// furnish waits until all sessions are logged in, and makes the rooms.
func (c *campaign) furnish(ctx context.Context) error {
	first := map[string]*session{}
	for _, s := range c.sessions {
		if err := s.up(ctx); err != nil {
			return err
		}
		if first[s.account.name] == nil {
			first[s.account.name] = s
		}
	}
	for _, r := range rooms {
		for _, name := range r.members {
			if err := first[name].prepare("JOIN", r.name); err != nil {
				return err
			}
		}
		if r.name == rooms[0].name {
			continue
		}
		if err := first[r.members[0]].prepare("MODE", r.name, "+i"); err != nil {
			return err
		}
	}
	return nil
}

// prepare does something before the first operation, which must succeed.
func (s *session) prepare(command string, words ...string) error {
	lines, err := s.ask(command, words...)
	if err != nil {
		return fmt.Errorf("session %s: %s: %w", s.name, command, err)
	}
	for _, l := range lines {
		if l.Command == command {
			return nil
		}
	}
	return fmt.Errorf("session %s: %s %q was answered with %q", s.name, command, words, lines)
}

// errLost means that the connection has ended before an answer.
var errLost = errors.New("the connection was lost")

// ask sends a line that is no operation of its own, and returns the answer.
func (s *session) ask(command string, words ...string) ([]reply, error) {
	c, err := s.begin(nil, irc.Message{Command: command, Params: words})
	if err != nil {
		return nil, err
	}
	select {
	case <-c.done:
	case <-time.After(patience):
		return nil, fmt.Errorf("no answer for %v", patience)
	}
	if c.lost {
		return nil, errLost
	}
	return c.lines, nil
}

// survey lets every session say two last messages, so that all servers know what was acknowledged
// before, and then reads everything: by one session of each account on each server.
func (c *campaign) survey(ctx context.Context) error {
	c.Tell("reading everything")
	for range 2 {
		if err := each(c.sessions, func(s *session) error { return s.fence(ctx) }); err != nil {
			return err
		}
	}
	chosen := map[string]bool{}
	var readers []*session
	for _, s := range c.sessions {
		if key := s.account.name + " " + s.server.name; !chosen[key] {
			chosen[key] = true
			readers = append(readers, s)
		}
	}
	if err := each(readers, func(s *session) error { return s.readAll(ctx) }); err != nil {
		return err
	}
	for _, l := range c.allLinks() {
		s := c.sessions[0]
		if err := s.persist(ctx, func() error { return s.fetch(ctx, l) }); err != nil {
			return err
		}
	}
	return nil
}

// each does something with all sessions at once.
func each(list []*session, do func(*session) error) error {
	var all errgroup.Group
	for _, s := range list {
		all.Go(func() error { return do(s) })
	}
	return all.Wait()
}

// persist does something that needs a connection as soon as there is one.
func (s *session) persist(ctx context.Context, do func() error) error {
	for {
		if err := s.up(ctx); err != nil {
			return err
		}
		if err := do(); !errors.Is(err, errOffline) {
			return err
		}
	}
}

// attempts bounds how often something is tried at the end, while the log elects a leader. A net.
const attempts = 2000

// insist does something until it is done. do returns what has become of it.
func (s *session) insist(ctx context.Context, what string,
	do func() (checker.Event, error)) error {
	var e checker.Event
	for range attempts {
		err := s.persist(ctx, func() (err error) {
			e, err = do()
			return err
		})
		if err != nil || e.Type == checker.OK {
			return err
		}
		if !rest(ctx, pause) {
			return ctx.Err()
		}
	}
	return fmt.Errorf("session %s: %s has failed %d times: %s", s.name, what, attempts, e.Why)
}

// fence says a message to all.
func (s *session) fence(ctx context.Context) error {
	return s.insist(ctx, "the last message", func() (e checker.Event, err error) {
		text := s.campaign.word()
		c, err := s.begin(&checker.Event{Do: checker.Say, In: rooms[0].name, Text: text},
			irc.Message{Command: "PRIVMSG", Params: []string{rooms[0].name, text}})
		if err != nil {
			return e, err
		}
		return s.end(c, echoed(text))
	})
}

// readAll reads all conversations of the account, and where its read markers are.
func (s *session) readAll(ctx context.Context) error {
	for _, in := range s.account.conversations {
		err := s.insist(ctx, "reading "+in,
			func() (checker.Event, error) { return s.readWhole(in) })
		if err != nil {
			return err
		}
		err = s.persist(ctx, func() error {
			return s.markers(&checker.Event{Do: checker.Marked, In: in})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// readWhole reads a conversation from its beginning to its end, as one operation.
func (s *session) readWhole(in string) (e checker.Event, err error) {
	op, err := s.invoke(checker.Event{Do: checker.Read, In: in, Latest: true})
	if err != nil {
		return e, err
	}
	e = checker.Event{Op: op, Type: checker.OK, Whole: true}
	if e.Messages, err = s.pages(in); err != nil {
		e = checker.Event{Op: op, Type: checker.Unknown, Why: err.Error()}
	}
	s.campaign.record.tell(e)
	return e, nil
}

// wholePage is how many messages are read at once; CHATHISTORY of RPL_ISUPPORT allows as many.
const wholePage = 200

// pages reads all messages of a conversation.
func (s *session) pages(in string) (all []checker.Message, err error) {
	from, last := "timestamp=1970-01-01T00:00:00.000Z", ""
	for from != last {
		lines, err := s.ask("CHATHISTORY", "AFTER", s.target(in), from, fmt.Sprint(wholePage))
		if err != nil {
			return nil, err
		}
		page, n, ok := pageOf(lines)
		if !ok {
			return nil, fmt.Errorf("the answer is %q", lines)
		}
		all = append(all, page...)
		if n < wholePage {
			return all, nil
		}
		last = from
		for _, l := range lines {
			if id := l.Tags["msgid"]; l.kind == "chathistory" && id != "" {
				from = "msgid=" + id
			}
		}
	}
	return nil, fmt.Errorf("a page ends where it has begun, at %s", from)
}

// readDisks records the messages in the text of each server, which has ended.
func (c *campaign) readDisks() error {
	for _, s := range c.servers {
		all, err := messagesIn(filepath.Join(s.data, "log"))
		if err != nil {
			return fmt.Errorf("reading the text of %s: %w", s.name, err)
		}
		c.record.tell(checker.Event{Type: checker.Disk, Server: s.name, Messages: all})
	}
	return nil
}

// messagesIn returns the messages in a text as people read it: TIME [@TAGS] :SOURCE PRIVMSG TARGET
// :TEXT in a line.
func messagesIn(path string) (all []checker.Message, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		_, text, _ := strings.Cut(lines.Text(), " ")
		m, err := irc.Parse(text)
		if err != nil || m.Command != "PRIVMSG" { // a blank, or what is no message
			continue
		}
		conversation, it := message(m)
		_, later := m.Tags["draft/edit"]
		it.In, it.ID, it.Later = conversation, "", later
		all = append(all, it)
	}
	return all, lines.Err()
}
