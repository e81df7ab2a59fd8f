package chat

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"interleave/internal/probe/play"
	"interleave/internal/probe/transcript"
)

// Replies by the names of RFC 2812 section 5.
const (
	RPL_NAMREPLY   = "353"
	RPL_ENDOFNAMES = "366"
	RPL_ENDOFMOTD  = "376"
	ERR_NOMOTD     = "422"
)

const (
	// longestLine is the longest line of IRC in bytes, with its end but without its tags.
	longestLine = 512
	// untilRefused bounds how often "says until" says a line.
	untilRefused = 1000
)

// A scene is what a play knows of its chat.
type scene struct {
	*play.Play
	talk    *talk
	granted int // how often the last line of "says until" was taken
	logAt   int // lines of the log that were looked at
	log     reading
}

// sceneOf returns the scene of a play.
func sceneOf(p *play.Play) *scene {
	return play.Keep(p, func() *scene { return &scene{Play: p, talk: newTalk()} })
}

// Dialled begins a new connection of the client's nick.
func (s *scene) Dialled(c *play.Client) { s.talk.again(c.PlainName()) }

// A speaker is a client that talks in lines.
type speaker struct {
	*play.Client
	in      *bufio.Reader
	nick    string
	echo    bool // it has asked for echo-message
	timed   bool // it has asked for server-time
	deaf    bool // it does not answer the server's pings
	welcome bool // it has registered
	fences  int  // pings of its own so far
}

// speak returns the speaker that a client is.
func speak(c *play.Client) *speaker {
	return play.Keep(c, func() *speaker { return &speaker{Client: c, in: c.Reader()} })
}

// nickOf returns the speaker's nick, or the one with which it will register.
func (s *speaker) nickOf() string {
	if s.nick != "" {
		return s.nick
	}
	return s.PlainName()
}

// tell sends lines that no step has written down.
func (s *speaker) tell(lines string) error {
	if _, err := s.Conn.Write([]byte(lines)); err != nil {
		return fmt.Errorf("saying %s: %w", transcript.Short([]byte(lines)), err)
	}
	return nil
}

// line reads the next line that is not a PING of the server. It returns the line without its end,
// and the tags before it.
func (s *speaker) line() (tags, line string, err error) {
	for {
		raw, err := s.in.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return "", "", fmt.Errorf("got a line that does not end: %s", transcript.Short(raw))
		case err != nil && len(raw) > 0:
			return "", "", fmt.Errorf("got %s, then not the line's end: %w", transcript.Short(raw),
				err)
		case err != nil:
			return "", "", err
		}
		if tags, line, err = cutLine(string(raw)); err != nil {
			return "", "", err
		}
		token, asked := pingOf(line)
		if !asked {
			s.noteWelcome(line)
			return tags, line, nil
		}
		if s.deaf {
			continue
		}
		if err := s.tell("PONG " + token + "\r\n"); err != nil {
			return "", "", err
		}
	}
}

// pingOf returns what a PING of the server asks for.
func pingOf(line string) (token string, isPing bool) {
	return strings.CutPrefix(strings.TrimPrefix(line, ":chat "), "PING ")
}

// noteWelcome notes that the client has registered, and its nick, if the line ends the welcome.
func (s *speaker) noteWelcome(line string) {
	if number := secondWord(line); number != ERR_NOMOTD && number != RPL_ENDOFMOTD {
		return
	}
	if words := strings.Fields(line); len(words) > 2 {
		s.welcome, s.nick = true, words[2]
	}
}

// secondWord returns the second word of a line: its command or number, if the line names a source.
func secondWord(line string) string {
	_, rest, _ := strings.Cut(line, " ")
	word, _, _ := strings.Cut(rest, " ")
	return word
}

// cutLine cuts a line of the server into its tags and the rest. The line must be one of IRC.
func cutLine(raw string) (tags, line string, err error) {
	line, ended := strings.CutSuffix(raw, "\r\n")
	if !ended {
		return "", "", fmt.Errorf("got a line that does not end in CR LF: %s",
			transcript.Short([]byte(raw)))
	}
	if strings.HasPrefix(line, "@") {
		tags, line, _ = strings.Cut(line, " ")
	}
	if len(line)+len("\r\n") > longestLine {
		return "", "", fmt.Errorf("got a line of %d bytes, want at most %d: %s", len(line)+2,
			longestLine, transcript.Short([]byte(line)))
	}
	return tags, line, nil
}

// quoteLine shows all of a line, since what is wrong may stand at its end.
func quoteLine(line string) string { return fmt.Sprintf("%q", line) }

// isRefusal reports whether a word is the number of an error reply.
func isRefusal(word string) bool { return len(word) == 3 && word >= "400" && word <= "599" }

