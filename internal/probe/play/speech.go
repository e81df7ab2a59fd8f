package play

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// What a client of a chat says and hears: lines of IRC.

// Replies by the names of RFC 2812 section 5.
const (
	RPL_ENDOFNAMES = "366"
	RPL_ENDOFMOTD  = "376"
	ERR_NOMOTD     = "422"
)

const (
	// longestLine is IRC's, in bytes with its end; longestTags is what may stand before it.
	longestLine = 512
	longestTags = 8191
	// untilRefused bounds how often a line is said before it must be refused.
	untilRefused = 1000
)

// A speaker is what a client is once it talks in lines.
type speaker struct {
	in      *bufio.Reader
	nick    string
	echo    bool // it asked for echo-message
	timed   bool // it asked for server-time
	deaf    bool // it does not answer the server's pings
	welcome bool // it has registered
	fences  int  // pings of its own so far
}

// speak makes a client one that talks in lines.
func (c *client) speak() *speaker {
	if c.speaker == nil {
		c.speaker = &speaker{in: bufio.NewReaderSize(c.conn, longestTags+longestLine)}
	}
	return c.speaker
}

// tell sends lines of our own making.
func (c *client) tell(lines string) error {
	if _, err := c.conn.Write([]byte(lines)); err != nil {
		return fmt.Errorf("saying %s: %w", short([]byte(lines)), err)
	}
	return nil
}

// line reads the next line that is no ping of the server, without its end; with the tags
// before it, if any.
func (c *client) line() (tags, line string, err error) {
	s := c.speak()
	for {
		raw, err := s.in.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return "", "", fmt.Errorf("got a line that does not end: %s", short(raw))
		case err != nil && len(raw) > 0:
			return "", "", fmt.Errorf("got %s, then not the line's end: %w", short(raw), err)
		case err != nil:
			return "", "", err
		}
		if tags, line, err = cutLine(string(raw)); err != nil {
			return "", "", err
		}
		token, asked := strings.CutPrefix(strings.TrimPrefix(line, ":chat "), "PING ")
		if !asked {
			s.greet(line)
			return tags, line, nil
		}
		if s.deaf {
			continue
		}
		if err := c.tell("PONG " + token + "\r\n"); err != nil {
			return "", "", err
		}
	}
}

// greet notices the end of the welcome, and as whom the client was welcome.
func (s *speaker) greet(line string) {
	if words := strings.Fields(line); len(words) > 2 && (words[1] == ERR_NOMOTD ||
		words[1] == RPL_ENDOFMOTD) {
		s.welcome, s.nick = true, words[2]
	}
}

// cutLine takes a line of the server apart, and holds it to what a line may be.
func cutLine(raw string) (tags, line string, err error) {
	line, ended := strings.CutSuffix(raw, "\r\n")
	if !ended {
		return "", "", fmt.Errorf("got a line that does not end in CR LF: %s", short([]byte(raw)))
	}
	if strings.HasPrefix(line, "@") {
		tags, line, _ = strings.Cut(line, " ")
	}
	if len(line)+len("\r\n") > longestLine {
		return "", "", fmt.Errorf("got a line of %d bytes, want at most %d: %s", len(line)+2,
			longestLine, short([]byte(line)))
	}
	return tags, line, nil
}

// hear reads the next line and holds it against one that is wanted. Tags count where the
// wanted line has some.
func (p *play) hear(c *client, want *wanted) error {
	tags, line, err := c.line()
	if err != nil {
		return fmt.Errorf("%s; want %v", wordsOfEnd(err), want)
	}
	got := line
	if tags != "" && (strings.HasPrefix(want.text, "@") || !c.timed) {
		got = tags + " " + line
	}
	if !want.matches(got) {
		return fmt.Errorf("got %s, want %v", quoteLine(got), want)
	}
	if want.log {
		return p.timeIsOfLog(tags, line)
	}
	return nil
}

// wordsOfEnd is an error of line for a message.
func wordsOfEnd(err error) string {
	if text := why(err); text != err.Error() {
		return text
	}
	return err.Error()
}

// quoteLine shows all of a line: what differs may stand at its end.
func quoteLine(line string) string { return fmt.Sprintf("%q", line) }

func (p *play) hears(c *client, h *hears) error {
	if h.nothing {
		return c.fence()
	}
	if h.ping {
		return c.awaitPing()
	}
	times := 1
	if h.often {
		times = p.granted
	}
	for range times {
		for _, want := range h.want {
			if err := p.hear(c, p.by(want, c)); err != nil {
				return err
			}
		}
	}
	return nil
}

