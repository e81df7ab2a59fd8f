package tcp

import (
	"math"
	"testing"
)

func TestScaleFitsTheBuffer(t *testing.T) {
	for size, want := range map[int]uint8{1000: 0, 0xffff: 0, 0x10000: 1, 1 << 20: 5,
		defaultReceiveBuffer: 7, 1 << 30: 14, math.MaxInt: 14} {
		c := newConn(&Config{MSS: 1460, ReceiveBuffer: size}, 1, 0)
		if got := c.scale(); got != want {
			t.Errorf("a buffer of %d bytes: a scale of %d, want %d", size, got, want)
		}
	}
}

func TestTheSendBufferIsBounded(t *testing.T) {
	for size, want := range map[int]int{1: 1, 1000: 1000, 0: initialSend, 1 << 20: initialSend} {
		p := newPair(&Config{MSS: 1460, SendBuffer: size})
		if got := p.x.Write(make([]byte, 1<<20)); got != want || p.x.Writable() != 0 {
			t.Errorf("a buffer of %d bytes took %d and then %d, want %d and none", size, got,
				p.x.Writable(), want)
		}
	}
	p := newPair(&Config{MSS: 1460, SendBuffer: 150_000})
	for range 20 {
		p.carry(make([]byte, 60_000), make([]byte, 60_000))
	}
	p.now = p.now.Add(delayedAck)
	p.y.Expire(p.now)
	p.pump()
	if got := p.x.Writable(); got != 150_000 {
		t.Errorf("after a megabyte %d bytes can be written, want the whole buffer", got)
	}
}

func TestASegmentSaysHowItIsCut(t *testing.T) {
	p := newPair(&Config{MSS: 1460, Burst: 9000})
	p.x.Write(make([]byte, 5000))
	if !p.x.Output(&p.s, p.now) || p.s.Len() != 5000 || p.s.MSS != 1448 {
		t.Errorf("a segment of %d bytes to be cut into %d, want 5000 into 1448", p.s.Len(), p.s.MSS)
	}
	p.x.PathMTU(1012, p.now)
	if !p.x.Output(&p.s, p.now) || p.s.Len() != 5000 || p.s.MSS != 1000 {
		t.Errorf("on a narrower path %d bytes to be cut into %d, want 5000 into 1000", p.s.Len(),
			p.s.MSS)
	}
}

func TestAStreamEndsBehindItsLastByte(t *testing.T) {
	p := newPair(&Config{MSS: 1460})
	ends := func(when string, want bool) {
		t.Helper()
		if got := p.y.EndOfStream(); got != want {
			t.Errorf("%s: the stream has ended: %v, want %v", when, got, want)
		}
	}
	ends("at the start", false)
	p.x.Write(make([]byte, 10))
	p.pump()
	ends("with ten bytes unread", false)
	p.x.CloseWrite()
	p.pump()
	ends("closed, with ten bytes unread", false)
	p.y.Read(make([]byte, 10), p.now)
	ends("closed and read", true)
}

func TestAnEndedConnectionNeedsNothing(t *testing.T) {
	p := newPair(&Config{MSS: 1460, KeepAlive: 1e9})
	p.x.Write(make([]byte, 5000))
	for p.x.Output(&p.s, p.now) {
		p.now++
	}
	p.x.Abort()
	p.x.Output(&p.s, p.now)
	if at, ok := p.x.Deadline(); ok {
		t.Errorf("something is due at %d", at)
	}
	if s := &p.x.send; s.out.buffer != nil || s.scoreboard.flights != nil {
		t.Error("it keeps what was to be sent")
	}
	if !p.x.Finished() || p.x.Writable() != 0 || p.x.Write([]byte{1}) != 0 ||
		p.x.Output(&p.s, p.now) {
		t.Error("it can still be used")
	}
}
