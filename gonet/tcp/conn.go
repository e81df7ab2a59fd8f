package tcp

import (
	"errors"
	"time"

	"interleave/gonet/wire"
)

// State is one of RFC 9293 section 3.3.2; LISTEN is not among them, since a listener
// is no connection.
type State uint8

// The states of a connection.
const (
	Closed State = iota
	SynSent
	SynReceived
	Established
	FinWait1
	FinWait2
	CloseWait
	Closing
	LastAck
	TimeWait
)

func (s State) String() string {
	return [...]string{"CLOSED", "SYN-SENT", "SYN-RECEIVED", "ESTABLISHED", "FIN-WAIT-1",
		"FIN-WAIT-2", "CLOSE-WAIT",
		"CLOSING", "LAST-ACK", "TIME-WAIT"}[s]
}

// Why a connection ended, or cannot do what was asked.
var (
	ErrReset   = errors.New("connection reset by peer")
	ErrRefused = errors.New("connection refused")
	ErrTimeout = errors.New("connection timed out")
	ErrClosed  = errors.New("connection closed")
)

// Config is what a connection may do. The zero value of a field is its default.
type Config struct {
	// largest payload in bytes that the link takes without options: what is announced
	MSS     int
	PeerMSS int // payload in bytes that a peer takes that says nothing of it; 0: 536
	// largest payload in bytes of one Segment, many MSS where the link cuts it; 0: one MSS
	Burst         int
	SendBuffer    int    // bytes not acknowledged yet that Write takes at most; 0: 4 MiB
	ReceiveBuffer int    // bytes not read yet that the peer may send at most; 0: 6 MiB
	Congestion    string // CUBIC (the default) or NewReno
	Delay         bool   // Nagle: hold small segments back while others are on their way
	QuickAck      bool   // acknowledge at once
	NoTimestamps  bool
	NoSACK        bool
	NoScale       bool
	// ask for explicit congestion notification; a peer that asks for it has it in any
	// case, as of Linux
	ECN bool
	// offset of our timestamps, one for each connection (RFC 7323 section 5.4)
	Clock        uint32
	KeepAlive    time.Duration // silence before the first probe; 0: none
	KeepInterval time.Duration // between probes; 0: 75 s (RFC 9293 leaves it open; Linux's)
	KeepCount    int           // probes without an answer that end the connection; 0: 9
	// that data may wait for an acknowledgement; 0: 15 min (RFC 1122: R2 at least 100 s)
	UserTimeout time.Duration
	// that the handshake may last; 0: 3 min, the least of RFC 9293 section 3.8.3
	SynTimeout time.Duration
	TimeWait   time.Duration // 2 MSL; 0: 60 s, as Linux
}

const (
	defaultSendBuffer    = 4 << 20
	defaultReceiveBuffer = 6 << 20
	defaultMSS           = 536 // RFC 9293 section 3.7.1, where the peer says nothing over IPv4
	initialReceive       = 64 << 10
	initialSend          = 64 << 10
	defaultKeepInterval  = 75 * time.Second
	defaultKeepCount     = 9
	defaultUserTimeout   = 15 * time.Minute
	defaultSynTimeout    = 3 * time.Minute
	defaultTimeWait      = 60 * time.Second
)

// Conn is one connection. Its zero value is of no use: Dial and Accept make one.
type Conn struct {
	cfg   *Config // shared by many connections
	state State
	err   error // why it is Closed

	send    sender
	receive receiver
	timers  timers
	traffic traffic
	ecn     ecn

	timestamps  bool   // both ends sent one in their SYN
	sack        bool   // both ends permit it
	scaling     bool   // both ends have sent a scale
	recent      uint32 // TS.Recent of RFC 7323
	recentAt    Time
	challengeAt Time // no challenge acknowledgement before this instant
	reset       bool // a RST is to be sent, at resetSeq
	resetSeq    Seq
	resetAck    bool // with an acknowledgement
	passive     bool // made by Accept
	closed      bool // the user will not read any more
	softError   error
}

