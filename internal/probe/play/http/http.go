// Package http has the verbs of transcripts for services that speak HTTP: streams and images. It
// speaks HTTP by hand, since the framing is under test: a client library would accept what a server
// must not send.
package http

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

	"interleave/internal/probe/play"
	"interleave/internal/probe/transcript"
)

// Verbs are the verbs of HTTP.
var Verbs = play.Vocabulary{{Word: transcript.Client, Verbs: play.Verbs{
	"gets":           play.ByEach(`NAME gets "/PATH"`, readPath, gets),
	"hears greeting": play.ByEach(`NAME hears greeting "/PATH"`, readPath, hearsGreeting),
	"hears chunk":    play.ByEach("NAME hears chunk NUMBER|FROM..TO", readChunks, hearsChunks),
	"hears status":   play.ByEach(statusUsage, readStatus, hearsStatus),
	"hears end":      play.ByEach(statusUsage, readEnd, hearsEnd),
}}}

const statusUsage = `NAME hears status CODE|4xx or CODE|end [with "NAME: VALUE, VALUE"] ` +
	`[and no more], or NAME hears end`

const (
	// early is how long before its second a chunk may come: a clock is read twice, and a timer has
	// a clock of its own.
	early = 50 * time.Millisecond
	// aMoment is how long nothing may follow a head that stands alone.
	aMoment = 200 * time.Millisecond
	// mostChunks bounds the chunks of one step. A transcript of a minute has time for no more.
	mostChunks = 60
)

// A stream is what a client knows of the stream that it hears.
type stream struct {
	path    string    // empty: it has heard no greeting yet
	asked   time.Time // when its request was not yet complete
	chunked bool
}

func streamOf(c *play.Client) *stream {
	return play.Keep(c, func() *stream { return new(stream) })
}

func readPath(l *play.Line) (string, error) { return l.Quoted("a path") }

// gets asks for a stream and reads its greeting.
func gets(ctx context.Context, p *play.Play, c *play.Client, path string) error {
	path = strings.ReplaceAll(path, "{name}", c.PlainName())
	text := "GET " + path + " HTTP/1.1\r\nHost: stream\r\n\r\n"
	if err := c.Send(ctx, transcript.Text([]byte(text)), transcript.Pace{}); err != nil {
		return err
	}
	return hearsGreeting(ctx, p, c, path)
}

// A head is the beginning of an answer.
type head struct {
	version, code string
	fields        textproto.MIMEHeader
}

