package load

// Streams: each connection asks once, and hears a text a second from then on. Nothing is sent while
// the engine measures; what it measures is how late each text comes. The connections are opened at
// a given rate, for that is what the source's plots begin with.

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"interleave/internal/manifest"
	"interleave/internal/proc"
)

const (
	// secondOfStream is between two texts.
	secondOfStream = int64(time.Second)
	// earlyStream is what a text may come before its second, as services/stream/README.md has it.
	earlyStream = int64(50 * time.Millisecond)
	// greetTime is how long no connection may be greeted before those that wait are given up, a
	// guess: a SYN that a full backlog dropped is sent again after 1, 3 and 7 s.
	greetTime = 10 * time.Second
	// mostUngreeted is how many of all threads' connections are not greeted at once: a quarter of a
	// listener's longest backlog.
	mostUngreeted = 1024
	// mostOpened is the highest rate of a ramp, connections a second: more than any kernel
	// makes on two cores.
	mostOpened = 1_000_000
	// leastMemory must be available while connections are made, or an eighth of the machine's
	// memory if that is less: a kernel without memory kills a process.
	leastMemory = int64(2 << 30)
	// lookAtMemory is how often that is looked at.
	lookAtMemory = int64(100 * time.Millisecond)
)

// StreamDrainTime is for texts that were due in the window and come after it: a server with more
// streams than it can serve each second is late by as many seconds as it takes.
const StreamDrainTime = 30 * time.Second

// The kinds of error that only streams have.
const (
	Early    = "early"  // a text came before its second
	NoMemory = "memory" // this machine's was about to end
)

func init() {
	speak(manifest.Stream, protocol{
		family: streamFamily,
		apart:  true,
		shapes: []manifest.Shape{manifest.Streams},
		validate: func(p *Plan) error {
			switch l := &p.Load; {
			case !(l.Rate > 0 && l.Rate <= mostOpened):
				return fmt.Errorf("rate is %v connections a second, want more than 0 and at most "+
					"%d", l.Rate, mostOpened)
			case l.Requests > 0 || p.Window == 0:
				return errors.New("streams end with the window: they have no requests")
			case l.Pipeline > 1:
				return errors.New("pipeline is set, but a stream is asked for once")
			}
			return nil
		},
		prepare: func(p *Plan) (job, error) { return independent(newStreams), nil },
		offer:   offerStreams,
	})
}

// A streamClient is what a connection knows of its stream: 56 bytes.
type streamClient struct {
	asked int64  // when
	base  int64  // when the greeting came; or earlier, where a later text shows that it came late
	next  uint32 // the number of the text that is expected; 0 = the greeting
	at    uint16 // bytes of it that have come
	begun bool   // the head of the answer has come
	body  chunks
}

// streams drives the connections of one thread.
type streams struct {
	base
	clients []streamClient
	heads   map[int32][]byte // beginnings of heads that came in parts: hardly any
	stamps  stamps
	settled int   // connections that have been greeted, or given up before
	owed    int64 // after the window: texts that were due in it and have not come
	request []byte
	text    []byte // what is expected
	since   int64  // when the first connection was opened
	looked  int64  // when the memory was last looked at
}

func newStreams(w *worker) driver {
	return &streams{
		base: base{w}, clients: make([]streamClient, len(w.conns)), heads: map[int32][]byte{},
		stamps: newStamps(len(w.conns)), request: make([]byte, 0, 128), text: make([]byte, 0, 128),
	}
}

// connect opens the connections at the load's rate and returns when all are greeted. Those that are
// hear their texts meanwhile. A server that is slower than the rate is waited for, for its queue
// must not overflow.
func (s *streams) connect(limitAt int64) {
	s.since = nanotime()
	s.looked = s.since
	s.admit(s, limitAt)
}

func (s *streams) admits(begun, waiting int) bool {
	parts := s.shared.parts
	allowed := 1 + int(s.plan.Load.Rate/float64(parts)*float64(s.now-s.since)/1e9)
	return begun < allowed && waiting < max(1, mostUngreeted/parts)
}

