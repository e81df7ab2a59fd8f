package chat

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"interleave/internal/probe/play"
)

// A talk is all generated lines of a play, and which client has heard which of them. Its members
// are known by their nicks, which outlive connections and the server. A line is known by its place
// in said.
type talk struct {
	said   []said
	byMark map[string]int // the place in said, by the line's mark: its text up to the first |
	unsure int            // the power was lost after this many lines were said
	counts map[string]int // lines of each nick so far

	mu      sync.Mutex // guards members; each member belongs to the client that has its nick
	members map[string]*member
}

// A said line was generated. Only the goroutine that reads for its sender sets kept, while the
// line's step is played.
type said struct {
	nick, room, text string
	kept             bool // the server has acknowledged it
}

// A member is a nick that is in rooms.
type member struct {
	rooms []string
	had   map[int]bool // lines that it has heard on earlier connections
	heard []int        // lines that it has heard on this connection, in order
}

func newTalk() *talk {
	return &talk{byMark: map[string]int{}, counts: map[string]int{}, members: map[string]*member{}}
}

// member returns the member of a nick, and makes it if there is none.
func (t *talk) member(nick string) *member {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.members[nick]
	if m == nil {
		m = &member{had: map[int]bool{}}
		t.members[nick] = m
	}
	return m
}

// enter notes that a nick is in a room.
func (t *talk) enter(nick, room string) {
	if m := t.member(nick); !slices.Contains(m.rooms, room) {
		m.rooms = append(m.rooms, room)
	}
}

// again begins a new connection of a nick. What it has heard before is no longer expected.
func (t *talk) again(nick string) {
	m := t.member(nick)
	for _, id := range m.heard {
		m.had[id] = true
	}
	m.heard = nil
}

// which finds a generated line by the text that follows its sender: PRIVMSG #ROOM :TEXT. It returns
// -1 for a line that was not generated.
func (t *talk) which(body string) (id int, err error) {
	rest, ok := strings.CutPrefix(body, "PRIVMSG ")
	if !ok {
		return -1, nil
	}
	room, text, ok := strings.Cut(rest, " :")
	if !ok {
		return -1, nil
	}
	mark, _, _ := strings.Cut(text, "|")
	id, known := t.byMark[mark]
	if !known {
		return -1, nil
	}
	if said := &t.said[id]; said.room != room || said.text != text {
		return -1, fmt.Errorf("got %s, want %s: it is torn or mixed with another", quoteLine(body),
			quoteLine("PRIVMSG "+said.room+" :"+said.text))
	}
	return id, nil
}

// note notes that a nick has heard a line. It ignores lines that are not messages.
func (t *talk) note(nick, line string) error {
	source, body, ok := strings.Cut(line, " ")
	if !ok || !strings.HasPrefix(body, "PRIVMSG ") {
		return nil
	}
	id, err := t.which(body)
	if err != nil {
		return err
	}
	if id < 0 {
		return fmt.Errorf("got %s, which nobody said", quoteLine(line))
	}
	if from, _, _ := strings.Cut(strings.TrimPrefix(source, ":"), "!"); from != t.said[id].nick {
		return fmt.Errorf("got %s, which %s said", quoteLine(line), t.said[id].nick)
	}
	m := t.member(nick)
	m.heard = append(m.heard, id)
	return nil
}

// generate makes the lines that a nick is going to say, to its rooms by turns.
func (t *talk) generate(nick string, c chats) (ids []int) {
	random := rand.New(rand.NewPCG(c.seed, play.NameHash(nick)))
	rooms := t.member(nick).rooms
	for range c.count {
		mark := fmt.Sprintf("%s.%d", nick, t.counts[nick])
		length := int(c.least + random.Int64N(c.most-c.least+1))
		text := []byte(mark + "|")
		for len(text) < length {
			b := byte(random.Uint32())
			if b == 0 || b == '\r' || b == '\n' {
				b = ' '
			}
			text = append(text, b)
		}
		if last := len(text) - 1; text[last] == ' ' {
			text[last] = '.' // some servers cut off blanks at the end
		}
		t.byMark[mark] = len(t.said)
		ids = append(ids, len(t.said))
		t.said = append(t.said, said{nick: nick, room: rooms[t.counts[nick]%len(rooms)],
			text: string(text)})
		t.counts[nick]++
	}
	return ids
}

// afterEnd is how long clients read on when the server has ended. What is under way is read in
// milliseconds.
const afterEnd = 2 * time.Second

// A round is one step "chats" that is being played.
type round struct {
	scene *scene
	words chats
	group []*speaker
	mine  [][]int      // the lines of each speaker
	total []int        // how many lines each speaker must hear
	kept  atomic.Int64 // lines acknowledged
	once  sync.Once
	over  atomic.Bool // the server was told to end: connections may break
	end   error       // of the server; read when all speakers have ended
	wait  sync.WaitGroup
}

