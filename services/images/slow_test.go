package images

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"interleave/internal/probe/probetest"
)

// The limits of the contract, and the tolerance for an early end. A busy machine may make a server
// late, up to patience.
const (
	headLimit    = 20 * time.Second
	answerLimit  = 60 * time.Second
	requestLimit = 300 * time.Second
	early        = 2 * time.Second
	linger       = answerLimit + 2*time.Minute // enough for a server that looks late
)

// TestSlowImages tests the time limits for a whole head, for a piece of an answer and for a whole
// request. All clients but one never pause for long. All servers are tested concurrently.
func TestSlowImages(t *testing.T) {
	if !*whole {
		t.Skip("part of make whole: it waits for the end of slow requests, five minutes")
	}
	t.Parallel()
	models := map[string]*probetest.Subject{}
	each(t, "*", func(t *testing.T, m *probetest.Subject) {
		hurry(m)
		models[path.Base(t.Name())] = m
	})
	var wait sync.WaitGroup
	for name, m := range models {
		wait.Go(func() {
			t.Run(name+" waits", func(t *testing.T) {
				folder, _ := m.Folder(t, 0)
				server := m.Start(t, folder)
				newClient(t, server.Port).slow()
				if err := server.Stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
	wait.Wait()
}

// A drip is a request that comes in pieces: the first at once, each other a pause after
// the one before.
type drip struct {
	name  string
	first string
	more  []string
	pause time.Duration
	limit time.Duration // for all of these pieces
	// of the answer, in time; 0: the pieces begin anew until the server ends the
	// request at the limit
	status int
	kept   bool // another request came before it on the connection
}

// slow are requests on both sides of the time limits.
func (c *client) slow() {
	before := c.list()
	large := c.upload("image/png", "large", padded(c.t, pngOf(c.t, gray(8, 8)), 18<<20))
	middle := c.upload("image/png", "large", padded(c.t, pngOf(c.t, gray(8, 8)), 6<<20))
	content := string(pngOf(c.t, paint(30, 30, 8)))
	const (
		get  = "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: "
		post = "POST /images?name=slow HTTP/1.1\r\nHost: x\r\nContent-Type: image/png\r\n"
		form = "POST /images?name=slow HTTP/1.1\r\nHost: x\r\nContent-Type: " +
			"multipart/form-data; boundary=b\r\nContent-Length: 20000000\r\n\r\n" +
			"--b\r\nContent-Disposition: form-data; name=\"image\"; filename=\"x.png\"\r\n\r\n"
		pause = 5 * time.Second
	)
	var wait sync.WaitGroup
	for _, d := range []drip{
		{"a head", get, []string{"x"}, pause, headLimit, 0, false},
		{"a head after another request", get, []string{"x"}, pause, headLimit, 0, true},
		{"a head in time", get, pieces("x x x\r\n\r\n", 5), 3 * time.Second, headLimit, 200, false},
		{"an upload", post + "Content-Length: 20000000\r\n\r\n", []string{"x"}, pause, requestLimit,
			0, false},
		{"an upload in chunks", post + "Transfer-Encoding: chunked\r\n\r\n", []string{"1\r\nx\r\n"},
			pause, requestLimit, 0, false},
		{"a form", form, []string{"x"}, pause, requestLimit, 0, false},
		{"an upload in time", post + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(content)),
			pieces(content, 20), 14 * time.Second, requestLimit, 201, false},
	} {
		wait.Go(func() {
			for !c.drips(d) {
				c.t.Logf("%s: the machine did not let it be sent in time; once more", d.name)
			}
		})
	}
	wait.Go(func() { c.reads(middle) })
	wait.Go(func() { c.sips(large) })
	wait.Go(func() { c.lingers(large) })
	wait.Wait()
	c.ask("GET", "/healthz", nil, nil, 200)
	for _, i := range c.list() {
		if i.Name == "slow" || i.Name == "large" {
			c.ask("DELETE", i.URL, nil, nil, 204)
		}
	}
	c.same(before, "after slow requests")
}

// pieces cuts a text into so many of about the same length.
func pieces(text string, count int) (all []string) {
	for n := range count {
		all = append(all, text[n*len(text)/count:(n+1)*len(text)/count])
	}
	return all
}

// drips sends a request in pieces and checks the answer, and its time, against the limit. It
// returns false if the test itself did not send in time.
func (c *client) drips(d drip) bool {
	conn := c.dial()
	if conn == nil {
		return true
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(d.limit + patience))
	in := bufio.NewReader(conn)
	if d.kept {
		if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			c.t.Errorf("%s: %v", d.name, err)
		}
		if status, err := statusOf(in); status != 200 {
			c.t.Errorf("%s: got %d, %v for the request before it", d.name, status, err)
			return true
		}
	}
	begin := time.Now()
	ended := make(chan struct{})
	var sent atomic.Int64 // how long it took, in ns
	go func() {
		text := d.first
		for n := 0; ; n++ {
			_, err := io.WriteString(conn, text)
			sent.Store(int64(time.Since(begin)))
			if err != nil || n == len(d.more) && d.status != 0 {
				return
			}
			select {
			case <-ended:
				return
			case <-time.After(d.pause):
				text = d.more[n%len(d.more)]
			}
		}
	}()
	status, err := statusOf(in)
	took := time.Since(begin).Round(time.Millisecond)
	close(ended)
	switch {
	case d.status != 0 && time.Duration(sent.Load()) > d.limit-early:
		return false
	case d.status != 0 && status != d.status:
		c.t.Errorf("%s: got %d, %v after %v, want %d", d.name, status, err, took, d.status)
	case d.status == 0 && status != 0 && status != 400 && status != 408:
		c.t.Errorf("%s by and by: got %d after %v, want 408 or the end", d.name, status, took)
	case d.status == 0 && (took < d.limit-early || errors.Is(err, os.ErrDeadlineExceeded)):
		c.t.Errorf("%s by and by: got %d, %v after %v, want the end after %v", d.name, status, err,
			took, d.limit)
	}
	return true
}

// statusOf reads an answer.
func statusOf(in *bufio.Reader) (int, error) {
	response, err := http.ReadResponse(in, nil)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, errors.Join(err, response.Body.Close())
}

// reads reads an answer steadily and slowly: all of it comes. The kernel takes megabytes ahead of
// such a client, and then nothing for most of a minute.
func (c *client) reads(i info) {
	const piece, pause = 3 << 10, 100 * time.Millisecond
	got, took, err := c.takes(i, net.Dialer{}, piece, pause)
	if got != i.Bytes || err != nil {
		c.t.Errorf("an answer that is taken steadily, 30 kB/s: got %d of %d bytes, %v after %v, "+
			"want all", got, i.Bytes, err, took)
	}
}

// sips reads an answer at 40 KiB a second. Small segments and a small receive buffer bound the data
// that the kernel takes ahead, so that the server never waits for long. That data still takes
// seconds to read when the server has ended.
func (c *client) sips(i info) {
	const piece, pause = 2 << 10, 50 * time.Millisecond
	dialer := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		failed := raw.Control(func(fd uintptr) {
			err = errors.Join(unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG, 1460),
				unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 4<<10))
		})
		return errors.Join(failed, err)
	}}
	got, took, err := c.takes(i, dialer, piece, pause)
	if took < requestLimit-early || errors.Is(err, os.ErrDeadlineExceeded) || got >= i.Bytes {
		c.t.Errorf("an answer that is taken by and by: got %d of %d bytes, %v after %v, want "+
			"the end after %v", got, i.Bytes, err, took, requestLimit)
	}
}

