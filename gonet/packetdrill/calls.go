package packetdrill

import (
	"errors"
	"time"

	"interleave/gonet/tcp"
)

// This file has the system calls of scripts: each does what a program of package net does with a
// connection of GoNet, and returns what Linux returns for it.

// file is an open socket.
type file struct {
	cfg      *tcp.Config
	nonblock bool
	buffer   int // bound on written bytes that are not acknowledged
	backlog  []*conn
	conn     *conn // nil for a listener, and before connect
}

// sendBuffer is Linux's largest send buffer by default, in bytes.
const sendBuffer = 4 << 20

// reply is what a call returns.
type reply struct {
	value int64
	errno string
}

func failed(errno string) reply { return reply{-1, errno} }

// attempt tries to finish a call. It returns false if the call must block.
type attempt func() (reply, bool)

// atOnce returns the attempt of a call that never blocks.
func atOnce(value int64) attempt {
	return func() (reply, bool) { return reply{value: value}, true }
}

// waiting is a call that blocks.
type waiting struct {
	call         *Call
	line         int
	started, due tcp.Time
	try          attempt
}

// begin starts a call at its instant. due is when it must return, if it blocks.
func (p *player) begin(c *Call, at, due tcp.Time) error {
	try, err := p.call(c)
	if err != nil {
		return err
	}
	w := &waiting{c, p.line, at, due, try}
	if !c.Blocking {
		w.due = at
	}
	p.waiting = w
	if err := p.settle(); err != nil || p.waiting == nil {
		return err
	}
	if c.Blocking {
		return nil
	}
	p.waiting = nil
	if f := p.file(c); f == nil || !f.nonblock {
		return p.differs("%s blocks", c.Name)
	}
	if c.Name == "connect" {
		return p.check(w, failed("EINPROGRESS"))
	}
	return p.check(w, failed("EAGAIN"))
}

// await lets time pass until the call that blocks has returned.
func (p *player) await() error {
	for w := p.waiting; p.waiting != nil; {
		limit := w.due.Add(p.tolerance(w.due, w.started))
		moved, err := p.step(limit)
		if err != nil {
			return err
		}
		if !moved {
			p.line = w.line
			return p.differs("%s has not returned at %v", w.call.Name, w.due.Sub(p.start))
		}
	}
	return nil
}

// check compares what a call has returned, and when, with the script.
func (p *player) check(w *waiting, r reply) error {
	was := p.line
	p.line = w.line
	defer func() { p.line = was }()
	want := w.call.Result
	if want.Kind == Number && want.Number != r.value ||
		w.call.Errno != "" && w.call.Errno != r.errno {
		return p.differs("%s returned %d %s, want %d %s", w.call.Name, r.value, r.errno,
			want.Number, w.call.Errno)
	}
	tolerance := p.tolerance(w.due, w.started)
	if off := p.now.Sub(w.due); off.Abs() > tolerance {
		return p.differs("%s returned %+.3f s from the instant of the script", w.call.Name,
			off.Seconds())
	}
	return nil
}

// file returns the socket that is the first argument of a call, or nil.
func (p *player) file(c *Call) *file {
	if len(c.Args) == 0 || c.Args[0].Kind != Number {
		return nil
	}
	return p.files[c.Args[0].Number]
}

// arg returns an argument of a call; one that is missing is anything.
func (c *Call) arg(i int) Value {
	if i >= len(c.Args) {
		return Value{}
	}
	return c.Args[i]
}

// call starts a call.
func (p *player) call(c *Call) (attempt, error) {
	if c.Name == "socket" {
		cfg := p.set.cfg
		f := &file{cfg: &cfg, buffer: sendBuffer}
		p.files[c.Result.Number] = f
		return atOnce(c.Result.Number), nil
	}
	f := p.file(c)
	if f == nil {
		return func() (reply, bool) { return failed("EBADF"), true }, nil
	}
	switch c.Name {
	case "bind":
		return atOnce(0), nil
	case "listen":
		p.listener, p.conn = f, nil
		return atOnce(0), nil
	case "accept":
		return p.accept(f, c.Result.Number), nil
	case "connect":
		return p.connect(f), nil
	case "close":
		return p.close(f, c.Args[0].Number), nil
	case "fcntl":
		return fcntl(f, c), nil
	case "setsockopt":
		return f.setOption(c), nil
	case "getsockopt":
		return p.getOption(f, c)
	}
	if f.conn == nil {
		return func() (reply, bool) { return failed("ENOTCONN"), true }, nil
	}
	switch c.Name {
	case "read", "recv", "recvfrom", "recvmsg", "readv":
		return f.read(c.size(), p), nil
	case "write", "send", "sendto", "sendmsg", "writev":
		return f.write(c.size()), nil
	case "shutdown":
		return f.shutdown(c.arg(1).Text), nil
	case "ioctl":
		return p.ioctl(f, c)
	}
	return nil, unsupported("call " + c.Name)
}