// newRound generates the lines of all speakers, and counts how many each must hear.
func newRound(s *scene, clients []*play.Client, w chats) (*round, error) {
	r := &round{scene: s, words: w}
	inRoom := map[string]int{} // lines of all speakers
	for _, c := range clients {
		speaker := speak(c)
		if len(s.talk.member(speaker.nickOf()).rooms) == 0 {
			return nil, fmt.Errorf("%s is in no room", speaker.nickOf())
		}
		lines := s.talk.generate(speaker.nickOf(), w)
		for _, id := range lines {
			inRoom[s.talk.said[id].room]++
		}
		r.group, r.mine = append(r.group, speaker), append(r.mine, lines)
	}
	for i, c := range r.group {
		total := 0
		for _, room := range s.talk.member(c.nickOf()).rooms {
			total += inRoom[room]
		}
		if !c.echo {
			total -= len(r.mine[i])
		}
		r.total = append(r.total, total)
	}
	return r, nil
}

// chat lets each client of a group say its lines, and hear all that the others say in its rooms:
// whole, once, and in an order that one log can have.
func chat(ctx context.Context, p *play.Play, who string, w chats) error {
	s, clients := sceneOf(p), p.Group(who)
	r, err := newRound(s, clients, w)
	if err != nil {
		return err
	}
	index, before := map[*play.Client]int{}, make([]int, len(clients))
	for i, c := range clients {
		index[c] = i
		before[i] = len(s.talk.member(r.group[i].nickOf()).heard)
	}
	err = p.Each(ctx, who, func(c *play.Client) error { return r.take(ctx, index[c]) })
	r.wait.Wait()
	if err = errors.Join(err, r.end); err != nil {
		return err
	}
	if w.end != "" && !r.over.Load() {
		return fmt.Errorf("all %d lines were acknowledged before %d were: nothing ended the server",
			r.kept.Load(), w.after)
	}
	sequences := make([][]int, len(clients))
	for i, c := range r.group {
		sequences[i] = s.talk.member(c.nickOf()).heard[before[i]:]
	}
	return s.talk.oneOrder(sequences)
}

// take is the part of one speaker. This goroutine reads and answers pings, while another writes and
// waits for acknowledgements.
func (r *round) take(ctx context.Context, i int) error {
	acknowledged, gone := make(chan string, 1), make(chan struct{})
	wrote := make(chan error, 1)
	go func() { wrote <- r.write(ctx, i, acknowledged, gone) }()
	heard := r.read(i, acknowledged)
	close(gone)
	if err := <-wrote; err != nil && heard == nil {
		return err
	}
	return heard
}