// by puts in what the transcript leaves open: the client's nick, and the address that clients have.
func (p *play) by(want *wanted, c *client) *wanted {
	if !strings.Contains(want.text, "{") {
		return want
	}
	text := strings.ReplaceAll(want.text, "{host}", p.address)
	if c != nil {
		text = strings.ReplaceAll(text, "{nick}", c.nickOf())
	}
	return newWanted(text)
}

// fence shows that nothing is on its way: the answer to a ping comes next.
func (c *client) fence() error {
	s := c.speak()
	s.fences++
	token := fmt.Sprintf("fence%d", s.fences)
	if err := c.tell("PING " + token + "\r\n"); err != nil {
		return err
	}
	_, line, err := c.line()
	if err != nil {
		return fmt.Errorf("%s; want the PONG to %q", wordsOfEnd(err), "PING "+token)
	}
	if !isPong(line, token) {
		return fmt.Errorf("got %s, want nothing but the PONG to %q", quoteLine(line), "PING "+token)
	}
	return nil
}

// isPong knows the answer to a ping, with whatever name the server has.
func isPong(line, token string) bool {
	words := strings.Fields(line)
	return len(words) >= 2 && slices.Contains(words[:2], "PONG") &&
		strings.TrimPrefix(words[len(words)-1], ":") == token
}

// awaitPing waits for the server to ask, answers, and sees to it that the answer has arrived.
func (c *client) awaitPing() error {
	s := c.speak()
	raw, err := s.in.ReadString('\n')
	if err != nil {
		return fmt.Errorf("%s; want a PING of the server", why(err))
	}
	_, line, err := cutLine(raw)
	if err != nil {
		return err
	}
	token, asked := strings.CutPrefix(strings.TrimPrefix(line, ":chat "), "PING ")
	if !asked {
		return fmt.Errorf("got %s, want a PING of the server", quoteLine(line))
	}
	if err := c.tell("PONG " + token + "\r\n"); err != nil {
		return err
	}
	return c.fence()
}

// skipTo reads lines until one is as wanted.
func (p *play) skipTo(c *client, want *wanted) error {
	want = p.by(want, c)
	for n := 0; ; n++ {
		tags, line, err := c.line()
		if err != nil {
			return fmt.Errorf("%s after %d other lines; want %v", wordsOfEnd(err), n, want)
		}
		if want.matches(line) || strings.HasPrefix(want.text, "@") && want.matches(tags+" "+line) {
			return nil
		}
	}
}

// says says a line, its end added; or says it again and again until it is refused.
func (p *play) says(ctx context.Context, c *client, s *says) error {
	c.speak().timed = c.timed || strings.Contains(s.data.String(), "server-time")
	said := append(slices.Clone(s.data), part{text: []byte("\r\n"), times: 1})
	if s.until == nil {
		return c.send(ctx, &send{data: said, pace: s.pace})
	}
	for p.granted = 0; p.granted < untilRefused; p.granted++ {
		if err := c.send(ctx, &send{data: said}); err != nil {
			return err
		}
		c.speaker.fences++
		token := fmt.Sprintf("fence%d", c.speaker.fences)
		if err := c.tell("PING " + token + "\r\n"); err != nil {
			return err
		}
		_, line, err := c.line()
		if err != nil {
			return fmt.Errorf("%s; want %v or a PONG", wordsOfEnd(err), s.until)
		}
		if isPong(line, token) {
			continue
		}
		if !s.until.matches(line) {
			return fmt.Errorf("got %s, want %v or the PONG to %q", quoteLine(line), s.until,
				"PING "+token)
		}
		if _, line, err = c.line(); err != nil {
			return fmt.Errorf("%s after the refusal; want the PONG to %q", wordsOfEnd(err), "PING "+
				token)
		}
		if !isPong(line, token) {
			return fmt.Errorf("got %s after the refusal, want the PONG to %q", quoteLine(line),
				"PING "+token)
		}
		return nil
	}
	return fmt.Errorf("the server took it %d times; want %v", untilRefused, s.until)
}