// lingers asks for an image and reads nothing for longer than the contract allows: it does not get
// all of it afterwards.
func (c *client) lingers(i info) {
	got, _, err := c.takes(i, net.Dialer{}, i.Bytes, linger)
	if err == nil {
		c.t.Errorf("a client that did not read for %v got %d of %d bytes afterwards: nothing "+
			"bounds how long an answer is held", linger, got, i.Bytes)
	}
}

// takes reads an image, with a pause before each piece, and returns the number of bytes, their
// time, and the error that ended them early.
func (c *client) takes(i info, dialer net.Dialer, piece int64,
	pause time.Duration) (got int64, took time.Duration, err error) {
	dialer.Timeout = patience
	conn, err := dialer.DialContext(c.t.Context(), "tcp", c.address)
	if err != nil {
		return 0, 0, err
	}
	defer conn.Close()
	begin := time.Now()
	_ = conn.SetDeadline(begin.Add(requestLimit + patience))
	_, _ = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", i.URL)
	response, err := http.ReadResponse(bufio.NewReaderSize(conn, 16), nil) // it must not read ahead
	if err != nil {
		return 0, time.Since(begin), err
	}
	defer response.Body.Close()
	for err == nil && got < i.Bytes {
		time.Sleep(pause)
		var n int64
		n, err = io.CopyN(io.Discard, response.Body, min(piece, i.Bytes-got))
		got += n
	}
	return got, time.Since(begin).Round(time.Millisecond), err
}
