package server

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"interleave/papaya/hall"
)

// chunkSize is in bytes: what is read of one client at once, and may be on its way to the log.
const chunkSize = 16 << 10

// lastWords is how long a client that is ended has to take what was written for it.
const lastWords = time.Second

var chunks = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// A conn is one client: a goroutine that reads, and one that writes while there is
// something to write.
type conn struct {
	hall.Client
	server *server
	net    net.Conn
	// of a connection that is the kernel's, else nil: several pieces can be written at once, so
	// lines of a room need not be copied
	raw    syscall.RawConn
	leave  func()
	resume chan struct{} // the reader may go on: all it has read is done
	wait   time.Duration // how long the reader rests, once it may go on

	// Of the owner of the hall.
	stage   *sendQueue // what the hall has said since the last flush; nil if nothing
	late    bool       // lines to it wait until it has read more, or it has not for some time
	lateAt  time.Duration
	waited  time.Duration // for it, since it was last seen to keep up
	dirty   bool
	pending int // lines on their way to the log, and those behind them
	began   time.Time
	queued  int // of them, those for the log that do not fly yet
	heard   time.Time
	probed  bool // it was silent, and asked whether it is there
	ending  bool // no line of it counts any more
	last    bool // nothing comes behind what is staged
	reading bool // its reader waits for resume

	mu       sync.Mutex
	out      *sendQueue
	inFlight int // bytes that are being written
	writing  bool
	ended    bool // to be closed behind what is written
	shut     bool // it was cut off, so nothing is added
	cut      bool // nothing more is written
	done     bool // the reader has ended
}

// Write implements hall.Sink. It is called by the owner of the hall, as Share, Waiting and End are.
func (c *conn) Write(line []byte) {
	c.staged().write(line)
}

// Share implements hall.Sink.
func (c *conn) Share(run *hall.Run, from, to int) {
	if c.raw != nil {
		c.staged().extend(run, from, to)
	} else {
		c.staged().write(run.Part(from, to))
	}
}

// staged is where a line for this client goes.
func (c *conn) staged() *sendQueue {
	if c.stage == nil {
		c.stage = newSendQueue()
	}
	c.server.delivered++
	c.touch()
	return c.stage
}

func (c *conn) touch() {
	if !c.dirty {
		c.dirty = true
		c.server.dirty = append(c.server.dirty, c)
	}
}

// Waiting implements hall.Sink.
func (c *conn) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stage.waiting() + c.out.waiting() + c.inFlight
}

// End implements hall.Sink.
func (c *conn) End() {
	c.last = true
	c.touch()
	c.wake()
}

// flush hands over what was staged to the writer, and says how much waits for the client; false if
// it has not read for too long, and was cut off.
func (c *conn) flush(limit int) (waiting int, ok bool) {
	start := false
	defer func() {
		if start {
			c.server.hand(c)
		}
	}()
	c.dirty = false
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = c.ended || c.last
	stage := c.stage
	c.stage = nil
	switch {
	case c.cut || c.shut:
		stage.release()
		if c.cut && c.ended && !c.writing {
			c.net.Close()
		}
		return 0, true
	case stage == nil:
	case c.out == nil && stage.alone():
		c.out = stage
	default:
		if c.out == nil {
			c.out = newSendQueue()
		}
		c.out.add(stage)
		stage.release()
	}
	waiting, ok = c.out.waiting()+c.inFlight, true
	if waiting > limit {
		c.out.release()
		c.out = newSendQueue()
		c.out.write([]byte("ERROR :You do not read what is sent to you\r\n"))
		c.ended, c.shut, ok = true, true, false
	}
	if c.ended {
		_ = c.net.SetWriteDeadline(time.Now().Add(lastWords))
	}
	if !c.writing && (c.out != nil || c.ended) {
		c.writing, start = true, true
	}
	return waiting, ok
}

// finish closes the connection. A reader that is still there takes what the client may be sending,
// for a while: a close with bytes unread would take from the client what was sent to it last.
func (c *conn) finish() {
	half, ok := c.net.(interface{ CloseWrite() error })
	if c.done || c.cut || !ok || half.CloseWrite() != nil {
		c.cut = true
		c.net.Close()
		return
	}
	c.cut = true
	_ = c.net.SetReadDeadline(time.Now().Add(lastWords))
}

