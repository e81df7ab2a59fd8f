package play

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
)

// A talk is all generated lines of a play, and who has heard which. Members are known by their
// nicks, which outlive their connections and the server.
type talk struct {
	said   []said
	byMark map[string]int // place in said, by the first word of a line's text
	// of said, those before this may be lost where they were not acknowledged: the power was
	// lost after them
	unsure  int
	counts  map[string]int // lines of each nick so far
	mu      sync.Mutex     // of members; each member belongs to the client that has its nick
	members map[string]*member
}

// A said line was generated. Only its sender's reader sets kept, and only while its step is played.
type said struct {
	nick, room, text string
	kept             bool // the server has acknowledged it
}

// A member is a nick in rooms.
type member struct {
	rooms []string
	had   map[int]bool // heard on any connection before this one
	heard []int        // on this connection, in order
}

func newTalk() *talk {
	return &talk{byMark: map[string]int{}, counts: map[string]int{}, members: map[string]*member{}}
}

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

func (t *talk) enter(nick, room string) {
	if m := t.member(nick); !slices.Contains(m.rooms, room) {
		m.rooms = append(m.rooms, room)
	}
}

// again begins a new connection of a nick: what it has heard is no longer expected.
func (t *talk) again(nick string) {
	m := t.member(nick)
	for _, id := range m.heard {
		m.had[id] = true
	}
	m.heard = nil
}

// which finds a generated line of a room by what stands after its sender; none of ours is -1.
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

// note takes a line that a nick has heard; other lines than messages are passed over.
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

// generate makes the lines that a nick will say, to its rooms by turns.
func (t *talk) generate(nick string, c *chats) (ids []int) {
	random := rand.New(rand.NewPCG(c.seed, nameHash(nick)))
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
			text[last] = '.' // servers of others cut blanks off
		}
		t.byMark[mark] = len(t.said)
		ids = append(ids, len(t.said))
		t.said = append(t.said, said{nick: nick, room: rooms[t.counts[nick]%len(rooms)],
			text: string(text)})
		t.counts[nick]++
	}
	return ids
}

// afterEnd is for what is under way when the server has ended; it is read in milliseconds.
const afterEnd = 2 * time.Second

// A round is one "chats" under way.
type round struct {
	p     *play
	do    *chats
	group []*client
	kept  atomic.Int64 // lines acknowledged
	once  sync.Once
	over  atomic.Bool // the server's end was asked for: connections may break
	end   error       // of the server; read when all have ended
	wait  sync.WaitGroup
}

// chats lets each of a group say its lines, and hear all that the others say in its rooms: whole,
// once, and in an order that one log can have.
func (p *play) chats(ctx context.Context, who string, do *chats) error {
	group := p.clients[who]
	mine, expect := make([][]int, len(group)), make([]int, len(group))
	index := map[*client]int{}
	for i, c := range group {
		index[c] = i
		if len(p.talk.member(c.nickOf()).rooms) == 0 {
			return fmt.Errorf("%s is in no room", c.nickOf())
		}
		mine[i] = p.talk.generate(c.nickOf(), do)
	}
	before := make([]int, len(group))
	inRoom := map[string]int{} // lines said in each room, by all
	for _, ids := range mine {
		for _, id := range ids {
			inRoom[p.talk.said[id].room]++
		}
	}
	for i, c := range group {
		m := p.talk.member(c.nickOf())
		before[i] = len(m.heard)
		for _, room := range m.rooms {
			expect[i] += inRoom[room]
		}
		if !c.speak().echo {
			expect[i] -= len(mine[i])
		}
	}
	r := &round{p: p, do: do}
	r.group = group
	err := p.each(ctx, who,
		func(c *client) error { i := index[c]; return r.chat(ctx, c, mine[i], expect[i]) })
	r.wait.Wait()
	if err = errors.Join(err, r.end); err != nil {
		return err
	}
	if do.end != "" && !r.over.Load() {
		return fmt.Errorf("all %d lines were acknowledged before %d were: nothing ended the server",
			r.kept.Load(), do.after)
	}
	sequences := make([][]int, len(group))
	for i, c := range group {
		sequences[i] = p.talk.member(c.nickOf()).heard[before[i]:]
	}
	return p.talk.oneOrder(sequences)
}

// chat is one client's part. Its reader hears and answers pings while its writer waits for
// acknowledgements.
func (r *round) chat(ctx context.Context, c *client, mine []int, expect int) error {
	acknowledged, gone := make(chan string, 1), make(chan struct{})
	wrote := make(chan error, 1)
	go func() { wrote <- r.write(ctx, c, mine, acknowledged, gone) }()
	heard := r.read(c, mine, expect, acknowledged)
	close(gone)
	if err := <-wrote; err != nil && heard == nil {
		return err
	}
	return heard
}

