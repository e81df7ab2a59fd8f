package hall

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"interleave/papaya/irc"
	"interleave/papaya/search"
)

// End implements GrowingText.
func (m *memory) End() uint64 { return uint64(len(m.lines)) }

// A chatter fills a text with what people say.
type chatter struct {
	hall   *Hall
	text   *memory
	random *rand.Rand
	number uint64
	now    int64
	said   []uint64 // the offsets of messages
}

func newChatter(seed uint64) *chatter {
	text := &memory{}
	return &chatter{hall: New(Config{Text: text}, 0), text: text, now: 1e12,
		random: rand.New(rand.NewPCG(seed, 1))}
}

var talkers = []string{"ann", "bob", "Eve"}

var topics = strings.Fields("kettle Tea cup the is on now :-) http://tea.example/x?y=z İstanbul " +
	"GRÜN grün お茶の時間 👍 ſecret \x01ACTION internationalization-of-everything ....")

func (c *chatter) some(list []string) string { return list[c.random.IntN(len(list))] }

func (c *chatter) words(n int) string {
	var out []string
	for range n {
		out = append(out, c.some(topics))
	}
	return strings.Join(out, " ")
}

// batch says something.
func (c *chatter) batch() {
	c.number++
	c.now += c.random.Int64N(2000)
	c.hall.Begin(Batch{Server: "a", Run: 1, Number: c.number, Time: c.now})
	nick := c.some(talkers)
	u := &user{nick: nick, source: nick + "!" + nick + "@host"}
	target := c.some([]string{"#tea", "#Cup", "@#tea", "ann", "bob", "eve"})
	at := c.hall.at
	switch c.random.IntN(16) {
	case 0:
		c.hall.recordOf(u, irc.Lower(irc.RoomOf(target)), "+draft/react=x",
			appendBody(nil, u.source, "TAGMSG", target, ""))
	case 1:
		c.hall.recordOf(u, irc.Lower(irc.RoomOf(target)), "",
			appendBody(nil, u.source, "TOPIC", target, c.words(2)))
	case 2:
		c.redact(u)
	case 3:
		it := speech{"PRIVMSG", c.words(3), "", nil}
		for range 1 + c.random.IntN(4) {
			it.more = append(it.more, spoken{c.words(2), c.random.IntN(2) == 0})
		}
		c.hall.tell(u, target, it)
		c.said = append(c.said, at)
	case 4, 5, 6:
		c.edit()
	default:
		text := c.words(1+c.random.IntN(9)) + strings.Repeat(" filling", c.random.IntN(50))
		c.hall.tell(u, target, speech{"PRIVMSG", text, "", nil})
		c.said = append(c.said, at)
	}
	_, lines := c.hall.Lines()
	c.text.lines = append(c.text.lines, lines...)
}

// redact removes a message, and says so.
func (c *chatter) redact(u *user) {
	if len(c.said) == 0 {
		return
	}
	at := c.said[c.random.IntN(len(c.said))]
	s, size, ok := c.hall.messageAt(at)
	if !ok {
		return // it was removed before
	}
	later := c.hall.removeVersions(at)
	for _, p := range append(later, Span{at, size}) {
		c.text.erase(p)
	}
	c.hall.recordOf(u, s.target, formatVersions(later), fmt.Appendf(nil, ":%s REDACT %s %s",
		u.source, s.target, appendPlace(nil, at)))
}

// edit gives a message another text.
func (c *chatter) edit() {
	if len(c.said) == 0 {
		return
	}
	s, _, ok := c.hall.messageAt(c.said[c.random.IntN(len(c.said))])
	if !ok {
		return // it was removed
	}
	nick, _, _ := irc.SplitMask(s.source)
	c.change(&user{nick: nick, source: s.source}, s,
		c.words(1+c.random.IntN(5))+strings.Repeat(" changed", c.random.IntN(30)))
}

