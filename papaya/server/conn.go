package server

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"interleave/papaya/batch"
	"interleave/papaya/hall"
)

// chunkSize is in bytes: the most that is read from a client at once, and so the most of one client
// that may wait for the log.
const chunkSize = 16 << 10

// closeTimeout is how long a client that is being disconnected has to take its last lines.
const closeTimeout = time.Second

var chunks = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// A conn is one client. It has a goroutine that reads, and another one only while there is
// something to write.
type conn struct {
	hall.Client
	server *server
	net    net.Conn
	// raw is nil unless the connection is a kernel socket. The server writes several pieces to such
	// a socket at once, so lines of a room need not be copied.
	raw    syscall.RawConn
	leave  func()
	resume chan struct{} // the reader may go on: its lines are done
	wait   time.Duration // how long the reader must pause then

	// The goroutine that owns the hall uses these fields.
	stage  *sendQueue // lines since the last flush; nil if there are none
	slow   bool       // lines to this client wait until it has read more, or for pauseFor
	slowAt time.Duration
	waited time.Duration // the time that others have waited for this client since it last kept up
	dirty  bool
	waits  bool         // lines that are staged wait for the next tick: see rush.go
	queue  batch.Client // of its lines that wait for the log
	began  time.Time
	heard  time.Time
	// askedAt is when it was sent a PING after a silence, since the server's start; 0: it was not.
	// The time to answer begins there: while the server stood still, it has asked nobody.
	askedAt time.Duration
	// owesSince is when it was sent the first message that it has not confirmed, since the server's
	// start; 0: it has confirmed all, or was asked.
	owesSince time.Duration
	left      bool     // it has sent QUIT or NUL, after which no line is obeyed
	ending    bool     // its further lines are ignored
	last      bool     // nothing follows what is staged
	reading   bool     // its reader waits for resume
	scram     Exchange // a login that has begun
	held      []line   // those that wait while it is busy

	mu       sync.Mutex
	out      *sendQueue
	inFlight int // bytes that are being written now
	writing  bool
	ended    bool // to be closed after the last write
	shut     bool // it was too slow: nothing more is queued
	cut      bool // nothing more is written
	done     bool // the reader has ended
}

// Write implements hall.Sink. Only the goroutine that owns the hall calls the methods of hall.Sink.
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

// staged returns the queue to which a line for this client is added.
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

// flush moves the staged lines to the send queue, and returns how many bytes wait for the client.
// ok is false if the client has read too little for too long: it is then cut off.
func (c *conn) flush(limit int) (waiting int, ok bool) {
	start := false
	defer func() {
		if start {
			c.server.scheduleWrite(c)
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
		c.out.write([]byte("ERROR :You read too slowly\r\n"))
		c.ended, c.shut, ok = true, true, false
	}
	if c.ended && c.writing {
		c.limitWrite() // a write may be waiting for the client
	}
	if !c.writing && (c.out != nil || c.ended) {
		c.writing, start = true, true
	}
	return waiting, ok
}

// limitWrite bounds the last writes. The time begins when a writer begins: the last lines of a
// client that reads are not lost when the writer gets no core for that long.
func (c *conn) limitWrite() { _ = c.net.SetWriteDeadline(time.Now().Add(closeTimeout)) }

// finish closes the connection. If the reader still runs, finish closes only the sending side, and
// the reader takes what the client is sending. A close with unread bytes would reset the
// connection, and the client would lose its last lines.
func (c *conn) finish() {
	half, ok := c.net.(interface{ CloseWrite() error })
	if c.done || c.cut || !ok || half.CloseWrite() != nil {
		c.cut = true
		c.net.Close()
		return
	}
	c.cut = true
	_ = c.net.SetReadDeadline(time.Now().Add(closeTimeout))
}

// wake lets the reader go on.
func (c *conn) wake() {
	if c.reading {
		c.reading = false
		c.resume <- struct{}{}
	}
}

// read reads until the connection ends, and submits the lines. Before it waits it calls nothing
// that needs more than 2 KiB of stack. The stacks of ten thousand idle clients therefore do not
// grow.
func (c *conn) read() {
	split := splitter{utf8: c.server.config.UTF8Only}
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
			c.submit(lines)
		}
	}
	c.readerDone(errors.Is(err, io.EOF))
}

// readerDone tells the goroutine that owns the hall that the connection has ended.
func (c *conn) readerDone(inOrder bool) {
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

// linesAtOnce is how many lines of a client are submitted together if Config.Say counts them.
const linesAtOnce = 8

// submit hands lines to the goroutine that owns the hall, and pauses if the client has sent more
// than it may.
func (c *conn) submit(lines []line) {
	for len(lines) > 0 {
		n := len(lines)
		if c.server.config.Say != nil {
			n = min(n, linesAtOnce)
		}
		c.server.events <- event{conn: c, lines: lines[:n]}
		<-c.resume
		lines = lines[n:]
		if c.wait > 0 {
			c.pause(c.wait)
		}
	}
}

// pauseStep is how soon a reader that pauses notices that its connection has ended.
const pauseStep = 250 * time.Millisecond

// pause waits for d, or until the connection has ended.
func (c *conn) pause(d time.Duration) {
	for d > 0 {
		c.mu.Lock()
		over := c.ended || c.cut
		c.mu.Unlock()
		if over {
			return
		}
		time.Sleep(min(d, pauseStep))
		d -= pauseStep
	}
}

// A reader reads what the kernel has received. It takes a buffer from the pool only when there is
// something to read.
type reader struct {
	chunk  *[chunkSize]byte
	n      int
	failed error
	try    func(uintptr) bool
}

// wait waits for data and reads it into a chunk. An error may come together with data; it is io.EOF
// at the end.
func (r *reader) wait(raw syscall.RawConn) error {
	if r.try == nil {
		r.try = r.read // one allocation, not one for each read
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

// give returns the chunk to the pool.
func (r *reader) give() {
	chunks.Put(r.chunk)
	r.chunk = nil
}

// readNow reads from a non-blocking descriptor. It does not tell the scheduler, which would wake
// another thread for each call.
func readNow(fd uintptr, b []byte) (int, error) {
	n, _, failed := syscall.RawSyscall(syscall.SYS_READ, fd,
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	if failed != 0 {
		return 0, failed
	}
	return int(n), nil
}

// readSmall reads from a connection that is no kernel socket: TLS, a WebSocket, GoNet. Such a
// connection cannot say beforehand whether there is something to read, so the buffer is small.
func (c *conn) readSmall(split *splitter) ([]line, error) {
	var small [512]byte
	n, err := c.net.Read(small[:])
	return split.split(small[:n], nil), err
}
