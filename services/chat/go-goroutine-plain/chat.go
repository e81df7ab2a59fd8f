// Chat, goroutines that talk: one that owns the rooms and the log, and for each client one that
// reads and one that writes. What is said passes one channel, so that its order is that of the log;
// whoever owns the rooms takes all that waits there, writes it to the log at once and puts it into
// the writers' boxes without waiting for anybody.
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
	// bytes of one read: a line with tags, or many without. A guess
	chunk = 8 << 10
	// reads that wait for the owner of the rooms, and go into the log at once. A guess
	waiting = 64
	// for a client that has left to read what it has still to be told. A guess
	linger  = 5 * time.Second
	leaving = 700 * time.Millisecond // for all clients, when the server ends. A guess
)

// What a stack of the program's own does in the kernel's place: gonet.go.
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
	read    error // the reader has ended: io.EOF if the client has, in order
	written bool  // the writer has ended, with failed if not all was written
	failed  error
}

func accept(listener net.Listener, h *hall) {
	for {
		conn, err := listener.Accept()
		if err != nil { // out of descriptors: those who are here go on, the next waits
			time.Sleep(100 * time.Millisecond)
			continue
		}
		c := &client{conn: conn, gone: make(chan struct{})}
		c.box.some = sync.NewCond(&c.box.mu)
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

// line is what a client says, in words. Wrong is the reason why it is not obeyed.
type line struct {
	verb  string
	words []string
	wrong error
}

var (
	errLong = errors.New("the line is too long")
	errNUL  = errors.New("a line holds NUL")
)

// read gives the owner all lines of one read at a time. It ends with the connection, and closes it
// once the owner is done.
func read(c *client, events chan<- event) {
	buf := make([]byte, chunk)
	n, skip := 0, false // bytes of a line that has not ended; of one that was too long
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

// tagged is the line without its tags, which end at the first blank.
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
	// some clients would take one for the end of a line
	text = strings.ReplaceAll(strings.TrimSuffix(tagged(text), "\r"), "\r", " ")
	text = strings.TrimLeft(text, " ")
	if strings.HasPrefix(text, ":") { // a client's word for its own name says nothing
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

// box holds what is to be written to one client: the owner of the rooms puts it in, its
// writer empties it.
type box struct {
	mu      sync.Mutex
	some    *sync.Cond
	bytes   []byte
	stops   []stop
	writing int  // bytes that the writer has taken
	last    bool // nothing more comes
}

// stop is where the writer waits until the disk has so many changes, and does something if there is
// anything to do.
type stop struct {
	at   int
	safe int64
	do   func(io.Writer) error
}

// put tells whether the client holds no more than it may.
func (b *box) put(text []byte, safe int64, do func(io.Writer) error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last || len(b.bytes)+b.writing+len(text) > held {
		return b.last
	}
	if safe > 0 || do != nil {
		b.stops = append(b.stops, stop{len(b.bytes), safe, do})
	}
	b.bytes = append(b.bytes, text...)
	b.some.Signal()
	return true
}

// end has the last words said, even to a client that holds too much.
func (b *box) end(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bytes, b.last = append(b.bytes, text...), true
	b.some.Signal()
}

// take waits for something to write.
func (b *box) take(bytes []byte, stops []stop) ([]byte, []stop) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.writing = 0; len(b.bytes) == 0 && len(b.stops) == 0 && !b.last; {
		b.some.Wait()
	}
	bytes, b.bytes = b.bytes, bytes[:0]
	stops, b.stops = b.stops, stops[:0]
	b.writing = len(bytes)
	return bytes, stops
}

// write is the writer of a client: all that waits goes out at once, until the end.
func write(c *client, d *disk) error {
	var bytes []byte
	var stops []stop
	for {
		bytes, stops = c.box.take(bytes, stops)
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
		if cap(bytes) > 64<<10 { // a client that was slow once does not hold it for ever
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