// hear reads the next line, which must be the wanted one. Its tags are compared if the wanted line
// has some, or if the client has not asked for them.
func (s *scene) hear(c *speaker, want *wanted) error {
	tags, line, err := c.line()
	if err != nil {
		return fmt.Errorf("%s; want %v", play.Why(err), want)
	}
	got := line
	if tags != "" && (strings.HasPrefix(want.text, "@") || !c.timed) {
		got = tags + " " + line
	}
	if !want.matches(got) {
		return fmt.Errorf("got %s, want %v", quoteLine(got), want)
	}
	if want.log {
		return s.timeIsOfLog(tags, line)
	}
	return nil
}

// hears reads lines, which must be the wanted ones.
func hears(_ context.Context, p *play.Play, c *play.Client, w wantedLines) error {
	s := sceneOf(p)
	for range w.times(s) {
		for _, want := range w.lines {
			if err := s.hear(speak(c), s.fill(want, speak(c))); err != nil {
				return err
			}
		}
	}
	return nil
}

// fill replaces the placeholders of a wanted line: {host} by the address from which clients connect
// and {nick} by that of the client, if there is one.
func (s *scene) fill(want *wanted, c *speaker) *wanted {
	if !strings.Contains(want.text, "{") {
		return want
	}
	text := strings.ReplaceAll(want.text, "{host}", s.Address)
	if c != nil {
		text = strings.ReplaceAll(text, "{nick}", c.nickOf())
	}
	return newWanted(text)
}

// hearsNothing shows that no line is on its way: the answer to a ping comes next.
func hearsNothing(_ context.Context, _ *play.Play, c *play.Client, _ play.None) error {
	return speak(c).fence()
}

// ping sends a PING of the client's own and returns its token.
func (s *speaker) ping() (token string, err error) {
	s.fences++
	token = fmt.Sprintf("fence%d", s.fences)
	return token, s.tell("PING " + token + "\r\n")
}

// fence sends a ping, whose answer must be the next line.
func (s *speaker) fence() error {
	token, err := s.ping()
	if err != nil {
		return err
	}
	_, line, err := s.line()
	if err != nil {
		return fmt.Errorf("%s; want the PONG to %q", play.Why(err), "PING "+token)
	}
	if !isPong(line, token) {
		return fmt.Errorf("got %s, want nothing but the PONG to %q", quoteLine(line),
			"PING "+token)
	}
	return nil
}

// isPong reports whether a line is the answer to a ping. The server may have any name.
func isPong(line, token string) bool {
	if !strings.Contains(line, token) {
		return false // so nearly every line is told apart before it is cut into words
	}
	words := strings.Fields(line)
	return len(words) >= 2 && slices.Contains(words[:2], "PONG") &&
		strings.TrimPrefix(words[len(words)-1], ":") == token
}

// hearsPing waits for the server's PING, answers it, and waits until the answer has arrived.
func hearsPing(_ context.Context, _ *play.Play, c *play.Client, _ play.None) error {
	s := speak(c)
	raw, err := s.in.ReadString('\n')
	if err != nil {
		return fmt.Errorf("%s; want a PING of the server", play.Why(err))
	}
	_, line, err := cutLine(raw)
	if err != nil {
		return err
	}
	token, asked := pingOf(line)
	if !asked {
		return fmt.Errorf("got %s, want a PING of the server", quoteLine(line))
	}
	if err := s.tell("PONG " + token + "\r\n"); err != nil {
		return err
	}
	return s.fence()
}

// skips reads lines until the wanted one comes.
func skips(_ context.Context, p *play.Play, c *play.Client, want *wanted) error {
	s := speak(c)
	want = sceneOf(p).fill(want, s)
	for n := 0; ; n++ {
		tags, line, err := s.line()
		if err != nil {
			return fmt.Errorf("%s after %d other lines; want %v", play.Why(err), n, want)
		}
		if want.matches(line) || strings.HasPrefix(want.text, "@") && want.matches(tags+" "+line) {
			return nil
		}
	}
}

// ignores makes the client one that does not answer the server's pings.
func ignores(_ context.Context, _ *play.Play, c *play.Client, _ play.None) error {
	speak(c).deaf = true
	return nil
}

// says sends a line, with its end, once or until the server refuses it.
func says(ctx context.Context, p *play.Play, c *play.Client, w saying) error {
	s := speak(c)
	s.timed = s.timed || strings.Contains(w.data.String(), "server-time")
	said := append(slices.Clone(w.data), transcript.Text([]byte("\r\n"))...)
	if w.until == nil {
		return c.Send(ctx, said, w.pace)
	}
	scene := sceneOf(p)
	for scene.granted = 0; scene.granted < untilRefused; scene.granted++ {
		if err := c.Send(ctx, said, transcript.Pace{}); err != nil {
			return err
		}
		if refused, err := s.awaitRefusal(w.until); refused || err != nil {
			return err
		}
	}
	return fmt.Errorf("the server took it %d times; want %v", untilRefused, w.until)
}