// readHead reads the beginning of an answer.
func readHead(c *play.Client) (*head, error) {
	in := textproto.NewReader(c.Reader())
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

// hearsGreeting reads the head of a stream and its first text. The stream must be coded in chunks,
// unless it was asked for by HTTP/1.0.
func hearsGreeting(_ context.Context, _ *play.Play, c *play.Client, path string) error {
	h, err := readHead(c)
	if err != nil {
		return fmt.Errorf("%s; want status 200", play.Why(err))
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
	case coding == "" && !c.Old:
		return errors.New("got no Transfer-Encoding, want chunked")
	case coding != "" && c.Old:
		return errors.New("got Transfer-Encoding for a request of HTTP/1.0, want none")
	}
	s := streamOf(c)
	*s = stream{path: path, asked: c.Spoke, chunked: coding != ""}
	return s.text(c, "Goconntest welcomes you! Your Id: "+path+"\n")
}

// text reads one text of the stream, which must come as one chunk.
func (s *stream) text(c *play.Client, want string) error {
	in := c.Reader()
	framed := want
	if s.chunked {
		line, err := in.ReadString('\n')
		if err != nil {
			return fmt.Errorf("%s; want the chunk %q", play.Why(err), want)
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
		return fmt.Errorf("got %q, then %s; want %q", got[:n], play.Why(err), framed)
	}
	if string(got) != framed {
		return fmt.Errorf("got %q, want %q", got, framed)
	}
	return nil
}

// chunks are the first and the last number of the chunks that come next.
type chunks struct{ least, most int64 }

func readChunks(l *play.Line) (w chunks, err error) {
	if strings.Contains(l.NextWord(), "..") {
		w.least, w.most, err = l.Span("chunks such as 1..3", mostChunks)
		return w, err
	}
	w.least, err = l.Number("the number of a chunk", 1, mostChunks)
	return chunks{w.least, w.least}, err
}

// hearsChunks reads chunks, none of which may come before its second.
func hearsChunks(_ context.Context, _ *play.Play, c *play.Client, w chunks) error {
	s := streamOf(c)
	if s.path == "" {
		return errors.New("it hears no stream yet: expected gets or hears greeting before")
	}
	for n := w.least; n <= w.most; n++ {
		if err := s.text(c, fmt.Sprintf("Chunk %d for id %s\n", n, s.path)); err != nil {
			return err
		}
		due := s.asked.Add(time.Duration(n) * time.Second)
		if before := time.Until(due); before > early {
			return fmt.Errorf("chunk %d came %v before it was due", n,
				before.Round(time.Millisecond))
		}
	}
	return nil
}

// status are the words of: a hears status 404|4xx or 505|end with "Allow: GET, HEAD" and no more.
type status struct {
	codes []string
	with  string // a field of the head and values that it must have
	alone bool   // nothing may follow the head
	orEnd bool   // the server may also end the connection without an answer
}

func readStatus(l *play.Line) (w status, err error) {
	for {
		code, err := l.Word("a status such as 404 or 4xx, or end")
		switch {
		case err != nil:
			return w, err
		case code == "end":
			w.orEnd = true
		case !isStatus(code):
			return w, fmt.Errorf("expected a status such as 404 or 4xx, or end, got %s", code)
		default:
			w.codes = append(w.codes, code)
		}
		if !l.Take("or") {
			break
		}
	}
	if l.Take("with") {
		if w.with, err = l.Quoted("a line of the head"); err != nil {
			return w, err
		}
		if name, value, ok := strings.Cut(w.with, ": "); !ok || name == "" || value == "" {
			return w, fmt.Errorf("expected a line of the head such as \"Allow: GET\", got %q",
				w.with)
		}
	}
	if w.alone = l.Take("and"); w.alone {
		return w, l.Expect("no", "more")
	}
	return w, nil
}

// isStatus reports whether a word is a status such as 404 or 4xx.
func isStatus(code string) bool {
	if len(code) != 3 || code[0] < '1' || code[0] > '5' {
		return false
	}
	_, err := strconv.ParseUint(code[1:], 10, 8)
	return code[1:] == "xx" || err == nil
}

// hearsStatus reads an answer with one of the wanted statuses.
func hearsStatus(_ context.Context, p *play.Play, c *play.Client, w status) error {
	h, err := readHead(c)
	if w.orEnd && (play.IsEOF(err) || play.IsReset(err)) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s; want status %s", play.Why(err), strings.Join(w.codes, " or "))
	}
	fits := false
	for _, code := range w.codes {
		fits = fits || h.code == code || code[1:] == "xx" && code[0] == h.code[0]
	}
	if !fits {
		return fmt.Errorf("got status %s, want %s", h.code, strings.Join(w.codes, " or "))
	}
	if err := h.holds(w.with); err != nil {
		return err
	}
	if w.alone {
		return noMore(p, c)
	}
	return h.skipBody(c)
}

// holds returns an error unless the head has a field with all these values, in any order.
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

// noMore waits for a moment, in which nothing may come but the end of the connection.
func noMore(p *play.Play, c *play.Client) error {
	_ = c.Conn.SetReadDeadline(time.Now().Add(aMoment))
	defer func() { _ = c.Conn.SetReadDeadline(p.Deadline) }()
	got := make([]byte, transcript.ShortBytes)
	if n, _ := c.Read(got); n > 0 {
		return fmt.Errorf("got %s after the head, want no more", transcript.Short(got[:n]))
	}
	return nil
}

// skipBody reads the body of an answer, so that the next answer can be read. A body without a
// length goes on to the end of the connection and is not read.
func (h *head) skipBody(c *play.Client) error {
	length := h.fields.Get("Content-Length")
	if length == "" {
		return nil
	}
	n, err := strconv.ParseUint(length, 10, 20)
	if err != nil {
		return fmt.Errorf("got Content-Length %q, want a number below a MiB", length)
	}
	if got, err := io.CopyN(io.Discard, c.Reader(), int64(n)); err != nil {
		return fmt.Errorf("got %d bytes of a body of %d, then %s", got, n, play.Why(err))
	}
	return nil
}

func readEnd(l *play.Line) (play.None, error) {
	l.EndsClient()
	return play.None{}, nil
}

// hearsEnd reads to the end of the connection, in order or by reset, whatever comes before it.
func hearsEnd(_ context.Context, _ *play.Play, c *play.Client, _ play.None) error {
	in := c.Reader()
	for {
		_, err := in.Discard(1)
		switch {
		case play.IsEOF(err), play.IsReset(err):
			return nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return fmt.Errorf("%s, want the end of the connection", play.Why(err))
		}
	}
}
