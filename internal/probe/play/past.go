package play

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// What a transcript asks of the past: the log of a chat, and what those who were away hear of it.

// logForm is a line of the log: time, sender, one of three commands, where to, text.
var logForm = regexp.MustCompile(`(?s)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z :[^ !]+![^ @]+@[^ ]+ (PRIVMSG|NOTICE|TOPIC) [^ ]+ :.*$`)

// maxLog bounds what of a log is read.
const maxLog = 256 << 20

// readLog reads a log that may be written just now: a file grows page by page, so its end may be
// half of a write. The rest is there in milliseconds, or never.
func readLog(path string) (text []byte, err error) {
	for range 100 {
		if text, err = os.ReadFile(path); err != nil || len(text) == 0 ||
			text[len(text)-1] == '\n' {
			return text, err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return text, nil
}

// logLines reads the log. Every line of it must be whole and in its form.
func (p *play) logLines() ([]string, error) {
	if p.server.Data == nil {
		return nil, errors.New("the server has no folder: its run does not use {data}")
	}
	text, err := readLog(filepath.Join(p.server.Data.Path, "log"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // nothing was said so far
	}
	if err != nil {
		return nil, err
	}
	if len(text) > maxLog {
		return nil, fmt.Errorf("the log has %d bytes, want at most %d", len(text), maxLog)
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		return nil, fmt.Errorf("the log ends in half a line: %s",
			short(text[bytes.LastIndexByte(text, '\n')+1:]))
	}
	lines := strings.Split(string(text), "\n")
	lines = lines[:len(lines)-1]
	for i, line := range lines {
		if !logForm.MatchString(line) {
			return nil,
				fmt.Errorf("line %d of the log is %s, want TIME :NICK!USER@HOST "+
					"PRIVMSG|NOTICE|TOPIC TO :TEXT", i+1, quoteLine(line))
		}
	}
	return lines, nil
}

// logIs holds the next lines of the log, from where the last look ended, against what is wanted.
func (p *play) logIs(l *logIs) error {
	lines, err := p.logLines()
	if err != nil {
		return err
	}
	times := 1
	if l.often {
		times = p.granted
	}
	for range times {
		for _, want := range l.want {
			want = p.by(want, nil)
			if p.logAt >= len(lines) {
				return fmt.Errorf("the log has %d lines, want %v", len(lines), want)
			}
			if body := lines[p.logAt][len(timeForm)+1:]; !want.matches(body) {
				return fmt.Errorf("line %d of the log is %s, want %v", p.logAt+1, quoteLine(body),
					want)
			}
			p.logAt++
		}
	}
	return nil
}

func (p *play) logEnds() error {
	lines, err := p.logLines()
	if err != nil {
		return err
	}
	if len(lines) > p.logAt {
		return fmt.Errorf("the log goes on with %s", quoteLine(lines[p.logAt]))
	}
	return nil
}

// lookTime is how long after somebody removed the log a server may go on with the old one:
// services/chat/README.md says 100 ms.
const lookTime = 200 * time.Millisecond

// logRemoved removes the log, as a person may by mistake, and waits as long as a server may take to
// see it. What is looked at next is in another.
func (p *play) logRemoved() error {
	if p.server.Data == nil {
		return errors.New("the server has no folder: its run does not use {data}")
	}
	if err := os.Remove(filepath.Join(p.server.Data.Path, "log")); err != nil {
		return err
	}
	p.logAt = 0
	time.Sleep(lookTime)
	return nil
}

// timeIsOfLog holds the time before a line against that in the log.
func (p *play) timeIsOfLog(tags, line string) error {
	_, time, _ := strings.Cut(tags, "time=")
	time, _, _ = strings.Cut(time, ";")
	lines, err := p.logLines()
	if err != nil {
		return err
	}
	if !slices.Contains(lines, time+" "+line) {
		return fmt.Errorf("got %s with the time %s, which the log does not have", quoteLine(line),
			time)
	}
	return nil
}

// logWhole holds the log against all generated lines: what was acknowledged or heard is in it,
// nothing is in it twice, and everybody has heard in its order.
func (p *play) logWhole() error {
	lines, err := p.logLines()
	if err != nil {
		return err
	}
	place := map[int]int{}
	for i, line := range lines {
		source, body, _ := strings.Cut(line[len(timeForm)+1:], " ")
		id, err := p.talk.which(body)
		if err != nil {
			return fmt.Errorf("line %d of the log: %w", i+1, err)
		}
		if id < 0 {
			continue // not a generated one
		}
		if from, _, _ := strings.Cut(source[1:], "!"); from != p.talk.said[id].nick {
			return fmt.Errorf("line %d of the log: got %s, which %s said", i+1, quoteLine(line),
				p.talk.said[id].nick)
		}
		if first, twice := place[id]; twice {
			return fmt.Errorf("line %d of the log is line %d again: %s", i+1, first+1,
				p.talk.mark(id))
		}
		place[id] = i
	}
	for id, said := range p.talk.said {
		if _, there := place[id]; said.kept && !there {
			return fmt.Errorf("%s was acknowledged and is not in the log", p.talk.mark(id))
		}
	}
	for nick, m := range p.talk.members {
		for id := range m.had {
			if _, there := place[id]; !there && !p.talk.mayBeLost(id) {
				return fmt.Errorf("%s has heard %s, which is not in the log", nick, p.talk.mark(id))
			}
		}
		before := -1 // the last line that was heard and is in the log
		for _, id := range m.heard {
			at, there := place[id]
			switch {
			case !there && p.talk.mayBeLost(id):
				continue
			case !there:
				return fmt.Errorf("%s has heard %s, which is not in the log", nick, p.talk.mark(id))
			case before >= 0 && at < place[before]:
				return fmt.Errorf("%s has heard %s after %s; the log has them the other way round",
					nick, p.talk.mark(id), p.talk.mark(before))
			}
			before = id
		}
	}
	return nil
}

// mayBeLost tells whether the power was lost before a line was acknowledged: others may have heard
// it all the same.
func (t *talk) mayBeLost(id int) bool { return id < t.unsure && !t.said[id].kept }

// catchesUp hears what the client has missed. Room by room that must be the end of what the log has
// of others: all that it has not heard before, in order, each line once. Earlier ones may come
// before it, where a connection was cut off; where it ended in order, none does.
func (p *play) catchesUp(c *client, do *catches) error {
	lines, err := p.logLines()
	if err != nil {
		return err
	}
	nick := c.nickOf()
	m := p.talk.member(nick)
	rooms, missed, now := map[string][]int{}, 0, map[int]bool{}
	for _, id := range m.heard {
		now[id] = true
	}
	for _, line := range lines {
		_, body, _ := strings.Cut(line[len(timeForm)+1:], " ")
		id, err := p.talk.which(body)
		if err != nil {
			return err
		}
		if id < 0 || p.talk.said[id].nick == nick ||
			!slices.Contains(m.rooms, p.talk.said[id].room) {
			continue
		}
		room := p.talk.said[id].room
		rooms[room] = append(rooms[room], id)
		if !m.had[id] && !now[id] {
			missed++
		}
	}
	last := map[string]int{}
	for room, all := range rooms {
		last[room] = all[len(all)-1]
	}
	if err := c.hearMissed(p.talk, m, missed, last); err != nil {
		return err
	}
	heard := map[string][]int{}
	for _, id := range m.heard {
		if do.once && m.had[id] {
			return fmt.Errorf("%s hears %s again", nick, p.talk.mark(id))
		}
		heard[p.talk.said[id].room] = append(heard[p.talk.said[id].room], id)
	}
	for room, all := range rooms {
		got := heard[room]
		from := len(all) - len(got)
		if from < 0 || !slices.Equal(all[from:], got) {
			return p.talk.wrongPast(nick, room, all, got)
		}
		for _, id := range all[:from] {
			if !m.had[id] {
				return fmt.Errorf("%s has missed %s in %s and does not hear it; the first that "+
					"comes is %d lines later", nick, p.talk.mark(id), room,
					from-slices.Index(all, id))
			}
		}
	}
	p.talk.again(nick) // room by room is not the order of the log, in which the rest comes
	return nil
}

// hearMissed reads until a ping is answered, so many lines have come that were not heard before,
// and each room of which anything has come has come to its last line: what is said again may be
// under way when the ping is answered.
func (c *client) hearMissed(t *talk, m *member, missed int, last map[string]int) error {
	s := c.speak()
	s.fences++
	token, answered := fmt.Sprintf("fence%d", s.fences), false
	if err := c.tell("PING " + token + "\r\n"); err != nil {
		return err
	}
	// lines; rooms that have not come to their last
	seen, begun := map[int]bool{}, map[string]bool{}
	note := func(id int) {
		seen[id] = true
		if room := t.said[id].room; id == last[room] {
			delete(begun, room)
		} else {
			begun[room] = true
		}
	}
	for _, id := range m.heard {
		note(id)
	}
	for !answered || missed > 0 || len(begun) > 0 {
		_, line, err := c.line()
		if err != nil {
			return fmt.Errorf("%s; %d missed lines have not come%s", wordsOfEnd(err), missed,
				t.absent(c.nickOf(), seen))
		}
		if isPong(line, token) {
			answered = true
			continue
		}
		had := len(m.heard)
		if err := t.note(c.nickOf(), line); err != nil {
			return err
		}
		if len(m.heard) == had {
			continue
		}
		id := m.heard[had]
		if !seen[id] && !m.had[id] {
			missed--
		}
		note(id)
	}
	return nil
}

// wrongPast says where what was heard leaves what the log has.
func (t *talk) wrongPast(nick, room string, want, got []int) error {
	if len(got) > len(want) {
		return fmt.Errorf("%s heard %d lines in %s, of which the log has %d", nick, len(got), room,
			len(want))
	}
	want = want[len(want)-len(got):]
	for i := range got {
		if got[i] != want[i] {
			return fmt.Errorf("%s heard %s in %s as line %d of %d, where the log has %s", nick,
				t.mark(got[i]), room, i+1, len(got), t.mark(want[i]))
		}
	}
	return nil
}
