package load

// Streams: each connection asks once, and hears a text a second from then on. Nothing is sent while the engine measures; what
// it measures is how late each text comes. The connections are opened at a given rate, for that is what the source's plots
// begin with.

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
	// greetTime is how long nobody may be greeted before those who wait are given up, a guess: a SYN that a full backlog
	// dropped is sent again after 1, 3 and 7 s.
	greetTime = 10 * time.Second
	// atTheGate is how many of all threads' connections are under way at once: a quarter of a listener's longest backlog.
	atTheGate = 1024
	// mostOpened is the highest rate of a ramp, connections a second: more than any kernel makes on two cores.
	mostOpened = 1_000_000
	// leastMemory is what must be to be had while connections are made, or an eighth of the machine's if that is less: a
	// kernel without memory kills somebody.
	leastMemory = int64(2 << 30)
	// lookAtMemory is how often that is looked at.
	lookAtMemory = int64(100 * time.Millisecond)
)

// StreamDrainTime is for texts that were due in the window and come after it: a server with more streams than it can serve each
// second is late by as many seconds as it takes.
const StreamDrainTime = 30 * time.Second

// streamDrainTime is for texts that were due in the window.
func (w *worker) streamDrainTime() time.Duration { return cmp.Or(w.plan.Drain, StreamDrainTime) }

// A hearer is what a connection knows of its stream, beside c.turnBegins, when it has asked: 48 bytes.
type hearer struct {
	base  int64  // when the greeting came; or earlier, where a later text shows that it came late
	next  uint32 // the number of the text that is expected; 0 = the greeting
	at    uint16 // bytes of it that have come
	heard bool   // the head has
	body  chunks
}

// streams is a thread's part of such a load. It is the protocol of its requests, of which there are none to count.
type streams struct {
	hearing []hearer
	heads   map[int32][]byte // beginnings of heads that came in parts: hardly any
	stamps  stamps
	waiting int   // connections begun and not greeted
	late    int64 // after the window: texts that were due in it and have not come
	request []byte
	text    []byte // what is expected
}

// The kinds of error that only streams have.
const (
	Early    = "early"  // a text came before its second
	NoMemory = "memory" // this machine's was about to end
)

func newStreams(n int) *streams {
	return &streams{
		hearing: make([]hearer, n), heads: map[int32][]byte{}, stamps: newStamps(n),
		request: make([]byte, 0, 128), text: make([]byte, 0, 128),
	}
}

func (p *Plan) validateStreams() error {
	switch l := &p.Load; {
	case l.Shape != manifest.Streams:
		return fmt.Errorf("shape is %q, but streams are loaded by stream", l.Shape)
	case !(l.Rate > 0 && l.Rate <= mostOpened):
		return fmt.Errorf("rate is %v connections a second, want more than 0 and at most %d", l.Rate, mostOpened)
	case l.Requests > 0 || p.Window == 0:
		return errors.New("streams end with the window: they have no requests")
	case l.Pipeline > 1:
		return errors.New("pipeline is set, but a stream is asked for once")
	}
	return nil
}

func (s *streams) requestBytes() uint64 { return 1 }

func (s *streams) fill(*conn, []byte) {}

func (s *streams) increments(*conn, uint64) uint64 { return 0 }

func (s *streams) check(*conn, []byte) (int, string) { return 0, Extra }

// streamRamp says how many connections may have been begun by now.
func (w *worker) streamRamp(since int64) int {
	return int(w.plan.Load.Rate / float64(w.shared.parts) * float64(w.now-since) / 1e9)
}

// connectStreams opens the connections at the load's rate and returns when all are greeted. Those that are hear their texts
// meanwhile. A server that is slower than the rate is waited for, for its queue must not overflow.
func (w *worker) connectStreams(limitAt int64) {
	s, start := w.stream, nanotime()
	gate := max(1, atTheGate/w.shared.parts)
	begun, waited, moved, looked := 0, 0, start, start
	for {
		w.now = nanotime()
		if w.now > looked+lookAtMemory {
			if looked = w.now; !w.memoryLeft(begun) {
				w.giveUpGreetings()
				return
			}
		}
		for ; begun < min(len(w.conns), 1+w.streamRamp(start)) && s.waiting < gate; begun++ {
			c := &w.conns[begun]
			s.waiting++
			w.open(c)
			if c.state == connOpen {
				w.askForStream(c)
			}
		}
		if begun+s.waiting != waited { // somebody has come, or was greeted
			waited, moved = begun+s.waiting, w.now
		}
		if begun == len(w.conns) && s.waiting == 0 {
			return
		}
		if w.now > limitAt || w.now > moved+int64(greetTime) {
			w.giveUpGreetings()
			return
		}
		if !w.listenAWhile() {
			return
		}
	}
}

// memoryLeft tells whether there is memory for more connections.
func (w *worker) memoryLeft(begun int) bool {
	available, total, ok := proc.ParseMemory(new(proc.Reader).Path("/proc/meminfo"))
	if !ok || available >= min(leastMemory, total/8) {
		return true
	}
	w.faults.add(NoMemory, 1, "%d MiB of memory are left with %d connections of a thread made: no more are", available>>20, begun)
	return false
}

func (w *worker) giveUpGreetings() {
	for i := range w.conns {
		if c := &w.conns[i]; c.state != connDead && w.stream.hearing[i].next == 0 {
			c.state = max(c.state, connConnecting)
			w.fail(c, "connect "+errnoName(unix.ETIMEDOUT), "connection %d to %v was not greeted: nobody was for %v, or the time was over", c.id, w.plan.Addr, greetTime)
		}
	}
}