// Dial begins a connection from our side: its first Output is a SYN.
func Dial(cfg *Config, iss uint32, now Time) *Conn {
	c := newConn(cfg, Seq(iss), now)
	c.state = SynSent
	c.timestamps, c.sack = !cfg.NoTimestamps, !cfg.NoSACK // offered
	c.send.synDue = true
	return c
}

// Accept answers a SYN that a listener has got: its first Output is the SYN with the
// acknowledgement. now is when it came.
func Accept(cfg *Config, iss uint32, syn *wire.TCP, now Time) *Conn {
	c := newConn(cfg, Seq(iss), now)
	c.state, c.passive = SynReceived, true
	c.takeSyn(syn, now)
	c.send.synDue = true
	return c
}

func newConn(cfg *Config, iss Seq, now Time) *Conn {
	c := &Conn{cfg: cfg}
	c.send.init(iss, cfg)
	c.receive.limit = min(initialReceive, c.receiveMax())
	c.timers.since, c.timers.heard = now, now
	return c
}

// takeSyn learns from the options of the peer's SYN what both may use.
func (c *Conn) takeSyn(h *wire.TCP, now Time) {
	o := &h.Options
	c.receive.init(Seq(h.Seq))
	c.timestamps = o.HasTimestamp && !c.cfg.NoTimestamps
	c.sack = o.SACKPermitted && !c.cfg.NoSACK
	if c.timestamps {
		c.recent, c.recentAt = o.TSVal, now
	}
	if c.scaling = o.HasWindowScale && !c.cfg.NoScale; c.scaling {
		c.send.shift, c.receive.shift = o.WindowScale, c.scale()
	}
	mss := int(o.MSS)
	if mss == 0 {
		mss = orElse(c.cfg.PeerMSS, defaultMSS)
	}
	c.send.mss = min(mss, c.cfg.MSS)
	if c.timestamps { // RFC 6691: the MSS is that of segments without options
		c.send.mss -= timestampLen
	}
	c.send.mss = max(c.send.mss, minMSS)
	c.send.search.full, c.send.search.high = c.send.mss, c.send.mss
	c.negotiate(h.Flags)
	c.send.control = newCongestion(c.cfg.Congestion, c.send.mss)
	// The window of a SYN is never scaled (RFC 7323 section 2.2).
	c.send.window, c.send.maxWindow = int(h.Window), int(h.Window)
	c.send.wl1, c.send.wl2 = Seq(h.Seq), Seq(h.Ack)
}

// timestampLen is what a timestamp takes from the payload of a segment, in bytes.
const timestampLen = 12

// minMSS keeps a peer from having us send a byte a segment, in bytes (Linux: tcp_min_snd_mss).
const minMSS = 48

// scale is the shift that our largest window needs.
func (c *Conn) scale() uint8 { return scaleOf(c.receiveMax()) }

func scaleOf(window int) uint8 {
	shift := uint8(0)
	for shift < 14 && window>>shift > 0xffff {
		shift++
	}
	return shift
}

