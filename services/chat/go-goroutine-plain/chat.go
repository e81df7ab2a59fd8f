// Chat with goroutines: one owns the rooms and the log, and each client has one that reads and one
// that writes. All messages pass one channel, so their order is the log's. The owner of the rooms
// takes everything that waits in the channel, writes it to the log at once, and puts it into the
// clients' send queues without waiting for any client.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	longest = 512     // bytes of a line with its end: RFC 1459
	longTag = 4096    // bytes of tags before it: IRCv3
	held    = 1 << 20 // bytes that wait for a client at most
	// Bytes of one read: a line with tags, or many without. A guess.
	chunk = 8 << 10
	// Reads that wait for the owner of the rooms, and are logged together. A guess.
	waiting = 64
	// How long a client that leaves may still read. A guess.
	linger = 5 * time.Second
	// How long all clients may still read when the server ends. A guess.
	leaving = 700 * time.Millisecond
)

// gonet.go may replace the kernel's stack by GoNet.
var (
	listen = net.Listen
	leave  = func() error { return nil }
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: chat PORT HOST DATA")
	}
	stop, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	d, err := openDisk(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	h, err := newHall(d)
	if err != nil {
		log.Fatal(err)
	}
	listener, err := listen("tcp", net.JoinHostPort(os.Args[2], os.Args[1]))
	if err != nil {
		log.Fatal(err)
	}
	go accept(listener, h)
	fmt.Fprintln(os.Stderr, "ready")
	h.keep(stop.Done())
	_ = leave()
}

// event is what readers and writers tell the owner of the rooms.
type event struct {
	client  *client
	lines   []line
	read    error // the reader has ended, with io.EOF if the client has closed
	written bool  // the writer has ended; failed is its error
	failed  error
}

func accept(listener net.Listener, h *hall) {
	for {
		conn, err := listener.Accept()
		if err != nil { // no descriptor is left: the next client waits
			time.Sleep(100 * time.Millisecond)
			continue
		}
		c := &client{conn: conn, gone: make(chan struct{})}
		c.queue.some = sync.NewCond(&c.queue.mu)
		if from, err := netip.ParseAddrPort(conn.RemoteAddr().String()); err == nil {
			c.host = from.Addr().Unmap().WithZone("").String()
		}
		if strings.HasPrefix(c.host, ":") {
			c.host = "0" + c.host
		}
		h.events <- event{client: c}
		go read(c, h.events)
		go func() { h.events <- event{client: c, written: true, failed: write(c, h.disk)} }()
	}
}

// line is a parsed line of a client. Wrong is the reason why it is not obeyed.
type line struct {
	verb  string
	words []string
	wrong error
}

var (
	errLong = errors.New("the line is too long")
	errNUL  = errors.New("a line holds NUL")
)

// read passes all lines of one read to the owner. It ends with the connection, and closes it when
// the owner has finished with the client.
func read(c *client, events chan<- event) {
	buf := make([]byte, chunk)
	n, skip := 0, false // n bytes of an unfinished line; skip: it is too long
	for {
		got, err := c.conn.Read(buf[n:])
		n += got
		text := string(buf[:n])
		var lines []line
		for {
			one, rest, ended := strings.Cut(text, "\n")
			tooLong := len(tagged(one))+1 > longest || len(one)-len(tagged(one)) > longTag
			if !ended && !tooLong {
				break
			}
			if l := parse(one, tooLong); !skip && (l.verb != "" || l.wrong != nil) {
				lines = append(lines, l)
			}
			text, skip = rest, !ended
			if !ended {
				break
			}
		}
		n = copy(buf, text)
		if len(lines) > 0 || err != nil {
			events <- event{client: c, lines: lines, read: err}
		}
		if err != nil {
			<-c.gone
			c.conn.Close()
			return
		}
	}
}

// tagged returns the line without its tags, which end at the first blank.
func tagged(text string) string {
	if !strings.HasPrefix(text, "@") {
		return text
	}
	_, after, _ := strings.Cut(text, " ")
	return after
}

func parse(text string, tooLong bool) line {
	switch {
	case strings.IndexByte(text, 0) >= 0:
		return line{wrong: errNUL}
	case tooLong:
		return line{wrong: errLong}
	}
	// ^Some clients would take a CR for the end of the line.
	text = strings.ReplaceAll(strings.TrimSuffix(tagged(text), "\r"), "\r", " ")
	text = strings.TrimLeft(text, " ")
	if strings.HasPrefix(text, ":") { // the client's own source is ignored
		_, text, _ = strings.Cut(text, " ")
		text = strings.TrimLeft(text, " ")
	}
	verb, text, _ := strings.Cut(text, " ")
	l := line{verb: strings.ToUpper(verb)}
	for text = strings.TrimLeft(text, " "); text != ""; text = strings.TrimLeft(text, " ") {
		if text[0] == ':' {
			l.words = append(l.words, text[1:])
			break
		}
		var word string
		word, text, _ = strings.Cut(text, " ")
		l.words = append(l.words, word)
	}
	return l
}

// sendQueue holds what is to be written to one client. The owner of the rooms adds to it, and the
// client's writer empties it.
type sendQueue struct {
	mu      sync.Mutex
	some    *sync.Cond
	bytes   []byte
	stops   []stop
	writing int  // bytes that the writer has taken
	last    bool // nothing more is added
}

// stop is a place at which the writer waits until that many changes are on the disk, and then calls
// do if there is one.
type stop struct {
	at   int
	safe int64
	do   func(io.Writer) error
}

// put returns false if the client has too much unread.
func (q *sendQueue) put(text []byte, safe int64, do func(io.Writer) error) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.last || len(q.bytes)+q.writing+len(text) > held {
		return q.last
	}
	if safe > 0 || do != nil {
		q.stops = append(q.stops, stop{len(q.bytes), safe, do})
	}
	q.bytes = append(q.bytes, text...)
	q.some.Signal()
	return true
}

// end adds the last line, even if the client has too much unread.
func (q *sendQueue) end(text string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.bytes, q.last = append(q.bytes, text...), true
	q.some.Signal()
}

// take waits for something to write.
func (q *sendQueue) take(bytes []byte, stops []stop) ([]byte, []stop) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.writing = 0; len(q.bytes) == 0 && len(q.stops) == 0 && !q.last; {
		q.some.Wait()
	}
	bytes, q.bytes = q.bytes, bytes[:0]
	stops, q.stops = q.stops, stops[:0]
	q.writing = len(bytes)
	return bytes, stops
}

// write is the writer of a client. It writes all that waits at once, until the queue has ended.
func write(c *client, d *disk) error {
	var bytes []byte
	var stops []stop
	for {
		bytes, stops = c.queue.take(bytes, stops)
		if len(bytes) == 0 && len(stops) == 0 {
			return nil
		}
		from := 0
		for _, s := range stops {
			if s.do == nil && d.isSafe(s.safe) {
				continue
			}
			if err := writeAll(c.conn, bytes[from:s.at]); err != nil {
				return err
			}
			from = s.at
			if err := d.wait(s.safe); err != nil {
				return err
			}
			if s.do != nil {
				if err := s.do(c.conn); err != nil {
					return err
				}
			}
		}
		if err := writeAll(c.conn, bytes[from:]); err != nil {
			return err
		}
		clear(stops)
		if cap(bytes) > 64<<10 { // a client that was slow once does not keep it for ever
			bytes = nil
		}
	}
}

func writeAll(to io.Writer, bytes []byte) error {
	if len(bytes) == 0 {
		return nil
	}
	_, err := to.Write(bytes)
	return err
}