// askForStream sends the one request of a connection, which a new socket takes whole.
func (w *worker) askForStream(c *conn) {
	if w.stream.stamps.of(c) {
		if err := w.stream.stamps.ask(c); err != nil {
			w.failConnect(c, err)
			return
		}
	}
	p := append(w.stream.request[:0], "GET /test/"...)
	p = strconv.AppendUint(p, uint64(c.id), 10)
	p = append(p, " HTTP/1.1\r\nHost: stream\r\n\r\n"...)
	c.turnBegins = nanotime()
	n, e := rawWrite(c.fd, p)
	w.bytesOut += int64(max(0, n))
	if e != 0 || n < len(p) {
		w.fail(c, ioKind(e), "connection %d, asking: %d of %d bytes sent: %v", c.id, n, len(p), e)
	}
}

// hearTexts reads what follows the bytes that c has received.
func (w *worker) hearTexts(c *conn, p []byte) {
	l := &w.stream.hearing[c.index]
	if !l.heard {
		var ok bool
		if p, ok = w.hearHead(c, l, p); !ok {
			return
		}
	}
	for len(p) > 0 {
		data, used, over, ok := l.body.next(p)
		p = p[used:]
		switch {
		case !ok:
			w.fail(c, WrongReply, "connection %d, text %d: the coding is wrong", c.id, l.next)
			return
		case over:
			w.fail(c, Ended, "connection %d: the server ended the stream before text %d", c.id, l.next)
			return
		case len(data) == 0:
			continue
		}
		want := w.wantedText(c, l)
		at := int(l.at)
		if len(data) > len(want)-at || !bytes.Equal(data, want[at:at+len(data)]) {
			w.fail(c, WrongReply, "connection %d: got %.80q, want %q", c.id, data, want[at:])
			return
		}
		l.at += uint16(len(data))
		ends, whole := l.body.state != chunkData, int(l.at) == len(want)
		if ends != whole {
			w.fail(c, WrongReply, "connection %d, text %d: it is not one chunk of the coding", c.id, l.next)
			return
		}
		if whole {
			w.noteText(c, l)
			if c.state != connOpen {
				return
			}
		}
	}
}

// hearHead reads the head of the answer and returns what follows it.
func (w *worker) hearHead(c *conn, l *hearer, p []byte) (rest []byte, ok bool) {
	s := w.stream
	if begun := s.heads[c.index]; begun != nil {
		p = append(begun, p...)
	}
	var a answer
	n, fault := a.parse(p)
	switch {
	case fault != "":
		w.fail(c, WrongReply, "connection %d: %s", c.id, fault)
	case n == 0:
		s.heads[c.index] = bytes.Clone(p) // parse refuses what is too long
	case a.status != 200:
		w.fail(c, Refused, "connection %d was answered with status %d", c.id, a.status)
	case !a.chunked:
		w.fail(c, WrongReply, "connection %d: the answer is not chunked", c.id)
	default:
		l.heard = true
		delete(s.heads, c.index)
		return p[n:], true
	}
	return nil, false
}

// wantedText is the text that a connection expects.
func (w *worker) wantedText(c *conn, l *hearer) []byte {
	s := w.stream
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

// noteText records that a text is whole. Its lateness counts from the second that it was due at; the first second of a
// stream is the earliest that any of its texts speaks for, so that a late greeting makes no text early.
func (w *worker) noteText(c *conn, l *hearer) {
	n := int64(l.next)
	l.next, l.at = l.next+1, 0
	if n == 0 {
		l.base = w.now
		w.stream.waiting--
		w.service.Record(w.now - c.turnBegins)
		return
	}
	if before := c.turnBegins + n*secondOfStream - w.now; before > earlyStream {
		w.fail(c, Early, "connection %d: text %d came %v before its second", c.id, n, time.Duration(before))
		return
	}
	l.base = min(l.base, w.now-n*secondOfStream)
	w.result.Total++
	if w.measuring {
		w.result.Requests++
		w.timeline.add(w.now-w.opened, 1)
	}
	if due := l.base + n*secondOfStream; due >= w.openAt && due < w.closeAt {
		w.latency.Record(w.now - due)
		if w.stage == stageDrain {
			w.stream.late--
		}
	}
}

// closeStreams counts, when the window closes, what was due in it and what of that is still to come.
func (w *worker) closeStreams() {
	s := w.stream
	s.late = 0
	for i := range w.conns {
		l := &s.hearing[i]
		if w.conns[i].state != connOpen {
			continue
		}
		last := (w.closeAt - l.base - 1) / secondOfStream // number of the last text due before closeAt
		first := max(0, w.openAt-l.base-1) / secondOfStream
		w.result.Offered += max(0, last-first)
		s.late += max(0, last+1-max(int64(l.next), first+1))
	}
}

// expireStreams gives those up whose texts have not come.
func (w *worker) expireStreams() {
	for i := range w.conns {
		c, l := &w.conns[i], &w.stream.hearing[i]
		if c.state != connOpen || l.base+int64(l.next)*secondOfStream >= w.closeAt {
			continue
		}
		w.fail(c, Timeout, "connection %d: text %d had not come %v after the window", c.id, l.next, w.streamDrainTime())
	}
}