func (c *chatter) change(u *user, s said, text string) {
	c.hall.tellEdit(u, s.target, s.at, speech{s.command, text, "", nil})
}

// indexed returns an index that has all full chunks of the text.
func (c *chatter) indexed(t *testing.T) *search.Index {
	x := search.New(t.TempDir(), Source(c.text), slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		x.Run(ctx)
		close(done)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	for {
		if _, _, lacks := x.Usage(); lacks < chunkSize {
			return x
		}
		time.Sleep(time.Millisecond)
	}
}

// question returns a question about a room or a conversation of ann.
func (c *chatter) question(target string, x *search.Index, has caps) question {
	ann := &user{nick: "ann"}
	q := question{target: target, names: c.hall.indexNames(ann, target, has),
		edits: has&knowsEdits == knowsEdits,
		pages: &pages{text: c.hall.whole(), index: x, versions: c.hall.versions}}
	q.chunks = c.hall.chunksOf([]string{target})
	if !irc.IsRoom(target) {
		q.chunks = c.hall.chunksOf([]string{conversation("ann", target)})
	}
	q.want = func(s said) bool {
		status, name := irc.SplitStatus(s.target)
		return s.shown(has) && (irc.IsRoom(target) && status == "" && name == target ||
			s.target == target && s.nick() == "ann" || s.target == "ann" && s.nick() == target)
	}
	return q
}

// bound returns a bound at or beside a message.
func (c *chatter) bound() bound {
	at := c.said[c.random.IntN(len(c.said))] + uint64(c.random.IntN(2))
	if c.random.IntN(2) == 0 {
		return bound{at: at}
	}
	return bound{time: 1e12 + c.random.Int64N(c.now-1e12+1), byTime: true}
}

// compare reads with the index and without it.
func (c *chatter) compare(t *testing.T, x *search.Index) {
	t.Helper()
	target := c.some([]string{"#tea", "#cup", "bob", "eve"})
	has := []caps{0, redaction, eventPlayback, redaction | eventPlayback | messageTags,
		knowsEdits, knowsEdits | redaction | eventPlayback}[c.random.IntN(6)]
	from, to := c.bound(), c.bound()
	if from.byTime != to.byTime {
		to = last
	}
	verb := c.some([]string{"LATEST", "BEFORE", "AFTER", "BETWEEN", "AROUND"})
	if verb == "LATEST" && c.random.IntN(2) == 0 {
		from = first
	}
	limit := 1 + c.random.IntN(maxHistory)
	words := strings.Fields(strings.ToLower(c.words(1 + c.random.IntN(2))))
	if w := []rune(words[0]); c.random.IntN(2) == 0 {
		words[0] = string(w[c.random.IntN(len(w)):])
	}
	var lines [2][]said
	var hits [2][]said
	var more [2]bool
	for i, index := range []*search.Index{nil, x} {
		h := &history{question: c.question(target, index, has), verb: verb, from: from, to: to,
			limit: limit}
		h.Run(t.Context())
		lines[i] = h.lines
		s := &Search{question: c.question(target, index, has|knowsEdits), words: words}
		s.Run(t.Context())
		hits[i], more[i] = s.hits, s.more
	}
	if got, want := offsetsOf(lines[1]), offsetsOf(lines[0]); !slices.Equal(got, want) {
		t.Fatalf("%s of %s from %v to %v, %d at most, is %v with the index, and %v without",
			verb, target, from, to, limit, got, want)
	}
	if got, want := offsetsOf(hits[1]), offsetsOf(hits[0]); !slices.Equal(got, want) ||
		more[0] != more[1] {
		t.Fatalf("%q in %s is found at %v with the index (more: %v), and at %v without (%v)",
			words, target, got, more[1], want, more[0])
	}
}

func offsetsOf(messages []said) (out []uint64) {
	for _, s := range messages {
		out = append(out, s.at)
	}
	return out
}

// TestIndexAnswersAsTheText compares histories and searches with an index and without one, in a
// text of more than a file of the index.
func TestIndexAnswersAsTheText(t *testing.T) {
	c := newChatter(1)
	for len(c.text.lines) < 18*chunkSize {
		c.batch()
	}
	x := c.indexed(t)
	if files, _, _ := x.Usage(); files == 0 {
		t.Error("the index has no file")
	}
	for range 40 {
		c.compare(t, x)
	}
	// Behind the index's back, as between a removal and the next step of the index.
	for _, at := range c.said[:200] {
		if _, size, ok := c.hall.messageAt(at); ok {
			c.text.erase(Span{at, size})
		}
	}
	for range 10 {
		c.compare(t, x)
	}
}

// TestChangesWithTheIndex: programs that follow what is changed and removed are told the same with
// an index and without one.
func TestChangesWithTheIndex(t *testing.T) {
	c := newChatter(6)
	for len(c.text.lines) < 4*chunkSize {
		c.batch()
	}
	c.hall.rooms["#tea"] = newRoom("#tea", 0, 0)
	x, kinds := c.indexed(t), map[string]int{}
	for at := Beginning; ; {
		var both [2][]Message
		for i, index := range []*search.Index{nil, x} {
			c.hall.config.Index = index
			read, err := c.hall.Messages("#tea", Page{After: at, Limit: 50, Changes: true})
			if err == nil {
				both[i], err = read(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if !reflect.DeepEqual(both[0], both[1]) {
			t.Fatalf("after %s are %v with the index, and %v without", at, both[1], both[0])
		}
		if len(both[0]) == 0 {
			break
		}
		for _, m := range both[0] {
			if at = m.ID; m.Of != "" && m.Kind != "removal" {
				m.Kind = "change"
			}
			kinds[m.Kind]++
		}
	}
	if kinds["message"] == 0 || kinds["change"] == 0 || kinds["removal"] == 0 {
		t.Errorf("there are %v", kinds)
	}
}

// A counted text counts the bytes that are read of it.
type counted struct {
	*memory
	bytes int
}

func (c *counted) ReadAt(p []byte, at uint64) (int, error) {
	n, err := c.memory.ReadAt(p, at)
	c.bytes += n
	return n, err
}

// TestPageBehindEdits: a reader who does not want later texts gets a whole page of messages with
// their newest texts, and the later ones that stand behind it are not read.
func TestPageBehindEdits(t *testing.T) {
	c, ann := newChatter(5), &user{nick: "ann", source: "ann!ann@host"}
	batch := func(do func()) {
		c.number++
		c.hall.Begin(Batch{Server: "a", Run: 1, Number: c.number, Time: c.now})
		do()
		_, lines := c.hall.Lines()
		c.text.lines = append(c.text.lines, lines...)
	}
	var all []said
	batch(func() {
		for range 20 {
			at := c.hall.at
			c.hall.tell(ann, "#tea", speech{"PRIVMSG", "first wording", "", nil})
			all = append(all, said{at: at, command: "PRIVMSG", target: "#tea"})
		}
	})
	for i := range maxVersions {
		batch(func() {
			for _, s := range all {
				c.change(ann, s, fmt.Sprint("wording ", i, strings.Repeat(" of tea", 50)))
			}
		})
	}
	text := &counted{memory: c.text}
	q := c.question("#tea", c.indexed(t), 0)
	q.pages.text.Text = text
	h := &history{question: q, verb: "LATEST", from: first, to: last, limit: 50}
	h.Run(t.Context())
	if got, want := offsetsOf(h.lines), offsetsOf(all); !slices.Equal(got, want) {
		t.Errorf("the page has the messages at %v, want %v", got, want)
	}
	for _, s := range h.lines {
		if want := fmt.Sprint("wording ", maxVersions-1, " "); !strings.HasPrefix(s.text(), want) {
			t.Errorf("a text is %q, want %q", s.text(), want)
		}
	}
	if whole := len(c.text.lines); whole < 10*chunkSize || text.bytes > 3*chunkSize {
		t.Errorf("%d bytes of %d are read, want %d at most", text.bytes, whole, 3*chunkSize)
	}
}

// FuzzIndexAnswersAsTheText compares other texts than TestIndexAnswersAsTheText.
func FuzzIndexAnswersAsTheText(f *testing.F) {
	f.Add(uint64(2), uint(3*chunkSize))
	f.Add(uint64(3), uint(1))
	f.Fuzz(func(t *testing.T, seed uint64, size uint) {
		c := newChatter(seed)
		for len(c.said) == 0 || len(c.text.lines) < int(size%(4*chunkSize)) {
			c.batch()
		}
		x := c.indexed(t)
		for range 20 {
			c.compare(t, x)
		}
	})
}

// TestSingleMessages: single messages are read as those of a chunk are, wherever a window
// begins.
func TestSingleMessages(t *testing.T) {
	c := newChatter(4)
	for len(c.text.lines) < 2*chunkSize {
		c.batch()
	}
	want := map[uint64]string{}
	var order []uint64
	p := &pages{text: c.hall.whole()}
	for n := range uint32(3) {
		p.eachRaw(n, 0, func(raw []byte, at uint64) {
			want[at] = string(raw)
			order = append(order, at)
		})
	}
	slices.Reverse(order)
	shuffled := slices.Clone(order)
	c.random.Shuffle(len(order), func(i, k int) {
		shuffled[i], shuffled[k] = shuffled[k], shuffled[i]
	})
	for _, at := range append(order, shuffled...) {
		if raw, ok := p.raw(at); !ok || string(raw) != want[at] {
			t.Fatalf("at %d stands %q, %v, want %q", at, raw, ok, want[at])
		}
	}
	if raw, ok := p.raw(c.hall.at); ok {
		t.Errorf("behind the end stands %q", raw)
	}
}

// TestIndexNamesOfARenamedRoom: what was said under a former name is looked for under it, and a
// name that the room had twice is there once.
func TestIndexNamesOfARenamedRoom(t *testing.T) {
	h := New(Config{Text: &memory{}}, 0)
	r := newRoom("#Chai", 0, 90)
	r.former = []tenure{{nick: "#tea", until: 50}, {nick: "#chai", from: 50, until: 70},
		{nick: "#cup", from: 70, until: 90}}
	h.rooms["#chai"] = r
	want := []string{"#tea", "#chai", "#cup"}
	if got := h.indexNames(&user{nick: "ann"}, "#chai", 0); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, name := range want {
		want = append(want, search.Events(name))
	}
	if got := h.indexNames(&user{nick: "ann"}, "#chai", redaction); !slices.Equal(got, want) {
		t.Errorf("with events: got %q, want %q", got, want)
	}
}

// TestMessageLargerThanAWindow: a message of many lines is read whole, wherever its lines end.
func TestMessageLargerThanAWindow(t *testing.T) {
	line := func(tag, text string) string {
		return stampOfTests + tag + ":ann!ann@host PRIVMSG #tea :" + text + "\n"
	}
	large := line("", "first")
	for range maxLines - 1 {
		large += line("@"+moreTag+" ", strings.Repeat("x", 250))
	}
	for pad := range 400 { // so the window ends in any place of a line
		text := line("", strings.Repeat("p", pad)) + large + line("", "next")
		p := &pages{text: whole{Text: &memory{[]byte(text)}, from: uint64(len(text)),
			end: uint64(len(text))}}
		at := strings.Index(text, large)
		for range 2 { // when it is loaded, and from the window
			if raw, ok := p.raw(uint64(at)); !ok || string(raw)+"\n" != large {
				t.Fatalf("behind %d bytes %d are read, %v, want %d", at, len(raw), ok, len(large))
			}
		}
	}
}