func (s *streams) waiting(begun int) int { return begun - s.settled }

func (s *streams) hopeless(begun int, quiet int64) bool {
	if s.now > s.looked+lookAtMemory {
		s.looked = s.now
		if !s.memoryLeft(begun) {
			return true
		}
	}
	return quiet > int64(greetTime)
}

// memoryLeft tells whether there is memory for more connections.
func (s *streams) memoryLeft(begun int) bool {
	available, total, ok := proc.ParseMemory(new(proc.Reader).Path("/proc/meminfo"))
	if !ok || available >= min(leastMemory, total/8) {
		return true
	}
	s.faults.add(NoMemory, 1,
		"%d MiB of memory are left with %d connections of a thread made: no more are",
		available>>20, begun)
	return false
}

// giveUp gives up the connections that have not been greeted, and those that have not been opened.
func (s *streams) giveUp() {
	for i := range s.conns {
		if c := &s.conns[i]; c.state != connDead && s.clients[i].next == 0 {
			c.state = max(c.state, connConnecting)
			s.fail(c, "connect "+errnoName(unix.ETIMEDOUT),
				"connection %d to %v was not greeted: none was for %v, or the time was over", c.id,
				s.plan.Addr, greetTime)
		}
	}
}

// connected sends the one request of a connection, which a new socket takes whole.
func (s *streams) connected(c *conn) {
	if s.stamps.of(c) {
		if err := s.stamps.ask(c); err != nil {
			s.failConnect(c, err)
			return
		}
	}
	p := append(s.request[:0], "GET /test/"...)
	p = strconv.AppendUint(p, uint64(c.id), 10)
	p = append(p, " HTTP/1.1\r\nHost: stream\r\n\r\n"...)
	s.clients[c.index].asked = nanotime()
	n, e := rawWrite(c.fd, p)
	s.bytesOut += int64(max(0, n))
	if e != 0 || n < len(p) {
		s.fail(c, ioKind(e), "connection %d, asking: %d of %d bytes sent: %v", c.id, n, len(p), e)
	}
}

func (s *streams) start() {} // each has asked

func (s *streams) send(*conn) {} // nothing is issued

func (s *streams) ready(c *conn, events uint32) {
	if events&readable != 0 {
		s.read(s, c, events)
	}
}

// receive reads once.
func (s *streams) receive(c *conn) (int, unix.Errno) {
	if s.stamps.of(c) {
		return s.receiveStamped(c)
	}
	return rawRead(c.fd, s.in)
}

func (s *streams) awaited(c *conn) string { return fmt.Sprintf("text %d", s.clients[c.index].next) }

func (s *streams) endOfFile(c *conn) {
	s.fail(c, Ended, "connection %d: the server ended it before %s", c.id, s.awaited(c))
}

// arrived reads what follows the bytes that c has received.
func (s *streams) arrived(c *conn, p []byte) {
	l := &s.clients[c.index]
	if !l.begun {
		var ok bool
		if p, ok = s.readHead(c, l, p); !ok {
			return
		}
	}
	for len(p) > 0 {
		data, used, over, ok := l.body.next(p)
		p = p[used:]
		switch {
		case !ok:
			s.fail(c, WrongReply, "connection %d, text %d: the coding is wrong", c.id, l.next)
			return
		case over:
			s.fail(c, Ended, "connection %d: the server ended the stream before text %d", c.id,
				l.next)
			return
		case len(data) == 0:
			continue
		}
		want := s.wantedText(c, l)
		at := int(l.at)
		if len(data) > len(want)-at || !bytes.Equal(data, want[at:at+len(data)]) {
			s.fail(c, WrongReply, "connection %d: got %.80q, want %q", c.id, data, want[at:])
			return
		}
		l.at += uint16(len(data))
		ends, whole := l.body.state != chunkData, int(l.at) == len(want)
		if ends != whole {
			s.fail(c, WrongReply, "connection %d, text %d: it is not one chunk of the coding", c.id,
				l.next)
			return
		}
		if whole {
			s.noteText(c, l)
			if c.state != connOpen {
				return
			}
		}
	}
}

