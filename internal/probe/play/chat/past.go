package chat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"interleave/internal/probe/play"
	"interleave/internal/probe/transcript"
)

// logForm is the form of a line of the log: time, sender, one of three commands, room or nick,
// text.
var logForm = regexp.MustCompile(`(?s)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z :[^ !]+![^ @]+@[^ ]+ (PRIVMSG|NOTICE|TOPIC) [^ ]+ :.*$`)

// maxLog bounds how many bytes of a log are read.
const maxLog = 256 << 20

// readLog reads a log that may be written just now. A file grows page by page, so its end may be
// half of a write; the rest of the write is there within milliseconds, or never.
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

// A reading is the log as it was last read. Each client of a group reads the log, so the lines that
// are known to be in their form are not looked at again.
type reading struct {
	mu    sync.Mutex
	text  []byte
	lines []string // of text
}

// linesOf returns the lines of a log that ends in a whole one. Every line must be in its form.
func (r *reading) linesOf(text []byte) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !bytes.HasPrefix(text, r.text) { // it is another log
		r.text, r.lines = nil, nil
	}
	lines := r.lines
	for line := range strings.Lines(string(text[len(r.text):])) {
		line = strings.TrimSuffix(line, "\n")
		if !logForm.MatchString(line) {
			return nil,
				fmt.Errorf("line %d of the log is %s, want TIME :NICK!USER@HOST "+
					"PRIVMSG|NOTICE|TOPIC TO :TEXT", len(lines)+1, quoteLine(line))
		}
		lines = append(lines, line)
	}
	r.text, r.lines = text, lines
	return lines, nil
}

// logLines reads the log. Every line of it must be whole and in its form.
func (s *scene) logLines() ([]string, error) {
	if s.Server.Data == nil {
		return nil, play.ErrNoFolder
	}
	text, err := readLog(filepath.Join(s.Server.Data.Path, "log"))
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
			transcript.Short(text[bytes.LastIndexByte(text, '\n')+1:]))
	}
	return s.log.linesOf(text)
}

// logIs compares the next lines of the log, from where the last look ended, with the wanted ones.
func logIs(_ context.Context, p *play.Play, _ string, w wantedLines) error {
	s := sceneOf(p)
	lines, err := s.logLines()
	if err != nil {
		return err
	}
	for range w.times(s) {
		for _, want := range w.lines {
			want = s.fill(want, nil)
			if s.logAt >= len(lines) {
				return fmt.Errorf("the log has %d lines, want %v", len(lines), want)
			}
			if body := lines[s.logAt][len(timeForm)+1:]; !want.matches(body) {
				return fmt.Errorf("line %d of the log is %s, want %v", s.logAt+1, quoteLine(body),
					want)
			}
			s.logAt++
		}
	}
	return nil
}

// logEnds wants no more lines in the log.
func logEnds(_ context.Context, p *play.Play, _ string, _ play.None) error {
	s := sceneOf(p)
	lines, err := s.logLines()
	if err != nil {
		return err
	}
	if len(lines) > s.logAt {
		return fmt.Errorf("the log goes on with %s", quoteLine(lines[s.logAt]))
	}
	return nil
}

// lookTime is how long after its log was removed a server may go on with the old one. The limit in
// services/chat/README.md is 100 ms.
const lookTime = 200 * time.Millisecond

// logRemoved removes the log, as a person may by mistake, and waits as long as a server may take to
// notice. The next look is at a new log.
func logRemoved(_ context.Context, p *play.Play, _ string, _ play.None) error {
	if p.Server.Data == nil {
		return play.ErrNoFolder
	}
	if err := os.Remove(filepath.Join(p.Server.Data.Path, "log")); err != nil {
		return err
	}
	sceneOf(p).logAt = 0
	time.Sleep(lookTime)
	return nil
}

// timeIsOfLog wants the log to have the line with the time that is in its tags.
func (s *scene) timeIsOfLog(tags, line string) error {
	_, time, _ := strings.Cut(tags, "time=")
	time, _, _ = strings.Cut(time, ";")
	lines, err := s.logLines()
	if err != nil {
		return err
	}
	if !slices.Contains(lines, time+" "+line) {
		return fmt.Errorf("got %s with the time %s, which the log does not have", quoteLine(line),
			time)
	}
	return nil
}

// losePower loses the power of the server's disk. What was said before and not acknowledged may be
// lost.
func losePower(_ context.Context, p *play.Play, _ string, halfway bool) error {
	return sceneOf(p).losePower(halfway)
}

func (s *scene) losePower(halfway bool) error {
	s.Kill()
	s.talk.unsure = len(s.talk.said)
	return s.LosePower(halfway)
}

// logWhole compares the log with all generated lines: the lines that were acknowledged or heard are
// in it, none is in it twice, and all clients have heard them in its order.
func logWhole(_ context.Context, p *play.Play, _ string, _ play.None) error {
	s := sceneOf(p)
	place, err := s.placesInLog()
	if err != nil {
		return err
	}
	for id, said := range s.talk.said {
		if _, there := place[id]; said.kept && !there {
			return fmt.Errorf("%s was acknowledged and is not in the log", s.talk.mark(id))
		}
	}
	for nick, m := range s.talk.members {
		for id := range m.had {
			if _, there := place[id]; !there && !s.talk.mayBeLost(id) {
				return fmt.Errorf("%s has heard %s, which is not in the log", nick, s.talk.mark(id))
			}
		}
		if err := s.talk.heardInOrder(nick, m.heard, place); err != nil {
			return err
		}
	}
	return nil
}

