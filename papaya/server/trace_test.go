package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"interleave/internal/irctest"
	"interleave/papaya/irc"
)

// TestTraces replays testdata/traces/*.txt: what clients of others send. A line begins with
//
//	#                   a comment. Those at the head name the client and how its trace was made
//	[connect]           a new connection of the client; [connect web] is a WebSocket. Each trace is
//	                    replayed without TLS and with it
//	> LINE              the client sends a line
//	< PATTERN           the client waits for a line, and passes over others
//	bob > LINE          another user sends a line. It is in the log before the next step
//	bob < PATTERN       another user waits for a line
//	[allow] PATTERN     the client provokes this refusal on this connection
//	[once] PATTERN      the client has received the line once on this connection; [never]
//	[cut]               the client closes its connection without a QUIT
//	[end]               the server ends the client's connection
//
// A pattern matches a whole line. It may begin with tags that the line must have: @time,msgid or
// @batch=$page. In it * stands for any text, and $name for a word: the same that it has stood for
// before, and otherwise any, which the lines below may send. $plain is the client's password for
// SASL PLAIN, $now the time.
//
// No connection may receive an error, FAIL or CAP NAK that is not allowed, and each that is allowed
// must come.
func TestTraces(t *testing.T) {
	files, err := filepath.Glob("testdata/traces/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no trace: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		steps, err := parseTrace(string(text))
		if err != nil {
			t.Fatalf("%s:%v", file, err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		for what, overTLS := range map[string]bool{name: false, name + " over TLS": true} {
			t.Run(what, func(t *testing.T) { newTracePlayer(t, overTLS).play(file, steps) })
		}
	}
}

// A traceStep is one line of a trace. who is empty for the client itself.
type traceStep struct {
	line            int
	who, verb, text string
}

// parseTrace reads the steps of a trace. An error begins with the number of the line.
func parseTrace(text string) (steps []traceStep, err error) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if line == "" || line[0] == '#' {
			continue
		}
		s := traceStep{line: number}
		switch first, rest, _ := strings.Cut(line, " "); {
		case first == ">" || first == "<":
			s.verb, s.text = first, rest
		case line[0] == '[':
			word, rest, closed := strings.Cut(line[1:], "]")
			if !closed {
				return nil, fmt.Errorf("%d: no ] in %q", number, line)
			}
			s.verb, s.text = word, strings.TrimPrefix(rest, " ")
		default:
			s.who = first
			s.verb, s.text, _ = strings.Cut(rest, " ")
		}
		if err := s.check(); err != nil {
			return nil, fmt.Errorf("%d: %w in %q", number, err, line)
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// check returns an error if nobody knows how to play the step.
func (s traceStep) check() error {
	switch s.verb {
	case ">", "<", "allow", "once", "never":
		if s.text == "" {
			return errors.New("no text")
		}
	case "connect", "connect web", "cut", "end":
		if s.text != "" {
			return errors.New("a text too many")
		}
	default:
		return errors.New("no such step")
	}
	if s.verb != ">" {
		_, err := compileTrace(s.text, nil)
		return err
	}
	return nil
}

// A tracePattern is what a line must look like. The names of the groups are those of the words that
// it finds.
type tracePattern struct {
	tags map[string]*regexp.Regexp // nil: any value
	rest *regexp.Regexp
}

var traceWord = regexp.MustCompile(`\*|\$[a-z]+`)

// compileTrace compiles a pattern, with the words that are known.
func compileTrace(text string, known map[string]string) (p tracePattern, err error) {
	if strings.HasPrefix(text, "@") {
		var tags string
		tags, text, _ = strings.Cut(text[1:], " ")
		p.tags = map[string]*regexp.Regexp{}
		for tag := range strings.SplitSeq(tags, ",") {
			name, value, valued := strings.Cut(tag, "=")
			p.tags[name] = nil
			if valued {
				if p.tags[name], err = traceExpression(value, known); err != nil {
					return tracePattern{}, err
				}
			}
		}
	}
	p.rest, err = traceExpression(text, known)
	return p, err
}

// traceExpression is the expression for a pattern without tags.
func traceExpression(text string, known map[string]string) (*regexp.Regexp, error) {
	var out strings.Builder
	out.WriteString("^")
	at := 0
	for _, found := range traceWord.FindAllStringIndex(text, -1) {
		out.WriteString(regexp.QuoteMeta(text[at:found[0]]))
		at = found[1]
		name := strings.TrimPrefix(text[found[0]:at], "$")
		switch word, ok := known[name]; {
		case name == "*":
			out.WriteString(".*")
		case ok:
			out.WriteString(regexp.QuoteMeta(word))
		default:
			out.WriteString("(?P<" + name + ">[^ ]+)")
		}
	}
	out.WriteString(regexp.QuoteMeta(text[at:]) + "$")
	return regexp.Compile(out.String())
}

// match says whether a line is like the pattern, and which words it has.
func (p tracePattern) match(line string) (words map[string]string, ok bool) {
	m, err := irc.Parse(line)
	if err != nil {
		return nil, false
	}
	words = map[string]string{}
	for name, want := range p.tags {
		value, there := m.Tags[name]
		if !there || want != nil && !matchWords(want, value, words) {
			return nil, false
		}
	}
	if strings.HasPrefix(line, "@") {
		_, line, _ = strings.Cut(line, " ")
	}
	return words, matchWords(p.rest, line, words)
}

// matchWords adds the words that an expression finds in a text.
func matchWords(want *regexp.Regexp, text string, words map[string]string) bool {
	found := want.FindStringSubmatch(text)
	for i, name := range want.SubexpNames() {
		if found != nil && name != "" {
			words[name] = found[i]
		}
	}
	return found != nil
}

// A tracePlayer is a server, the client, and other users.
type tracePlayer struct {
	t        *testing.T
	srv      *instance
	secure   bool // the client comes over TLS
	client   *irctest.Client
	others   map[string]*irctest.Client
	received []string          // by the client on this connection
	allowed  map[string]bool   // the refusals of this connection; true: it has come
	known    map[string]string // words
}

func newTracePlayer(t *testing.T, overTLS bool) *tracePlayer {
	p := &tracePlayer{t: t, secure: overTLS, others: map[string]*irctest.Client{},
		known: map[string]string{"plain": plainWord("ann", "the kettle is on")}}
	change := func(c *Config) {
		c.Accounts, c.Web = everybody{}, []string{"127.0.0.1:0"}
		c.AlwaysOn = func() bool { return true }
	}
	if !overTLS {
		p.srv = open(t, t.TempDir(), change)
		return p
	}
	p.srv, _ = secure(t, func(c *Config) {
		c.Plain = []string{"127.0.0.1:0"} // of the others
		change(c)
	})
	return p
}

// dial connects the client.
func (p *tracePlayer) dial() *irctest.Client {
	if p.secure {
		return irctest.DialTLS(p.t, p.srv.at[1], &tls.Config{InsecureSkipVerify: true})
	}
	return p.srv.connect()
}

func (p *tracePlayer) play(file string, steps []traceStep) {
	line := 0
	defer func() {
		if p.t.Failed() {
			p.t.Logf("%s was played up to line %d", file, line)
		}
	}()
	for _, s := range steps {
		line = s.line
		p.step(s)
	}
	p.hangUp()
}

func (p *tracePlayer) step(s traceStep) {
	switch {
	case s.who != "":
		p.other(s)
	case s.verb == "connect":
		p.hangUp()
		p.begin(p.dial())
	case s.verb == "connect web":
		p.hangUp()
		p.begin(p.srv.connectWeb(p.secure))
	case p.client == nil:
		p.t.Fatal("the client is not connected")
	case s.verb == ">":
		p.client.Send("%s", p.fill(s.text))
	case s.verb == "<":
		p.await(p.client, s.text)
	case s.verb == "allow":
		p.allowed[s.text] = false
	case s.verb == "cut":
		p.hangUp()
	case s.verb == "end":
		p.received = append(p.received, p.client.ExpectEnd()...)
		p.judge()
		p.client = nil
	default: // once, never
		p.sync()
		want := map[string]int{"once": 1, "never": 0}[s.verb]
		if n := p.count(s.text); n != want {
			p.t.Fatalf("%q was received %d times, want %d:\n%s", p.fill(s.text), n, want,
				strings.Join(p.received, "\n"))
		}
	}
}

// other has another user send or wait.
func (p *tracePlayer) other(s traceStep) {
	c := p.others[s.who]
	if c == nil {
		c = p.srv.connect()
		c.Send("CAP REQ :message-tags server-time away-notify\r\nCAP END")
		p.others[s.who] = c.Register(s.who)
	}
	if s.verb == ">" {
		c.Send("%s", p.fill(s.text))
		synced(c)
		return
	}
	p.await(c, s.text)
}

// await reads up to a line that is like a pattern. The client does not wait on after a refusal.
func (p *tracePlayer) await(c *irctest.Client, text string) {
	pattern, refusal := p.compile(text), ""
	c.ExpectFunc(fmt.Sprintf("%q", p.fill(text)), func(line string) bool {
		if c == p.client {
			p.received = append(p.received, line)
			if refuses(line) && !p.provoked(line) {
				refusal = line
				return true
			}
		}
		words, ok := pattern.match(line)
		if ok {
			maps.Copy(p.known, words)
		}
		return ok
	})
	if refusal != "" {
		p.t.Fatalf("waiting for %q, the client is refused something: %s", p.fill(text), refusal)
	}
}

func (p *tracePlayer) compile(text string) tracePattern {
	pattern, err := compileTrace(text, p.known)
	if err != nil {
		p.t.Fatal(err)
	}
	return pattern
}

// fill puts words in the place of their names. The client's clock is a second ahead.
func (p *tracePlayer) fill(text string) string {
	p.known["now"] = time.Now().Add(time.Second).UTC().Format("2006-01-02T15:04:05.000Z")
	return traceWord.ReplaceAllStringFunc(text, func(name string) string {
		if word, ok := p.known[strings.TrimPrefix(name, "$")]; ok {
			return word
		}
		return name
	})
}

func (p *tracePlayer) begin(c *irctest.Client) {
	p.client, p.received, p.allowed = c, nil, map[string]bool{}
}

// sync waits until everything that the client has sent is answered.
func (p *tracePlayer) sync() {
	p.client.Send("PING trace")
	p.await(p.client, "*PONG * :trace")
}

// hangUp judges what the client has received, and closes its connection.
func (p *tracePlayer) hangUp() {
	if p.client == nil {
		return
	}
	p.sync()
	p.judge()
	_ = p.client.Close()
	p.client = nil
}

// provoked says whether a refusal is allowed, and notes that it has come.
func (p *tracePlayer) provoked(line string) bool {
	for text := range p.allowed {
		if _, ok := p.compile(text).match(line); ok {
			p.allowed[text] = true
			return true
		}
	}
	return false
}

// judge reports refusals.
func (p *tracePlayer) judge() {
	for _, line := range p.received {
		if refuses(line) && !p.provoked(line) {
			p.t.Errorf("the client is refused something: %s", line)
		}
	}
	for text, came := range p.allowed {
		if !came {
			p.t.Errorf("the refusal %q does not come: take the line out of the trace", text)
		}
	}
}

func (p *tracePlayer) count(text string) (n int) {
	pattern := p.compile(text)
	for _, line := range p.received {
		if _, ok := pattern.match(line); ok {
			n++
		}
	}
	return n
}

// refuses says whether a line tells of an error. A server without a message of the day is none.
func refuses(line string) bool {
	m, err := irc.Parse(line)
	if err != nil {
		return true
	}
	switch m.Command {
	case "FAIL", "ERROR", irc.ERR_SASLFAIL:
		return true
	case irc.ERR_NOMOTD:
		return false
	case "CAP":
		return m.Param(1) == "NAK"
	}
	return len(m.Command) == 3 && (m.Command[0] == '4' || m.Command[0] == '5')
}

// FuzzTrace: no text of a trace, and no line of a server, stops the player.
func FuzzTrace(f *testing.F) {
	f.Add("> CAP LS 302\n< @time=$at,msgid :$who!* PRIVMSG #tea :*\n[once] * 001 *", "@time=1 :a b")
	f.Add("bob > JOIN #tea\n[allow", "")
	f.Fuzz(func(t *testing.T, text, line string) {
		steps, err := parseTrace(text)
		if err != nil {
			return
		}
		for _, s := range steps {
			if p, err := compileTrace(s.text, map[string]string{"at": "1"}); err == nil {
				p.match(line)
			} else if s.verb != ">" {
				t.Errorf("line %d was accepted: %v", s.line, err)
			}
		}
		refuses(line)
	})
}