func (p *player) accept(l *file, number int64) attempt {
	return func() (reply, bool) {
		for i, c := range l.backlog {
			if c.established {
				l.backlog = append(l.backlog[:i], l.backlog[i+1:]...)
				p.files[number] = &file{cfg: c.cfg, buffer: l.buffer, conn: c}
				return reply{value: number}, true
			}
		}
		return reply{}, false
	}
}

func (p *player) connect(f *file) attempt {
	if f.conn == nil {
		f.conn = &conn{machine: tcp.Dial(f.cfg, iss, p.now), cfg: f.cfg}
		f.conn.numbers.ours = iss
		p.use(f.conn)
	}
	return func() (reply, bool) {
		switch m := f.conn.machine; {
		case m.State() == tcp.Closed:
			return f.conn.failure(), true
		case m.State() >= tcp.Established:
			return reply{}, true
		}
		return reply{}, false
	}
}

// errnos are the names of the machine's errors.
var errnos = map[error]string{
	tcp.ErrReset: "ECONNRESET", tcp.ErrRefused: "ECONNREFUSED", tcp.ErrTimeout: "ETIMEDOUT",
	errUnreachable: "EHOSTUNREACH",
}

// failure returns the error that has ended a connection, once.
func (c *conn) failure() reply {
	for err, errno := range errnos {
		if errors.Is(c.machine.Err(), err) && !c.reported {
			c.reported = true
			return failed(errno)
		}
	}
	return failed("EPIPE")
}

func (p *player) close(f *file, number int64) attempt {
	delete(p.files, number)
	if f == p.listener {
		p.listener = nil
	}
	if f.conn != nil {
		f.conn.closed = true
		f.conn.finish(p.now)
	}
	return atOnce(0)
}

// The flags of fcntl, as numbers of Linux.
const (
	readWrite = 0x2
	nonblock  = 0x800
)

func fcntl(f *file, c *Call) attempt {
	if c.arg(1).Text == "F_GETFL" {
		flags := int64(readWrite)
		if f.nonblock {
			flags |= nonblock
		}
		return atOnce(flags)
	}
	f.nonblock = false
	for _, w := range c.arg(2).words() {
		f.nonblock = f.nonblock || w == "O_NONBLOCK"
	}
	return atOnce(0)
}

func (f *file) read(n int, p *player) attempt {
	return func() (reply, bool) {
		m := f.conn.machine
		got := 0
		buf := make([]byte, min(n, len(zeros)))
		for got < n {
			k := m.Read(buf[:min(n-got, len(buf))], p.now)
			if k == 0 {
				break
			}
			got += k
		}
		switch {
		case got > 0 || n == 0:
			return reply{value: int64(got)}, true
		case m.State() == tcp.Closed && m.Err() != nil && !f.conn.reported:
			return f.conn.failure(), true
		case m.EndOfStream() || m.State() == tcp.Closed || f.conn.readShut:
			return reply{}, true
		}
		return reply{}, false
	}
}

func (f *file) write(n int) attempt {
	done := 0
	return func() (reply, bool) {
		c := f.conn
		if c.machine.State() == tcp.Closed {
			return c.failure(), true
		}
		if c.machine.Finished() || c.shut {
			return failed("EPIPE"), true
		}
		room := max(f.buffer-c.machine.Info().Unacked-c.unsent, 0)
		took := min(n-done, room)
		c.unsent += took
		done += took
		return reply{value: int64(done)}, done == n || f.nonblock && done > 0
	}
}

func (f *file) shutdown(how string) attempt {
	if how != "SHUT_WR" {
		f.conn.readShut = true
		f.conn.machine.CloseRead()
	}
	if how != "SHUT_RD" {
		f.conn.shut = true
	}
	return atOnce(0)
}

// ioctl compares the bytes that can be read with those of the script.
func (p *player) ioctl(f *file, c *Call) (attempt, error) {
	want := c.arg(2)
	if got := f.conn.machine.Readable(); len(want.List) > 0 && want.List[0].Number != int64(got) {
		return nil, p.differs("%d bytes can be read, want %d", got, want.List[0].Number)
	}
	return atOnce(0), nil
}

// size returns the number of bytes that a call reads or writes.
func (c *Call) size() int {
	if c.Name != "sendmsg" && c.Name != "recvmsg" && c.Name != "writev" && c.Name != "readv" {
		return int(c.arg(2).Number)
	}
	pieces := c.arg(1)
	if pieces.Kind == Record {
		pieces, _ = pieces.field("msg_iov")
	}
	n := 0
	for _, piece := range pieces.List {
		if len(piece.List) == 2 {
			n += int(piece.List[1].Number)
		}
	}
	return n
}

// millis returns an option's value in milliseconds as a duration.
func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
