package play

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"interleave/internal/probe/serve"
	"interleave/internal/probe/transcript"
)

// byteVerbs send and receive bytes, and end connections.
var byteVerbs = Vocabulary{{Word: transcript.Client, Verbs: Verbs{
	"send":   shared(ByEach(sendUsage, readSend(send{}), sends)),
	"try":    shared(ByEach(sendUsage, readSend(send{try: true}), sends)),
	"leave":  shared(ByEach(sendUsage, readSend(send{gone: true}), sends)),
	"recv":   shared(ByEach(receiveUsage, readReceive, receives)),
	"echo":   shared(ByEach("NAME echo DATA [by SIZE [every TIME]]", readPaced, echoes)),
	"fill":   shared(ByEach("NAME fill DATA", readFill, fills)),
	"silent": shared(ByEach("NAME silent TIME", (*Line).Duration, isSilent)),
	"shut":   shared(ByEach("NAME shut", NoWords, shuts)),
	"close":  shared(ByEach("NAME close", readEnd, closes)),
	"reset":  shared(ByEach("NAME reset", readEnd, resets)),
	"eof":    shared(ByEach("NAME eof", readEnd, seesEnd(false))),
	"closed": shared(ByEach("NAME closed", readEnd, seesEnd(true))),
}}}

const (
	sendUsage    = "NAME send DATA [by SIZE [every TIME]]"
	receiveUsage = "NAME recv DATA [by SIZE [every TIME]], or NAME recv filled"
)

const (
	// readAtOnce is the most bytes that a client without a pace reads at once.
	readAtOnce = 256 << 10
	// blockedFor is how long a write must be stuck before the server counts as not reading.
	blockedFor = 500 * time.Millisecond
)

// paced is data with its pace.
type paced struct {
	data transcript.Data
	pace transcript.Pace
}

func readPaced(l *Line) (d paced, err error) {
	if d.data, err = l.Data(); err != nil {
		return d, err
	}
	d.pace, err = l.Pace()
	return d, err
}

// send are the words of send, try and leave.
type send struct {
	paced
	try  bool // the server may close the connection meanwhile
	gone bool // the client is gone at once, before an answer can come
}

// readSend returns a function that reads the data of one of these verbs.
func readSend(s send) func(*Line) (send, error) {
	return func(l *Line) (_ send, err error) {
		s := s
		s.paced, err = readPaced(l)
		return s, err
	}
}

// sends sends the data.
func sends(ctx context.Context, _ *Play, c *Client, s send) error { return c.send(ctx, s) }

func (c *Client) send(ctx context.Context, s send) error {
	c.Spoke = time.Now()
	c.Old = c.Old || s.data.Has(" HTTP/1.0\r\n")
	sent, err := c.write(ctx, s.data, s.pace)
	if s.gone { // a reset after the end of the data makes the server's next write a broken pipe
		err = errors.Join(err, c.Conn.CloseWrite(), c.reset())
	}
	if err == nil || s.try && IsReset(err) {
		return nil
	}
	if isLate(err) {
		return fmt.Errorf("the server stopped reading: it took %d of %d bytes", sent,
			s.data.Size())
	}
	return fmt.Errorf("%s after %d of %d bytes", Why(err), sent, s.data.Size())
}

// receive are the words of recv.
type receive struct {
	paced
	filled bool // what fill has sent, in place of data
}

func readReceive(l *Line) (r receive, err error) {
	if r.filled = l.Take("filled"); !r.filled {
		r.paced, err = readPaced(l)
		return r, err
	}
	if r.pace, err = l.Pace(); err != nil {
		return r, err
	}
	return r, l.HasFilled(l.Who)
}

// receives reads exactly the data.
func receives(ctx context.Context, _ *Play, c *Client, r receive) error {
	if r.filled {
		f := c.filling()
		return c.expect(ctx, f.reader(), f.sent, r.pace)
	}
	return c.expect(ctx, r.data.Reader(), r.data.Size(), r.pace)
}

// expect reads size bytes, which must be those of want.
func (c *Client) expect(ctx context.Context, want io.Reader, size int64, p transcript.Pace) error {
	got := make([]byte, min(max(size, 1), cmp.Or(p.By, readAtOnce)))
	right := make([]byte, len(got))
	for at := int64(0); at < size; {
		n, err := c.Read(got[:min(int64(len(got)), size-at)])
		if _, err := io.ReadFull(want, right[:n]); err != nil {
			return err
		}
		if !bytes.Equal(got[:n], right[:n]) {
			wrong := 0
			for got[wrong] == right[wrong] {
				wrong++
			}
			return fmt.Errorf("after %d right bytes got %s, want %s", at+int64(wrong),
				transcript.Short(got[wrong:n]), transcript.Short(right[wrong:n]))
		}
		if at += int64(n); at == size {
			return nil
		}
		if err != nil {
			n, _ := io.ReadFull(want, right[:min(int64(len(right)), size-at)])
			return fmt.Errorf("got %d of %d bytes, then %s; want %s", at, size, Why(err),
				transcript.Short(right[:n]))
		}
		if err := serve.Sleep(ctx, p.Every); err != nil {
			return err
		}
	}
	return nil
}