// readHead reads the head of the answer and returns what follows it.
func (s *streams) readHead(c *conn, l *streamClient, p []byte) (rest []byte, ok bool) {
	if begun := s.heads[c.index]; begun != nil {
		p = append(begun, p...)
	}
	var a answer
	n, fault := a.parse(p)
	switch {
	case fault != "":
		s.fail(c, WrongReply, "connection %d: %s", c.id, fault)
	case n == 0:
		s.heads[c.index] = bytes.Clone(p) // parse refuses what is too long
	case a.status != 200:
		s.fail(c, Refused, "connection %d was answered with status %d", c.id, a.status)
	case !a.chunked:
		s.fail(c, WrongReply, "connection %d: the answer is not chunked", c.id)
	default:
		l.begun = true
		delete(s.heads, c.index)
		return p[n:], true
	}
	return nil, false
}

// wantedText is the text that a connection expects.
func (s *streams) wantedText(c *conn, l *streamClient) []byte {
	p := s.text[:0]
	if l.next == 0 {
		p = append(p, "Goconntest welcomes you! Your Id: /test/"...)
	} else {
		p = append(p, "Chunk "...)
		p = strconv.AppendUint(p, uint64(l.next), 10)
		p = append(p, " for id /test/"...)
	}
	p = strconv.AppendUint(p, uint64(c.id), 10)
	s.text = append(p, '\n')
	return s.text
}

// noteText records that a text is whole. Its lateness counts from the second that it was due at;
// the first second of a stream is the earliest that any of its texts speaks for, so that a late
// greeting makes no text early.
func (s *streams) noteText(c *conn, l *streamClient) {
	n := int64(l.next)
	l.next, l.at = l.next+1, 0
	if n == 0 {
		l.base = s.now
		s.settled++
		s.service.Record(s.now - l.asked)
		return
	}
	if before := l.asked + n*secondOfStream - s.now; before > earlyStream {
		s.fail(c, Early, "connection %d: text %d came %v before its second", c.id, n,
			time.Duration(before))
		return
	}
	l.base = min(l.base, s.now-n*secondOfStream)
	s.count(1)
	if due := l.base + n*secondOfStream; s.inWindow(due) {
		s.latency.Record(s.now - due)
		if s.stage == stageDrain {
			s.owed--
		}
	}
}

func (s *streams) drainTime() time.Duration {
	if s.closedAt == 0 { // there was no window
		return s.base.drainTime()
	}
	return cmp.Or(s.plan.Drain, StreamDrainTime)
}

// closed counts what was due in the window and what of that is still to come.
func (s *streams) closed() {
	if s.closedAt == 0 {
		return
	}
	s.owed = 0
	for i := range s.conns {
		l := &s.clients[i]
		if s.conns[i].state != connOpen {
			continue
		}
		// number of the last text due before closeAt
		last := (s.closeAt - l.base - 1) / secondOfStream
		first := max(0, s.openAt-l.base-1) / secondOfStream
		s.offered += max(0, last-first)
		s.owed += max(0, last+1-max(int64(l.next), first+1))
	}
}

func (s *streams) drained() bool { return s.owed <= 0 }

// expire gives the connections up whose texts have not come.
func (s *streams) expire() {
	for i := range s.conns {
		c, l := &s.conns[i], &s.clients[i]
		if c.state != connOpen || l.base+int64(l.next)*secondOfStream >= s.closeAt {
			continue
		}
		s.fail(c, Timeout, "connection %d: text %d had not come %v after the window", c.id, l.next,
			s.drainTime())
	}
}

func (s *streams) lost(c *conn) {
	if s.clients[c.index].next == 0 {
		s.settled++
	}
}

func (s *streams) part() Part {
	return &Streams{Texts: s.served, Total: s.total, Offered: s.offered, BytesOut: s.windowOut,
		BytesIn: s.windowIn, Delay: &s.latency, Greeting: &s.service, Waited: &s.late}
}