func orElse[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

func (c *Conn) sendMax() int { return orElse(c.cfg.SendBuffer, defaultSendBuffer) }

func (c *Conn) receiveMax() int { return orElse(c.cfg.ReceiveBuffer, defaultReceiveBuffer) }

// State tells where the connection is.
func (c *Conn) State() State { return c.state }

// Err tells why a Closed connection is, nil if it ended well or has not yet.
func (c *Conn) Err() error { return c.err }

// synchronized tells whether both ends know each other's sequence numbers.
func (c *Conn) synchronized() bool { return c.state >= Established }

// Readable is the number of bytes that Read has at once.
func (c *Conn) Readable() int { return c.receive.in.n }

// EndOfStream tells whether the peer has sent all that it will, and all of it has been read.
func (c *Conn) EndOfStream() bool { return c.receive.finished && c.receive.in.n == 0 }

// Read moves bytes that have arrived to p and returns how many, 0 when there are none now. It may
// make an acknowledgement due, with the larger window, that Output has.
func (c *Conn) Read(p []byte, now Time) int {
	n := c.receive.in.pop(p)
	if n > 0 {
		c.tune(n, now)
		c.announce()
	}
	return n
}

// Take is Read without a copy: the caller frees the piece when its data has been used. It is nil
// when there is nothing now.
func (c *Conn) Take(now Time) *Piece {
	p := c.receive.in.take()
	if p != nil {
		c.tune(len(p.Data), now)
		c.announce()
	}
	return p
}

// Finished tells whether our stream has been closed: nothing more can be written.
func (c *Conn) Finished() bool { return c.send.closing }

// Sent tells whether seq is among what was sent and not acknowledged.
func (c *Conn) Sent(seq uint32) bool {
	return Seq(seq).Within(c.send.una, uint32(c.send.flightSize()))
}

// Unacknowledged is the sequence number that the peer has acknowledged everything before, and
// whether anything has been sent from there on.
func (c *Conn) Unacknowledged() (seq uint32, more bool) {
	return uint32(c.send.una), c.send.una != c.send.next
}

// Writable is the number of bytes that Write takes at once.
func (c *Conn) Writable() int {
	if c.send.closing || c.state == Closed {
		return 0
	}
	// Twice the congestion window: one on its way, one ready to follow.
	limit := initialSend
	if c.send.control != nil {
		limit = max(limit, 2*c.send.control.window())
	}
	return max(min(limit, c.sendMax())-c.send.out.n, 0)
}

// Write takes bytes of p to be sent, and returns how many: 0 when there is no room now, or the
// stream has been closed.
func (c *Conn) Write(p []byte) int {
	n := min(len(p), c.Writable())
	c.send.out.push(p[:n])
	return n
}

// CloseWrite ends our stream: a FIN follows what was written.
func (c *Conn) CloseWrite() {
	if c.send.closing || c.state == Closed {
		return
	}
	c.send.closing = true
	switch c.state {
	case SynSent:
		c.end(ErrClosed)
	case Established:
		c.state = FinWait1
	case CloseWait:
		c.state = LastAck
	}
}

// Close ends both directions: what the peer sends from now on is answered by a reset, and so is
// what has arrived and was not read (RFC 2525 section 2.17).
func (c *Conn) Close(now Time) {
	if c.state == Closed {
		return
	}
	c.closed = true
	if c.send.window == 0 {
		c.timers.since = now // see waitingSince
	}
	if c.receive.in.n > 0 {
		c.Abort()
		return
	}
	c.CloseWrite()
	if c.state == FinWait2 {
		c.lingerFrom(now)
	}
}

// Abort ends the connection with a reset.
func (c *Conn) Abort() {
	reset := c.state != SynSent && c.state != TimeWait && c.state != Closed
	c.end(ErrClosed)
	c.reset, c.resetSeq, c.resetAck = reset, c.heeded(), true
}

// end makes the connection Closed.
func (c *Conn) end(err error) {
	if c.state == Closed {
		return
	}
	c.state, c.err = Closed, err
	c.send.out.free()
	c.send.board.free()
	c.receive.queue = reassembly{}
	c.timers = timers{}
	c.send.synDue, c.receive.ackDue = false, false
	if err != nil {
		c.send.closing = true
	}
}

// Unreachable is what ICMP says of the way to the peer. Hard errors end a handshake; an
// established connection keeps trying, and tells the last reason when it gives up (RFC 1122
// section 4.2.3.9, RFC 5461).
func (c *Conn) Unreachable(err error, hard bool) {
	c.softError = err
	if hard && (c.state == SynSent || c.state == SynReceived) {
		c.end(err)
	}
}