// write says the speaker's lines in parts of as many as may be in flight. A ping follows each part.
func (r *round) write(ctx context.Context, i int, acknowledged <-chan string,
	gone <-chan struct{}) error {
	mine := r.mine[i]
	for n := 1; len(mine) > 0; n++ {
		part := mine[:min(len(mine), int(r.words.pipeline))]
		mine = mine[len(part):]
		var text strings.Builder
		for _, id := range part {
			said := &r.scene.talk.said[id]
			fmt.Fprintf(&text, "PRIVMSG %s :%s\r\n", said.room, said.text)
		}
		token := talkToken(n)
		fmt.Fprintf(&text, "PING %s\r\n", token)
		if err := r.group[i].tell(text.String()); err != nil {
			if r.over.Load() {
				return nil
			}
			return err
		}
		select {
		case got := <-acknowledged:
			if got != token {
				return fmt.Errorf("got the PONG to %q before that to %q", got, token)
			}
		case <-gone:
			return nil // the reader says why
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// talkToken is that of the ping after the n-th part.
func talkToken(n int) string { return fmt.Sprintf("talk%d", n) }

// read reads until all expected lines have come and all pings are answered, or until the server has
// ended because it was told to.
func (r *round) read(i int, acknowledged chan<- string) error {
	c, mine, t := r.group[i], r.mine[i], r.scene.talk
	nick := c.nickOf()
	m := t.member(nick)
	begin, kept, parts := len(m.heard), 0, 0
	token := talkToken(parts + 1)
	once := map[int]bool{}
	for len(m.heard)-begin < r.total[i] || kept < len(mine) {
		_, line, err := c.line()
		if err != nil {
			if r.over.Load() && (play.IsEOF(err) || play.IsReset(err) ||
				errors.Is(err, os.ErrDeadlineExceeded)) {
				return nil
			}
			return fmt.Errorf("%s after %d of %d lines heard and %d of %d acknowledged%s",
				play.Why(err), len(m.heard)-begin, r.total[i], kept, len(mine),
				t.absent(nick, once))
		}
		if parts*int(r.words.pipeline) < len(mine) && isPong(line, token) {
			parts++
			for ; kept < min(len(mine), parts*int(r.words.pipeline)); kept++ {
				t.said[mine[kept]].kept = true
			}
			select {
			case acknowledged <- token:
			default:
				return fmt.Errorf("got %s, which nobody waits for", quoteLine(line))
			}
			token = talkToken(parts + 1)
			r.acknowledged(int64(kept - (parts-1)*int(r.words.pipeline)))
			continue
		}
		if err := r.hear(c, line, once); err != nil {
			return err
		}
	}
	return nil
}

// hear takes a line that is not the answer to a ping. Once are the generated lines that the speaker
// has heard in this round.
func (r *round) hear(c *speaker, line string, once map[int]bool) error {
	first, _, _ := strings.Cut(line, " ")
	if isRefusal(secondWord(line)) || first == "ERROR" && !r.over.Load() {
		return fmt.Errorf("got %s in the middle of the talk", quoteLine(line))
	}
	t, nick := r.scene.talk, c.nickOf()
	m := t.member(nick)
	had := len(m.heard)
	if err := t.note(nick, line); err != nil {
		return err
	}
	if len(m.heard) == had {
		return nil
	}
	id := m.heard[had]
	switch {
	case once[id]:
		return fmt.Errorf("got %s twice", quoteLine(line))
	case t.said[id].nick == nick && !c.echo:
		return fmt.Errorf("got %s, which it said itself", quoteLine(line))
	case t.said[id].nick == nick:
		t.said[id].kept = true // its echo is an acknowledgement
	}
	once[id] = true
	return nil
}

// absent names a line that a nick should have heard.
func (t *talk) absent(nick string, heard map[int]bool) string {
	m := t.member(nick)
	for id := range t.said {
		said := &t.said[id] // another goroutine may be setting its kept
		if said.nick != nick && slices.Contains(m.rooms, said.room) && !heard[id] && !m.had[id] &&
			!slices.Contains(m.heard, id) {
			return fmt.Sprintf("; %s of %s is missing",
				said.text[:strings.IndexByte(said.text, '|')], said.nick)
		}
	}
	return ""
}

// acknowledged counts acknowledged lines, and ends the server when it is time.
func (r *round) acknowledged(lines int64) {
	if r.words.end == "" || r.kept.Add(lines) < r.words.after {
		return
	}
	r.once.Do(func() {
		r.over.Store(true)
		r.wait.Go(func() {
			switch r.words.end {
			case endKilled:
				r.scene.Kill()
			case endTerminates:
				r.end = r.scene.Terminate()
			case endPower, endHalfway:
				r.end = r.scene.losePower(r.words.end == endHalfway)
			}
			for _, c := range r.group { // a server's own stack dies with it and sends no reset
				_ = c.Conn.SetDeadline(time.Now().Add(afterEnd))
			}
		})
	})
}

// oneOrder finds an order of which all sequences are parts, or returns an error if there is none.
// It repeatedly takes a line that comes next in all sequences that have it.
func (t *talk) oneOrder(sequences [][]int) error {
	audience, ready := map[int]int{}, map[int]int{}
	holders := map[int][]int{} // the sequences in which a line comes next
	last := map[string]int{}   // the last line of each speaker in one sequence
	for _, sequence := range sequences {
		clear(last)
		for _, id := range sequence {
			audience[id]++
			if before, ok := last[t.said[id].nick]; ok && before > id {
				return fmt.Errorf("%s was heard after %s: out of order", t.mark(id), t.mark(before))
			}
			last[t.said[id].nick] = id
		}
	}
	next := make([]int, len(sequences))
	var free []int
	arrive := func(i int) {
		if next[i] == len(sequences[i]) {
			return
		}
		id := sequences[i][next[i]]
		holders[id] = append(holders[id], i)
		if ready[id]++; ready[id] == audience[id] {
			free = append(free, id)
		}
	}
	for i := range sequences {
		arrive(i)
	}
	for len(free) > 0 {
		id := free[len(free)-1]
		free = free[:len(free)-1]
		waiting := holders[id]
		delete(holders, id)
		for _, i := range waiting {
			next[i]++
			arrive(i)
		}
	}
	for id, waiting := range holders {
		i := waiting[0]
		for j, sequence := range sequences {
			if next[j] < len(sequence) && slices.Contains(sequence[next[j]+1:], id) {
				other := sequence[next[j]]
				return fmt.Errorf("two heard in different orders: one hears %s next, another %s "+
					"before it", t.mark(id), t.mark(other))
			}
		}
		return fmt.Errorf("%s is in no order that all share, for hearer %d", t.mark(id), i)
	}
	return nil
}

// mark returns what names a line in errors: its nick and its number.
func (t *talk) mark(id int) string {
	mark, _, _ := strings.Cut(t.said[id].text, "|")
	return mark
}