// wake lets the reader go on.
func (c *conn) wake() {
	if c.reading {
		c.reading = false
		c.resume <- struct{}{}
	}
}

// read reads until the client has ended or says too much, and tells the owner of the hall. Nothing
// it calls before it waits needs more than a stack of 2 KiB, which most of ten thousand clients who
// say little then never outgrow.
func (c *conn) read() {
	var split splitter
	r := reader{}
	err := error(nil)
	for err == nil {
		var lines []line // an idle client holds none
		if c.raw == nil {
			lines, err = c.readSmall(&split)
		} else if err = r.wait(c.raw); r.chunk != nil {
			lines = split.split(r.chunk[:r.n], nil)
			r.give()
		}
		if len(lines) > 0 {
			c.say(lines)
		}
	}
	c.over(errors.Is(err, io.EOF))
}

// over tells the owner of the hall that the client has ended.
func (c *conn) over(inOrder bool) {
	c.server.events <- event{conn: c, end: true, inOrder: inOrder}
	c.mu.Lock()
	c.done = true
	if c.cut {
		c.net.Close()
	}
	c.mu.Unlock()
	if c.leave != nil {
		c.leave()
	}
}

// sayAtOnce is how many lines of a client go to the owner of the hall together where
// lines are counted.
const sayAtOnce = 8

// say hands over what was read, and rests if that was more than the client may say.
func (c *conn) say(lines []line) {
	for len(lines) > 0 {
		n := len(lines)
		if c.server.config.Say != nil {
			n = min(n, sayAtOnce)
		}
		c.server.events <- event{conn: c, lines: lines[:n]}
		<-c.resume
		lines = lines[n:]
		if c.wait > 0 {
			c.sleep(c.wait)
		}
	}
}

// restStep is how soon a reader that rests sees that its connection has ended.
const restStep = 250 * time.Millisecond

// sleep waits, but not for longer than the connection is there.
func (c *conn) sleep(d time.Duration) {
	for d > 0 {
		c.mu.Lock()
		over := c.ended || c.cut
		c.mu.Unlock()
		if over {
			return
		}
		time.Sleep(min(d, restStep))
		d -= restStep
	}
}

// A reader reads what there is. It holds a buffer only once there is something to read.
type reader struct {
	chunk  *[chunkSize]byte
	n      int
	failed error
	try    func(uintptr) bool
}

// wait waits until there is something to read, and reads it into a chunk; the error comes with what
// was read before it, or io.EOF.
func (r *reader) wait(raw syscall.RawConn) error {
	if r.try == nil {
		r.try = r.read // once, not for each time
	}
	if err := raw.Read(r.try); err != nil {
		return err
	}
	if r.failed == nil && r.n == 0 {
		return io.EOF
	}
	return r.failed
}

func (r *reader) read(fd uintptr) bool {
	r.chunk = chunks.Get().(*[chunkSize]byte)
	for {
		r.n, r.failed = readNow(fd, r.chunk[:])
		switch {
		case errors.Is(r.failed, syscall.EAGAIN):
			r.give()
			return false
		case !errors.Is(r.failed, syscall.EINTR):
			return true
		}
	}
}

// give gives the chunk back.
func (r *reader) give() {
	chunks.Put(r.chunk)
	r.chunk = nil
}

// readNow reads from a descriptor that does not block, so the scheduler need not hear of it: each
// time it does, it wakes a thread to watch.
func readNow(fd uintptr, b []byte) (int, error) {
	n, _, failed := syscall.RawSyscall(syscall.SYS_READ, fd,
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	if failed != 0 {
		return 0, failed
	}
	return int(n), nil
}

// readSmall is for connections that say nothing before they have read: of TLS, of WebSockets, of a
// stack that is not the kernel's.
func (c *conn) readSmall(split *splitter) ([]line, error) {
	var small [512]byte
	n, err := c.net.Read(small[:])
	return split.split(small[:n], nil), err
}