// awaitRefusal sends a ping and reports whether the wanted line comes before the answer.
func (s *speaker) awaitRefusal(want *wanted) (refused bool, err error) {
	token, err := s.ping()
	if err != nil {
		return false, err
	}
	_, line, err := s.line()
	if err != nil {
		return false, fmt.Errorf("%s; want %v or a PONG", play.Why(err), want)
	}
	if isPong(line, token) {
		return false, nil
	}
	if !want.matches(line) {
		return false, fmt.Errorf("got %s, want %v or the PONG to %q", quoteLine(line), want,
			"PING "+token)
	}
	if _, line, err = s.line(); err != nil {
		return false, fmt.Errorf("%s after the refusal; want the PONG to %q", play.Why(err),
			"PING "+token)
	}
	if !isPong(line, token) {
		return false, fmt.Errorf("got %s after the refusal, want the PONG to %q", quoteLine(line),
			"PING "+token)
	}
	return true, nil
}

// hearsNames reads the names of a room, in any order and on any number of lines.
func hearsNames(_ context.Context, _ *play.Play, c *play.Client, w names) error {
	s := speak(c)
	var got []string
	for {
		_, line, err := s.line()
		if err != nil {
			return fmt.Errorf("%s; want the end of the names of %s", play.Why(err), w.room)
		}
		nick := s.nickOf()
		if strings.HasPrefix(line, ":chat "+RPL_ENDOFNAMES+" "+nick+" "+w.room+" :") {
			break
		}
		list, ok := strings.CutPrefix(line, ":chat "+RPL_NAMREPLY+" "+nick+" = "+w.room+" :")
		if !ok {
			return fmt.Errorf("got %s, want the names of %s", quoteLine(line), w.room)
		}
		got = append(got, strings.Fields(list)...)
	}
	want := slices.Clone(w.nicks)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		return fmt.Errorf("got the names %v, want %v", got, want)
	}
	return nil
}

// drains reads until the server's end of the connection, in order or by reset. Generated lines
// count as heard.
func drains(_ context.Context, p *play.Play, c *play.Client, _ play.None) error {
	s, scene := speak(c), sceneOf(p)
	for {
		_, line, err := s.line()
		switch {
		case play.IsEOF(err) || play.IsReset(err):
			return nil
		case err != nil:
			return fmt.Errorf("%s; want the server's end of the connection", play.Why(err))
		}
		if err := scene.talk.note(s.nickOf(), line); err != nil {
			return err
		}
	}
}

// registers sends what a client sends first, and skips to the end of the welcome.
func registers(_ context.Context, _ *play.Play, c *play.Client, w registration) error {
	s := speak(c)
	s.nick = s.nickOf()
	if w.nick != "" {
		s.nick = w.nick
	}
	before, after := "", ""
	if w.capabilities != "" {
		before, after = "CAP REQ :"+w.capabilities+"\r\n", "CAP END\r\n"
		s.echo, s.timed = strings.Contains(w.capabilities, "echo-message"),
			strings.Contains(w.capabilities, "server-time")
	}
	if err := s.tell(before + "NICK " + s.nick + "\r\nUSER " + s.nick + " 0 * :" + s.nick +
		"\r\n" + after); err != nil {
		return err
	}
	for n := 0; ; n++ {
		_, line, err := s.line()
		if err != nil {
			return fmt.Errorf("%s after %d lines; want 422, the end of the welcome",
				play.Why(err), n)
		}
		if s.welcome {
			return nil
		}
		words := strings.Fields(line)
		if len(words) < 3 {
			continue
		}
		if words[0] == "ERROR" || isRefusal(words[1]) ||
			words[1] == "CAP" && slices.Contains(words, "NAK") {
			return fmt.Errorf("got %s, want to be welcome as %s", quoteLine(line), s.nick)
		}
	}
}

// joins enters rooms and skips to the end of each one's names. A client that has not registered
// does that first.
func joins(ctx context.Context, p *play.Play, c *play.Client, w rooms) error {
	s, scene := speak(c), sceneOf(p)
	if !s.welcome {
		if err := registers(ctx, p, c, registration{}); err != nil {
			return err
		}
	}
	rooms := w.names
	if w.of > 0 {
		rooms = nil
		for i := range w.each {
			rooms = append(rooms, fmt.Sprintf("%s%d", w.names[0], (c.Index+i)%w.of))
		}
	}
	if err := s.tell("JOIN " + strings.Join(rooms, ",") + "\r\n"); err != nil {
		return err
	}
	for _, room := range rooms {
		if err := scene.awaitNames(s, room); err != nil {
			return err
		}
		scene.talk.enter(s.nickOf(), room)
	}
	return nil
}

// awaitNames skips to the end of a room's names. Before it may come what the client has missed in
// another room.
func (s *scene) awaitNames(c *speaker, room string) error {
	for {
		_, line, err := c.line()
		if err != nil {
			return fmt.Errorf("%s; want 366, the end of the names of %s", play.Why(err), room)
		}
		number := secondWord(line)
		if number == RPL_ENDOFNAMES {
			if words := strings.Fields(line); len(words) > 3 && words[3] == room {
				return nil
			}
		}
		if isRefusal(number) {
			return fmt.Errorf("got %s, want to be in %s", quoteLine(line), room)
		}
		if err := s.talk.note(c.nickOf(), line); err != nil {
			return err
		}
	}
}