// echoes sends and reads at the same time. A server that answers while it reads would otherwise
// fill the buffers of both directions.
func echoes(ctx context.Context, _ *Play, c *Client, d paced) error {
	wrote := make(chan error, 1)
	go func() {
		err := c.Send(ctx, d.data, d.pace)
		if err != nil {
			// what is under way may still come
			_ = c.Conn.SetReadDeadline(time.Now().Add(blockedFor))
		}
		wrote <- err
	}()
	read := c.expect(ctx, d.data.Reader(), d.data.Size(), transcript.Pace{})
	if read != nil {
		_ = c.Conn.SetWriteDeadline(time.Now())
	}
	if err := <-wrote; err != nil && read == nil {
		return err
	}
	return read
}

// filling is what fill has sent.
type filling struct {
	data transcript.Data
	sent int64 // bytes
}

// reader returns a reader of the bytes that were sent.
func (f *filling) reader() io.Reader { return io.LimitReader(f.data.Reader(), f.sent) }

// filling returns what the client has sent by fill.
func (c *Client) filling() *filling { return Keep(c, func() *filling { return new(filling) }) }

func readFill(l *Line) (transcript.Data, error) {
	data, err := l.Data()
	l.Fills()
	return data, err
}

// fills sends until the server stops reading, as it must if its answers are not read.
func fills(ctx context.Context, p *Play, c *Client, data transcript.Data) error {
	f := c.filling()
	f.data, f.sent = data, 0
	reader, chunk := data.Reader(), make([]byte, 64<<10)
	defer func() { _ = c.Conn.SetWriteDeadline(p.Deadline) }()
	for ctx.Err() == nil {
		n, _ := io.ReadFull(reader, chunk)
		if n == 0 {
			return fmt.Errorf("the server took all %d bytes though nobody reads its answers: it "+
				"keeps them", f.sent)
		}
		for left := chunk[:n]; len(left) > 0; {
			if time.Now().After(p.Deadline) {
				return fmt.Errorf("the server still read after %d bytes", f.sent)
			}
			_ = c.Conn.SetWriteDeadline(time.Now().Add(blockedFor))
			wrote, err := c.Conn.Write(left)
			f.sent += int64(wrote)
			left = left[wrote:]
			if isLate(err) && wrote == 0 {
				return nil
			}
			if err != nil && !isLate(err) {
				return fmt.Errorf("%s after %d bytes", Why(err), f.sent)
			}
		}
	}
	return context.Cause(ctx)
}

// isSilent waits, and wants an open connection on which nothing comes.
func isSilent(_ context.Context, p *Play, c *Client, during time.Duration) error {
	_ = c.Conn.SetReadDeadline(time.Now().Add(during))
	defer func() { _ = c.Conn.SetReadDeadline(p.Deadline) }()
	got := make([]byte, transcript.ShortBytes)
	n, err := c.Read(got)
	if n > 0 {
		return fmt.Errorf("got %s, want nothing for %v", transcript.Short(got[:n]), during)
	}
	if !isLate(err) {
		return fmt.Errorf("%s, want an open connection on which nothing comes for %v", Why(err),
			during)
	}
	return nil
}

// readEnd reads a line after which its client's connection is over.
func readEnd(l *Line) (None, error) {
	l.EndsClient()
	return None{}, nil
}

// shuts closes the client's side for writing.
func shuts(_ context.Context, _ *Play, c *Client, _ None) error { return c.Conn.CloseWrite() }

// closes ends the connection in order.
func closes(_ context.Context, _ *Play, c *Client, _ None) error { return c.Conn.Close() }

// resets ends the connection by a reset.
func resets(_ context.Context, _ *Play, c *Client, _ None) error { return c.reset() }

// reset ends the connection by a reset.
func (c *Client) reset() error {
	if err := c.Conn.SetLinger(0); err != nil {
		return err
	}
	return c.Conn.Close()
}

// seesEnd returns a function that waits for the server's end of the connection. The server may end
// it in order or, if byReset, also by a reset.
func seesEnd(byReset bool) func(context.Context, *Play, *Client, None) error {
	return func(_ context.Context, _ *Play, c *Client, _ None) error {
		n, err := c.Read(make([]byte, 1))
		switch {
		case n > 0:
			return errors.New("got more bytes, want the end of the connection")
		case IsEOF(err), IsReset(err) && byReset:
			return nil
		case isLate(err):
			return errors.New("the server kept the connection open within the transcript's limit")
		}
		return fmt.Errorf("%s, want an orderly close", Why(err))
	}
}