// write says the lines, so many in flight; a ping follows each of these parts.
func (r *round) write(ctx context.Context, c *client, mine []int, acknowledged <-chan string,
	gone <-chan struct{}) error {
	for n := 1; len(mine) > 0; n++ {
		part := mine[:min(len(mine), int(r.do.pipeline))]
		mine = mine[len(part):]
		var text strings.Builder
		for _, id := range part {
			said := &r.p.talk.said[id]
			fmt.Fprintf(&text, "PRIVMSG %s :%s\r\n", said.room, said.text)
		}
		token := talkToken(n)
		fmt.Fprintf(&text, "PING %s\r\n", token)
		if err := c.tell(text.String()); err != nil {
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

func talkToken(n int) string { return fmt.Sprintf("talk%d", n) }

// read hears until all that is expected has come, and all pings are answered; or until the server
// has ended, as it was asked to.
func (r *round) read(c *client, mine []int, expect int, acknowledged chan<- string) error {
	t, nick := r.p.talk, c.nickOf()
	m := t.member(nick)
	begin, kept, parts := len(m.heard), 0, 0
	once := map[int]bool{}
	for len(m.heard)-begin < expect || kept < len(mine) {
		_, line, err := c.line()
		if err != nil {
			if r.over.Load() && (isEOF(err) || isReset(err) ||
				errors.Is(err, os.ErrDeadlineExceeded)) {
				return nil
			}
			return fmt.Errorf("%s after %d of %d lines heard and %d of %d acknowledged%s",
				wordsOfEnd(err), len(m.heard)-begin, expect, kept, len(mine), t.absent(nick, once))
		}
		if parts*int(r.do.pipeline) < len(mine) && isPong(line, talkToken(parts+1)) {
			parts++
			for ; kept < min(len(mine), parts*int(r.do.pipeline)); kept++ {
				t.said[mine[kept]].kept = true
			}
			select {
			case acknowledged <- talkToken(parts):
			default:
				return fmt.Errorf("got %s, which nobody waits for", quoteLine(line))
			}
			r.acknowledged(int64(kept - (parts-1)*int(r.do.pipeline)))
			continue
		}
		words := strings.SplitN(line, " ", 3)
		refused := len(words) > 1 && len(words[1]) == 3 && words[1] >= "400" && words[1] <= "599"
		if refused || words[0] == "ERROR" && !r.over.Load() {
			return fmt.Errorf("got %s in the middle of the talk", quoteLine(line))
		}
		had := len(m.heard)
		if err := t.note(nick, line); err != nil {
			return err
		}
		if len(m.heard) == had {
			continue
		}
		id := m.heard[had]
		switch {
		case once[id]:
			return fmt.Errorf("got %s twice", quoteLine(line))
		case t.said[id].nick == nick && !c.speaker.echo:
			return fmt.Errorf("got %s, which it said itself", quoteLine(line))
		case t.said[id].nick == nick:
			t.said[id].kept = true // its echo is an acknowledgement
		}
		once[id] = true
	}
	return nil
}

// absent names a line that a nick should have heard.
func (t *talk) absent(nick string, heard map[int]bool) string {
	m := t.member(nick)
	for id := range t.said {
		said := &t.said[id] // its kept may be another's to set just now
		if said.nick != nick && slices.Contains(m.rooms, said.room) && !heard[id] && !m.had[id] &&
			!slices.Contains(m.heard, id) {
			return fmt.Sprintf("; %s of %s is missing",
				said.text[:strings.IndexByte(said.text, '|')], said.nick)
		}
	}
	return ""
}

// acknowledged counts, and ends the server when it is time.
func (r *round) acknowledged(lines int64) {
	if r.do.end == "" || r.kept.Add(lines) < r.do.after {
		return
	}
	r.once.Do(func() {
		r.over.Store(true)
		r.wait.Go(func() {
			switch r.do.end {
			case endKilled:
				r.p.kill()
			case endTerminates:
				r.end = r.p.terminate()
			case endPower, endHalfway:
				r.end = r.p.losePower(r.do.end == endHalfway)
			}
			for _, c := range r.group { // a stack of its own is dead as well, and resets nobody
				_ = c.conn.SetDeadline(time.Now().Add(afterEnd))
			}
		})
	})
}

// oneOrder finds the one order that all sequences are parts of, or says that there is none: again
// and again it takes the line that comes next for all who have heard it.
func (t *talk) oneOrder(sequences [][]int) error {
	audience, ready := map[int]int{}, map[int]int{}
	holders := map[int][]int{} // who waits for a line to be taken
	last := map[string]int{}   // for each speaker, the last line that one hearer has heard
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

func (t *talk) mark(id int) string {
	mark, _, _ := strings.Cut(t.said[id].text, "|")
	return mark
}
