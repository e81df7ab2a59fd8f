package play

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"strconv"
	"strings"
	"time"
)

// What a client of a stream asks and hears: HTTP by hand, since framing is what is looked at. A
// client library would take what a server should not send.

type (
	gets struct{ path string } // a gets "/test/7"; {name} is the client's

	// a hears status 404|4xx or 505|end [with "Allow: GET, HEAD"] [and no more]
	hearsStatus struct {
		codes    []string
		with     string
		alone    bool // nothing follows the head
		endsToo  bool // the connection's end does as well
		endsOnly bool // hears end: texts may come before it
	}
	hearsGreeting struct{ path string } // a hears greeting "/test/7"
	hearsChunks   struct{ least, most int64 }
)

func (*gets) usage() string { return `NAME gets "/PATH"` }
func (*hearsStatus) usage() string {
	return `NAME hears status CODE|4xx or CODE|end [with "NAME: VALUE, VALUE"] [and no more], or NAME hears end`
}
func (*hearsGreeting) usage() string { return `NAME hears greeting "/PATH"` }
func (*hearsChunks) usage() string   { return "NAME hears chunk NUMBER|FROM..TO" }

const (
	// early is what a chunk may come before its second: a clock is read twice, and a
	// timer has its own.
	early = 50 * time.Millisecond
	// aMoment is how long nothing may follow a head that stands alone.
	aMoment = 200 * time.Millisecond
	// mostChunks of one step: a transcript of a minute holds no more.
	mostChunks = 60
)

// A stream is what a client knows of the one that it hears.
type stream struct {
	path    string
	asked   time.Time // before its head was whole
	chunked bool
}

func parseGets(w *words) (_ action, err error) {
	g := &gets{}
	g.path, err = w.quoted("a path")
	return g, err
}

func parseStatus(w *words) (action, error) {
	h := &hearsStatus{}
	for {
		code, err := w.word("a status such as 404 or 4xx, or end")
		switch {
		case err != nil:
			return h, err
		case code == "end":
			h.endsToo = true
		case !isStatus(code):
			return h, fmt.Errorf("expected a status such as 404 or 4xx, or end, got %s", code)
		default:
			h.codes = append(h.codes, code)
		}
		if !w.take("or") {
			break
		}
	}
	if w.take("with") {
		var err error
		if h.with, err = w.quoted("a line of the head"); err != nil {
			return h, err
		}
		if name, value, ok := strings.Cut(h.with, ": "); !ok || name == "" || value == "" {
			return h, fmt.Errorf("expected a line of the head such as \"Allow: GET\", got %q",
				h.with)
		}
	}
	if w.take("and") {
		h.alone = true
		return h, w.expect("no", "more")
	}
	return h, nil
}

// isStatus knows 404 and 4xx.
func isStatus(code string) bool {
	if len(code) != 3 || code[0] < '1' || code[0] > '5' {
		return false
	}
	_, err := strconv.ParseUint(code[1:], 10, 8)
	return code[1:] == "xx" || err == nil
}

func parseChunks(w *words) (action, error) {
	h := &hearsChunks{}
	next, _ := w.peek()
	if strings.Contains(next.text, "..") {
		var err error
		h.least, h.most, err = w.span("chunks such as 1..3", mostChunks)
		return h, err
	}
	n, err := w.number("the number of a chunk", 1, mostChunks)
	h.least, h.most = n, n
	return h, err
}

// http plays what a client of a stream does.
func (p *play) http(ctx context.Context, c *client, do action) error {
	switch do := do.(type) {
	case *gets:
		path := strings.ReplaceAll(do.path, "{name}", c.plainName())
		text := "GET " + path + " HTTP/1.1\r\nHost: stream\r\n\r\n"
		if err := c.send(ctx, &send{data: data{{text: []byte(text), times: 1}}}); err != nil {
			return err
		}
		return c.hearsGreeting(path)
	case *hearsGreeting:
		return c.hearsGreeting(do.path)
	case *hearsChunks:
		return c.hearsChunks(do)
	case *hearsStatus:
		if do.endsOnly {
			return c.hearsEnd()
		}
		return c.hearsStatus(do, p.deadline)
	}
	panic(fmt.Sprintf("a step of kind %T cannot be played", do))
}

// A head is the beginning of an answer.
type head struct {
	version, code string
	fields        textproto.MIMEHeader
}

// head reads the beginning of an answer.
func (c *client) head() (*head, error) {
	in := textproto.NewReader(c.speak().in)
	line, err := in.ReadLine()
	if err != nil {
		return nil, err
	}
	version, rest, _ := strings.Cut(line, " ")
	code, _, _ := strings.Cut(rest, " ")
	if version != "HTTP/1.1" && version != "HTTP/1.0" || len(code) != 3 || !isStatus(code) {
		return nil, fmt.Errorf("got %q, want a status line such as \"HTTP/1.1 200 OK\"", line)
	}
	fields, err := in.ReadMIMEHeader()
	if err != nil {
		return nil, fmt.Errorf("reading the head after %q: %w", line, err)
	}
	return &head{version, code, fields}, nil
}