// hearsNames reads the names of a room, in any order and on any number of lines.
func (c *client) hearsNames(n *names) error {
	var got []string
	for {
		_, line, err := c.line()
		if err != nil {
			return fmt.Errorf("%s; want the end of the names of %s", wordsOfEnd(err), n.room)
		}
		nick := c.nickOf()
		if strings.HasPrefix(line, ":chat 366 "+nick+" "+n.room+" :") {
			break
		}
		list, ok := strings.CutPrefix(line, ":chat 353 "+nick+" = "+n.room+" :")
		if !ok {
			return fmt.Errorf("got %s, want the names of %s", quoteLine(line), n.room)
		}
		got = append(got, strings.Fields(list)...)
	}
	want := slices.Clone(n.nicks)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		return fmt.Errorf("got the names %v, want %v", got, want)
	}
	return nil
}

// drains reads until the server's end of the connection, in order or not. Generated lines
// count as heard.
func (p *play) drains(c *client) error {
	for {
		_, line, err := c.line()
		switch {
		case isEOF(err) || isReset(err):
			return nil
		case err != nil:
			return fmt.Errorf("%s; want the server's end of the connection", wordsOfEnd(err))
		}
		if err := p.talk.note(c.nickOf(), line); err != nil {
			return err
		}
	}
}

// nickOf is who the client is, or will be when it registers.
func (c *client) nickOf() string {
	if s := c.speak(); s.nick != "" {
		return s.nick
	}
	return c.plainName()
}

// plainName is a client's name as a nick: c17 of a group.
func (c *client) plainName() string { return strings.NewReplacer("[", "", "]", "").Replace(c.name) }

// registers does what a client does first, and skips what a server says to it.
func (p *play) registers(c *client, e *enters) error {
	s := c.speak()
	s.nick = c.nickOf()
	if e.nick != "" {
		s.nick = e.nick
	}
	caps, ends := "", ""
	if e.caps != "" {
		caps, ends = "CAP REQ :"+e.caps+"\r\n", "CAP END\r\n"
		s.echo, s.timed = strings.Contains(e.caps, "echo-message"),
			strings.Contains(e.caps, "server-time")
	}
	if err := c.tell(caps + "NICK " + s.nick + "\r\nUSER " + s.nick + " 0 * :" + s.nick + "\r\n" +
		ends); err != nil {
		return err
	}
	for n := 0; ; n++ {
		_, line, err := c.line()
		if err != nil {
			return fmt.Errorf("%s after %d lines; want 422, the end of the welcome",
				wordsOfEnd(err), n)
		}
		if s.welcome {
			return nil
		}
		words := strings.Fields(line)
		if len(words) < 3 {
			continue
		}
		switch code := words[1]; {
		case words[0] == "ERROR", code >= "400" && code <= "599" && len(code) == 3, code == "CAP" &&
			slices.Contains(words, "NAK"):
			return fmt.Errorf("got %s, want to be welcome as %s", quoteLine(line), s.nick)
		}
	}
}

// joins enters rooms and skips to the end of each one's names. Who has not registered
// does that first.
func (p *play) joins(c *client, j *joins) error {
	if !c.speak().welcome {
		if err := p.registers(c, &enters{}); err != nil {
			return err
		}
	}
	rooms := j.rooms
	if j.of > 0 {
		rooms = nil
		for i := range j.each {
			rooms = append(rooms, fmt.Sprintf("%s%d", j.rooms[0], (c.index+i)%j.of))
		}
	}
	if err := c.tell("JOIN " + strings.Join(rooms, ",") + "\r\n"); err != nil {
		return err
	}
	for _, room := range rooms {
		for {
			_, line, err := c.line()
			if err != nil {
				return fmt.Errorf("%s; want 366, the end of the names of %s", wordsOfEnd(err), room)
			}
			words := strings.Fields(line)
			if len(words) > 3 && words[1] == RPL_ENDOFNAMES && words[3] == room {
				break
			}
			if len(words) > 1 && len(words[1]) == 3 && words[1] >= "400" && words[1] <= "599" {
				return fmt.Errorf("got %s, want to be in %s", quoteLine(line), room)
			}
			if err := p.talk.note(c.nickOf(), line); err != nil { // missed in the room before
				return err
			}
		}
		p.talk.enter(c.nickOf(), room)
	}
	return nil
}

var _ io.Reader = (*client)(nil)

// Read reads what comes next, that in the buffer of lines first.
func (c *client) Read(b []byte) (int, error) {
	if c.speaker != nil {
		return c.speaker.in.Read(b)
	}
	return c.conn.Read(b)
}