// placesInLog returns the place in the log of each generated line. No line may be in it twice or
// with another sender.
func (s *scene) placesInLog() (place map[int]int, err error) {
	lines, err := s.logLines()
	if err != nil {
		return nil, err
	}
	place = map[int]int{}
	for i, line := range lines {
		source, body, _ := strings.Cut(line[len(timeForm)+1:], " ")
		id, err := s.talk.which(body)
		if err != nil {
			return nil, fmt.Errorf("line %d of the log: %w", i+1, err)
		}
		if id < 0 {
			continue // it was not generated
		}
		if from, _, _ := strings.Cut(source[1:], "!"); from != s.talk.said[id].nick {
			return nil, fmt.Errorf("line %d of the log: got %s, which %s said", i+1,
				quoteLine(line), s.talk.said[id].nick)
		}
		if first, twice := place[id]; twice {
			return nil, fmt.Errorf("line %d of the log is line %d again: %s", i+1, first+1,
				s.talk.mark(id))
		}
		place[id] = i
	}
	return place, nil
}

// heardInOrder compares what a nick has heard on one connection with the places in the log.
func (t *talk) heardInOrder(nick string, heard []int, place map[int]int) error {
	before := -1 // the last line that was heard and is in the log
	for _, id := range heard {
		at, there := place[id]
		switch {
		case !there && t.mayBeLost(id):
			continue
		case !there:
			return fmt.Errorf("%s has heard %s, which is not in the log", nick, t.mark(id))
		case before >= 0 && at < place[before]:
			return fmt.Errorf("%s has heard %s after %s; the log has them the other way round",
				nick, t.mark(id), t.mark(before))
		}
		before = id
	}
	return nil
}

// mayBeLost reports whether a line may be lost: the power was lost before it was acknowledged.
// Other clients may have heard it all the same.
func (t *talk) mayBeLost(id int) bool { return id < t.unsure && !t.said[id].kept }

// catches reads the lines that the client has missed. In each room, what comes must be the end of
// what the log has of other clients: all that the client has not heard before, in order, each line
// once. Lines that it has heard before may come first if its connection was cut off. If once is
// true, none of them may come.
func catches(_ context.Context, p *play.Play, c *play.Client, once bool) error {
	s, speaker := sceneOf(p), speak(c)
	nick := speaker.nickOf()
	m := s.talk.member(nick)
	rooms, missed, err := s.missedBy(nick, m)
	if err != nil {
		return err
	}
	if err := speaker.hearMissed(s.talk, m, missed, rooms); err != nil {
		return err
	}
	heard := map[string][]int{}
	for _, id := range m.heard {
		if once && m.had[id] {
			return fmt.Errorf("%s hears %s again", nick, s.talk.mark(id))
		}
		heard[s.talk.said[id].room] = append(heard[s.talk.said[id].room], id)
	}
	for room, all := range rooms {
		got := heard[room]
		from := len(all) - len(got)
		if from < 0 || !slices.Equal(all[from:], got) {
			return s.talk.wrongPast(nick, room, all, got)
		}
		for _, id := range all[:from] {
			if !m.had[id] {
				return fmt.Errorf("%s has missed %s in %s and does not hear it; the first that "+
					"comes is %d lines later", nick, s.talk.mark(id), room,
					from-slices.Index(all, id))
			}
		}
	}
	// Missed lines come room by room. The rest comes in the order of the log, which starts anew.
	s.talk.again(nick)
	return nil
}

// missedBy returns, for each room of a nick, the lines of others that the log has, and how many of
// all these lines the nick has not heard.
func (s *scene) missedBy(nick string, m *member) (rooms map[string][]int, missed int, err error) {
	lines, err := s.logLines()
	if err != nil {
		return nil, 0, err
	}
	rooms, now := map[string][]int{}, map[int]bool{}
	for _, id := range m.heard {
		now[id] = true
	}
	for _, line := range lines {
		_, body, _ := strings.Cut(line[len(timeForm)+1:], " ")
		id, err := s.talk.which(body)
		if err != nil {
			return nil, 0, err
		}
		if id < 0 || s.talk.said[id].nick == nick ||
			!slices.Contains(m.rooms, s.talk.said[id].room) {
			continue
		}
		room := s.talk.said[id].room
		rooms[room] = append(rooms[room], id)
		if !m.had[id] && !now[id] {
			missed++
		}
	}
	return rooms, missed, nil
}

// hearMissed reads until a ping is answered, all missed lines have come, and each room of which any
// line has come has come to its last line: lines that the server repeats may still be on their way
// when the ping is answered. The rooms have the lines that the log has.
func (s *speaker) hearMissed(t *talk, m *member, missed int, rooms map[string][]int) error {
	token, err := s.ping()
	if err != nil {
		return err
	}
	last := map[string]int{} // the last line of each room
	for room, all := range rooms {
		last[room] = all[len(all)-1]
	}
	seen := map[int]bool{}     // lines that have come on this connection
	begun := map[string]bool{} // rooms of which lines have come, but not the last one
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
	for answered := false; !answered || missed > 0 || len(begun) > 0; {
		_, line, err := s.line()
		if err != nil {
			return fmt.Errorf("%s; %d missed lines have not come%s", play.Why(err), missed,
				t.absent(s.nickOf(), seen))
		}
		if isPong(line, token) {
			answered = true
			continue
		}
		had := len(m.heard)
		if err := t.note(s.nickOf(), line); err != nil {
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

// wrongPast says where the lines that a nick has heard differ from those of the log.
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
