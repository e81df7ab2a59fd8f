package hall

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"interleave/papaya/irc"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestConversations plays testdata/*.txt. A line "ann > LINE" is sent by ann; the lines "ann <
// LINE" below it are what ann must then receive. Lines in brackets do the rest: [connect ann];
// [connect bob at b], on a second server of the same log, optionally with an account or a
// certificate, from a host, or at an address that bans know; [end ann]; [cut ann], a reset; [ask],
// which asks all clients to confirm; [answer ann]; [slow ann], who reads nothing until [fast ann];
// [restart b], after a crash; [lose a], where a declares all others lost; [add b], a new server;
// [always on], for Config.AlwaysOn; [order VERB WORDS], an administrator's order on the first
// server; [reports 3], after which the servers take so many; [later 1h]; [unseen TIME], for
// Hall.Unseen; [text], the text of the first server. {TEXT} is the msgid of the last message that
// begins with a text, and {@PLACE} that of the message at a place. In what is sent, msgids are
// shown as {@PLACE}: so one sees which is which, and also a place that was sent by mistake. After
// each line all servers must have the same state, and the same text.
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversation: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p := cluster{t: t, halls: map[string]*node{}, people: map[string]*person{}}
			p.add("a")
			p.play(file, string(want))
		})
	}
}

// play plays a conversation, and compares what everybody receives.
func (p *cluster) play(file, want string) {
	p.script.Reset()
	for l := range strings.Lines(want) {
		l = strings.TrimSuffix(l, "\n")
		if _, _, heard := strings.Cut(l, " < "); heard && !strings.HasPrefix(l, "#") {
			continue
		}
		p.step(l)
	}
	if *update {
		if err := os.WriteFile(file, p.script.Bytes(), 0o644); err != nil {
			p.t.Fatal(err)
		}
	} else if got := p.script.String(); got != want {
		p.t.Errorf("%s: got\n%s\nwant\n%s\n`go test ./papaya/hall -update` rewrites it", file,
			got, want)
	}
}

// A cluster is several servers of one log, and their clients.
type cluster struct {
	t      *testing.T
	script bytes.Buffer
	halls  map[string]*node
	people map[string]*person
	now    int64
	next   uint64
	always bool // accounts stay in sight
	ended  []endedToken
}

// An endedToken is a connection that ends with its token.
type endedToken struct {
	who *person
	why string
}

// A node is one server.
type node struct {
	name   string
	hall   *Hall
	text   memory
	run    int64
	number uint64
}

// memory is a text in memory.
type memory struct{ lines []byte }

func (m *memory) Begin() uint64 { return 0 }

func (m *memory) ReadAt(p []byte, at uint64) (int, error) {
	if at >= uint64(len(m.lines)) {
		return 0, io.EOF
	}
	return copy(p, m.lines[at:]), nil
}

// erase puts blanks in the place of whole lines.
func (m *memory) erase(s Span) {
	part := m.lines[s.At:][:s.Size]
	for i := range part {
		if part[i] != '\n' {
			part[i] = ' '
		}
	}
}

// A person is a client and its sink.
type person struct {
	Client
	name    string
	at      *node
	cluster *cluster
	ping    string
	waiting int // unsent bytes
}

func (p *person) Write(l []byte) {
	if text, ok := strings.CutPrefix(string(l), "PING :"); ok {
		p.ping = strings.TrimSpace(text)
	}
	l = p.cluster.places(l)
	for line := range strings.Lines(string(l)) { // of a message of several lines
		fmt.Fprintf(&p.cluster.script, "%s < %s\n", p.name, strings.TrimSuffix(line, "\r\n"))
	}
}

func (p *person) WriteLater(l []byte)        { p.Write(l) }
func (p *person) Share(r *Run, from, to int) { p.Write(r.Part(from, to)) }

func (p *person) Waiting() int { return p.waiting }
func (p *person) End()         { fmt.Fprintf(&p.cluster.script, "%s < (closed)\n", p.name) }

// signs answers at once. Every password is "secret", and a certificate's fingerprint is its
// account's name.
type signs struct{ s *node }

func (g signs) answer(c *Client, account, why string, registering bool) {
	role := map[string]Role{"root": Admin, "olga": Operator, "gus": Guest}[account]
	p := c.sink.(*person)
	if e, ok := g.s.hall.Signed(c, account, role, why, registering); ok {
		p.cluster.log(g.s, e, nil)
	}
}

func (g signs) Plain(c *Client, name, password string) {
	if password != "secret" {
		g.answer(c, "", "SASL authentication failed", false)
		return
	}
	g.answer(c, name, "", false)
}
func (g signs) External(c *Client, _ string) { g.answer(c, c.Fingerprint, "", false) }
func (g signs) Register(c *Client, name, password, invitation string) {
	if invitation != "come" {
		g.answer(c, "", "An invitation is needed", true)
		return
	}
	g.answer(c, name, "", true)
}
func (g signs) Required() bool { return false }

func (p *cluster) config(s *node) Config {
	return Config{Server: s.name, Name: "chat", Network: "Papaya", Version: "test", Text: &s.text,
		Secret: testSecret, Sign: signs{s}, Own: owns{s}, Created: time.Unix(0, 0),
		End: func(c *Client, why string) {
			p.ended = append(p.ended, endedToken{c.sink.(*person), why})
		},
		Password: func() (string, bool) { return "", false },
		AlwaysOn: func() bool { return p.always },
		Spared:   netip.MustParsePrefix("10.0.0.0/8").Overlaps,
		Redact:   func() time.Duration { return time.Hour },
		Edit:     func() time.Duration { return time.Hour },
		Read: func(c *Client, r Reading) {
			r.Run(context.Background())
			s.hall.Answer(c, r)
		}}
}

func (p *cluster) add(name string) {
	s := &node{name: name, run: 1}
	s.hall = New(p.config(s), 0)
	if first := p.halls["a"]; first != nil { // it starts with the state of another server
		state, err := first.hall.Save()
		if err != nil {
			p.t.Fatal(err)
		}
		if s.hall, err = Load(p.config(s), state); err != nil {
			p.t.Fatal(err)
		}
		s.text.lines = append(s.text.lines, first.text.lines...)
	}
	p.halls[name] = s
	p.log(s, Entry{}, nil)
}

// log applies a batch of one entry on all servers, as the log would.
func (p *cluster) log(s *node, e Entry, m *irc.Message) {
	p.now += 1000
	s.number++
	label := e.Label
	if m != nil {
		label = m.Tags["label"]
	}
	data := AppendBatch(nil, Batch{Server: s.name, Run: s.run, Number: s.number, Time: p.now})
	if e.Kind != 0 {
		data = AppendEntry(data, e)
	}
	for _, name := range sorted(p.halls) {
		o := p.halls[name]
		b, rest, err := ReadBatch(data)
		if err != nil {
			p.t.Fatal(err)
		}
		if !o.hall.Begin(b) {
			continue
		}
		for len(rest) > 0 {
			if e, rest, err = ReadEntry(rest); err != nil {
				p.t.Fatal(err)
			}
			if o == s {
				o.hall.Apply(e, m, label)
			} else {
				o.hall.Apply(e, nil, "")
			}
		}
		at, lines := o.hall.Lines()
		if at != uint64(len(o.text.lines)) {
			p.t.Fatalf("%s: lines begin at %d, not at %d", name, at, len(o.text.lines))
		}
		o.text.lines = append(o.text.lines, lines...)
		for _, s := range o.hall.Removed() {
			o.text.erase(s)
		}
		for n := 0; n < 100 && o.hall.Step() > 0; n++ { // a slow client stays behind
		}
	}
	for _, name := range sorted(p.halls) {
		for _, e := range p.halls[name].hall.Expelled() {
			p.log(p.halls[name], e, nil)
		}
	}
}

func (p *cluster) step(l string) {
	fmt.Fprintln(&p.script, l)
	l = braces.ReplaceAllStringFunc(l, p.msgid)
	name, words, said := strings.Cut(l, " > ")
	switch {
	case l == "" || l[0] == '#':
		return
	case l[0] == '[':
		p.direct(strings.Fields(strings.Trim(l, "[]")))
	case said:
		p.say(p.people[name], words)
	default:
		p.t.Fatalf("%q is not understood", l)
	}
	for _, one := range p.ended {
		if e, ok := one.who.at.hall.Ended(&one.who.Client, false, one.why); ok {
			p.log(one.who.at, e, nil)
		}
	}
	p.ended = nil
	var state []byte
	for _, name := range sorted(p.halls) {
		if other := p.halls["a"]; !bytes.Equal(p.halls[name].text.lines, other.text.lines) {
			p.t.Fatalf("after %q the texts differ", l)
		}
		s, err := p.halls[name].hall.Save()
		if err != nil {
			p.t.Fatal(err)
		}
		if state != nil && !bytes.Equal(s, state) {
			p.t.Fatalf("after %q the servers differ:\n%s\n%s", l, state, s)
		}
		state = s
		p.halls[name].hall.checkAliases(p.t)
	}
}

// testSecret makes the msgids of tests.
var testSecret = Secret{1: 2, 3: 4}

// someIDs are msgids, and the names of batches that are made of them.
var someIDs = regexp.MustCompile(`\bm?[0-9a-v]{26}\b`)

// places returns a line with {@PLACE} instead of each msgid. That of a TAGMSG that is not kept has
// its run and its numbers there, with dots between.
func (p *cluster) places(line []byte) []byte {
	ids := newMsgids(testSecret)
	return someIDs.ReplaceAllFunc(line, func(id []byte) []byte {
		prefix, id := id[:len(id)-msgidLen], id[len(id)-msgidLen:]
		kind, number, ok := ids.open(string(id))
		switch {
		case ok && kind == ofMessage:
			return fmt.Appendf(nil, "%s{@%s}", prefix, appendPlace(nil, number))
		case ok && kind < 1000: // a run of a test
			return fmt.Appendf(nil, "%s{@%d.%s.%d}", prefix, kind,
				appendPlace(nil, number>>tagBits), number&(1<<tagBits-1))
		}
		return append(bytes.Clone(prefix), id...)
	})
}

var braces = regexp.MustCompile(`\{[^}]*\}`)

// msgid returns the msgid of a message whose text begins with the one in braces.
func (p *cluster) msgid(text string) string {
	ids := p.halls["a"].hall.ids
	if place, ok := strings.CutPrefix(text, "{@"); ok {
		return ids.msgid(strings.TrimSuffix(place, "}"))
	}
	lines := p.halls["a"].text.lines
	at := bytes.LastIndex(lines, []byte(" :"+strings.Trim(text, "{}")))
	if at < 0 {
		p.t.Fatalf("nobody has said %s", text)
	}
	return string(ids.append(nil, uint64(bytes.LastIndexByte(lines[:at], '\n')+1)))
}

func (p *cluster) say(who *person, words string) {
	m, err := irc.Parse(words)
	if err != nil || who == nil {
		p.t.Fatalf("%q: %v", words, err)
	}
	h := who.at.hall
	if h.Logged(&who.Client, &m) {
		own := m
		own.Tags = map[string]string{}
		for k, v := range m.Tags {
			if k[0] == '+' {
				own.Tags[k] = v
			}
		}
		p.log(who.at, Entry{Client: who.ID, Kind: Said, Data: []byte(own.String())}, &m)
	} else if e, ok := h.Line(&who.Client, &m); ok {
		p.log(who.at, e, nil)
	}
}

func (p *cluster) direct(words []string) {
	name := words[1:]
	switch words[0] {
	case "connect":
		s := p.halls["a"]
		who := &person{name: name[0], cluster: p}
		for i := 1; i+1 < len(name); i += 2 {
			switch name[i] {
			case "at":
				s = p.halls[name[i+1]]
			case "with":
				who.Fingerprint = name[i+1]
			case "from":
				who.Host = name[i+1]
			case "address":
				who.From = netip.MustParseAddr(name[i+1])
			}
		}
		p.next++
		who.ID, who.Host, who.at = p.next, cmp.Or(who.Host, "host"), s
		p.people[who.name] = who
		s.hall.Connect(&who.Client, who)
		s.hall.TurnsAway(&who.Client, p.now)
		return
	case "ask":
		for _, n := range sorted(p.people) {
			p.people[n].at.hall.Ask(&p.people[n].Client)
		}
		return
	case "add":
		p.add(name[0])
		return
	case "always":
		p.always = true
		return
	case "reports":
		left, err := strconv.Atoi(name[0])
		if err != nil {
			p.t.Fatal(err)
		}
		for _, s := range p.halls {
			s.hall.config.Reporting = func(*Client) bool { left--; return left >= 0 }
		}
		return
	case "later":
		d, err := time.ParseDuration(name[0])
		if err != nil {
			p.t.Fatal(err)
		}
		p.now += d.Milliseconds()
		return
	case "text":
		for l := range bytes.Lines(p.halls["a"].text.lines) {
			fmt.Fprintf(&p.script, "the text < %s\n", strings.TrimRight(string(l), " \n"))
		}
		return
	case "order":
		p.log(p.halls["a"], NewOrder(1, name[0], name[1:]...), nil)
		return
	case "unseen":
		before, err := strconv.ParseInt(name[0], 10, 64)
		if err != nil {
			p.t.Fatal(err)
		}
		fmt.Fprintf(&p.script, "unseen < %s\n", p.halls["a"].hall.Unseen(before))
		return
	case "lose":
		for _, e := range p.halls[name[0]].hall.Silent(-time.Millisecond) {
			p.log(p.halls[name[0]], e, nil)
		}
		return
	case "restart":
		p.restart(name[0])
		return
	}
	who := p.people[name[0]]
	switch words[0] {
	case "end", "cut":
		if e, ok := who.at.hall.Ended(&who.Client, words[0] == "end", "Connection closed"); ok {
			p.log(who.at, e, nil)
		}
	case "slow":
		who.waiting = maxCatchUp
	case "fast":
		who.waiting = 0
	case "answer":
		p.say(who, "PONG :"+who.ping)
		if e, ok := who.at.hall.Marked(&who.Client); ok {
			p.log(who.at, e, nil)
		}
	default:
		p.t.Fatalf("%q is not understood", words)
	}
}

// restart starts a server from its state, as after a crash: its clients get no line.
func (p *cluster) restart(name string) {
	s := p.halls[name]
	state, err := s.hall.Save()
	if err != nil {
		p.t.Fatal(err)
	}
	if s.hall, err = Load(p.config(s), state); err != nil {
		p.t.Fatal(err)
	}
	for n, who := range p.people {
		if who.at == s {
			delete(p.people, n)
		}
	}
	s.run, s.number = s.run+1, 0
	p.log(s, Entry{}, nil)
}