func (c *client) hearsGreeting(path string) error {
	h, err := c.head()
	if err != nil {
		return fmt.Errorf("%s; want status 200", wordsOfEnd(err))
	}
	coding := strings.ToLower(h.fields.Get("Transfer-Encoding"))
	switch {
	case h.code != "200":
		return fmt.Errorf("got status %s, want 200", h.code)
	case !strings.HasPrefix(h.fields.Get("Content-Type"), "text/plain"):
		return fmt.Errorf("got Content-Type %q, want text/plain", h.fields.Get("Content-Type"))
	case coding != "" && coding != "chunked", h.fields.Get("Content-Length") != "":
		return fmt.Errorf("got Transfer-Encoding %q and Content-Length %q, want chunked or neither",
			coding, h.fields.Get("Content-Length"))
	case coding == "" && !c.old:
		return errors.New("got no Transfer-Encoding, want chunked")
	case coding != "" && c.old:
		return errors.New("got Transfer-Encoding for a request of HTTP/1.0, want none")
	}
	c.stream = &stream{path: path, asked: c.spoke, chunked: coding != ""}
	return c.text("Goconntest welcomes you! Your Id: " + path + "\n")
}

// text reads one text of the stream, which must come as one chunk.
func (c *client) text(want string) error {
	in := c.speak().in
	framed := want
	if c.stream.chunked {
		line, err := in.ReadString('\n')
		if err != nil {
			return fmt.Errorf("%s; want the chunk %q", wordsOfEnd(err), want)
		}
		size, err := strconv.ParseUint(strings.TrimSuffix(line, "\r\n"), 16, 32)
		if err != nil || !strings.HasSuffix(line, "\r\n") || size != uint64(len(want)) {
			return fmt.Errorf("got %q in place of a chunk's size, want \"%x\\r\\n\" before %q",
				line, len(want), want)
		}
		framed += "\r\n"
	}
	got := make([]byte, len(framed))
	if n, err := io.ReadFull(in, got); err != nil {
		return fmt.Errorf("got %q, then %s; want %q", got[:n], wordsOfEnd(err), framed)
	}
	if string(got) != framed {
		return fmt.Errorf("got %q, want %q", got, framed)
	}
	return nil
}

func (c *client) hearsChunks(h *hearsChunks) error {
	if c.stream == nil {
		return errors.New("it hears no stream yet: expected gets or hears greeting before")
	}
	for n := h.least; n <= h.most; n++ {
		if err := c.text(fmt.Sprintf("Chunk %d for id %s\n", n, c.stream.path)); err != nil {
			return err
		}
		due := c.stream.asked.Add(time.Duration(n) * time.Second)
		if before := time.Until(due); before > early {
			return fmt.Errorf("chunk %d came %v before it was due", n,
				before.Round(time.Millisecond))
		}
	}
	return nil
}

func (c *client) hearsStatus(want *hearsStatus, deadline time.Time) error {
	h, err := c.head()
	if want.endsToo && (isEOF(err) || isReset(err)) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s; want status %s", wordsOfEnd(err), strings.Join(want.codes, " or "))
	}
	fits := false
	for _, code := range want.codes {
		fits = fits || h.code == code || code[1:] == "xx" && code[0] == h.code[0]
	}
	if !fits {
		return fmt.Errorf("got status %s, want %s", h.code, strings.Join(want.codes, " or "))
	}
	if err := h.holds(want.with); err != nil {
		return err
	}
	if want.alone {
		return c.noMore(deadline)
	}
	return c.skipBody(h)
}

// holds tells whether a head has a field with all these values, in any order.
func (h *head) holds(line string) error {
	if line == "" {
		return nil
	}
	name, values, _ := strings.Cut(line, ": ")
	got := strings.Join(h.fields.Values(name), ",")
	have := map[string]bool{}
	for value := range strings.SplitSeq(got, ",") {
		have[strings.TrimSpace(value)] = true
	}
	for value := range strings.SplitSeq(values, ",") {
		if !have[strings.TrimSpace(value)] {
			return fmt.Errorf("got %q in the field %s, want %q", got, name, values)
		}
	}
	return nil
}

// noMore sees to it that nothing follows for a moment but the end.
func (c *client) noMore(deadline time.Time) error {
	_ = c.conn.SetReadDeadline(time.Now().Add(aMoment))
	defer func() { _ = c.conn.SetReadDeadline(deadline) }()
	got := make([]byte, shortBytes)
	if n, _ := c.Read(got); n > 0 {
		return fmt.Errorf("got %s after the head, want no more", short(got[:n]))
	}
	return nil
}

// skipBody reads what belongs to an answer, so that the next one may follow it. Without a length it
// is what comes to the end.
func (c *client) skipBody(h *head) error {
	length := h.fields.Get("Content-Length")
	if length == "" {
		return nil
	}
	n, err := strconv.ParseUint(length, 10, 20)
	if err != nil {
		return fmt.Errorf("got Content-Length %q, want a number below a MiB", length)
	}
	if got, err := io.CopyN(io.Discard, c.speak().in, int64(n)); err != nil {
		return fmt.Errorf("got %d bytes of a body of %d, then %s", got, n, wordsOfEnd(err))
	}
	return nil
}

// hearsEnd reads to the end of the connection, in order or by reset, whatever comes before it.
func (c *client) hearsEnd() error {
	in := c.speak().in
	for {
		_, err := in.Discard(1)
		switch {
		case isEOF(err), isReset(err):
			return nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return fmt.Errorf("%s, want the end of the connection", why(err))
		}
	}
}
