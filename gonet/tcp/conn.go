package tcp

import (
	"errors"
	"sync"
	"time"

	"interleave/gonet/wire"
)

// State is a state of RFC 9293 section 3.3.2, without LISTEN: a listener is not a connection.
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

// The errors with which a connection ends or refuses a call.
var (
	ErrReset   = errors.New("connection reset by peer")
	ErrRefused = errors.New("connection refused")
	ErrTimeout = errors.New("connection timed out")
	ErrClosed  = errors.New("connection closed")
)

// Config configures a connection. The zero value of a field is its default.
type Config struct {
	// MSS is the largest payload of a segment without options that the link takes, in bytes. It is
	// announced to the peer.
	MSS     int
	PeerMSS int // MSS in bytes of a peer that announces none; 0: 536
	// Burst is the largest payload of one Segment in bytes. It may be many MSS if the link cuts
	// super-frames; 0: one MSS.
	Burst         int
	SendBuffer    int    // bound on written bytes that are not acknowledged; 0: 4 MiB
	ReceiveBuffer int    // bound on received bytes that are not read; 0: 6 MiB
	Congestion    string // CUBIC (the default) or NewReno
	Delay         bool   // Nagle's algorithm: hold small segments while others are in flight
	QuickAck      bool   // never delay an acknowledgement
	NoTimestamps  bool
	NoSACK        bool
	NoScale       bool
	// ECN requests explicit congestion notification. A peer that requests it gets it in any case,
	// as from Linux.
	ECN bool
	// Clock is the offset of our timestamps, another for each connection (RFC 7323 section 5.4).
	// Connections that share a Config have it from SetClock.
	Clock        uint32
	KeepAlive    time.Duration // silence before the first probe; 0: no keep-alive
	KeepInterval time.Duration // between probes; 0: 75 s, as Linux
	KeepCount    int           // unanswered probes that end the connection; 0: 9
	// UserTimeout is how long data may wait for an acknowledgement; 0: 15 min (R2 of RFC 9293
	// section 3.8.3 is at least 100 s). If it is set, it bounds the handshake of Dial, too.
	UserTimeout time.Duration
	// SynTimeout is how long the handshake may last; 0: 3 min, the least of RFC 9293 section 3.8.3.
	SynTimeout time.Duration
	TimeWait   time.Duration // the duration of TIME-WAIT, 2 MSL; 0: 60 s, as Linux
}

const (
	defaultSendBuffer    = 4 << 20
	defaultReceiveBuffer = 6 << 20
	defaultMSS           = 536 // for a peer that announces none over IPv4 (RFC 9293 section 3.7.1)
	initialReceive       = 64 << 10
	initialSend          = 64 << 10
	defaultKeepInterval  = 75 * time.Second
	defaultKeepCount     = 9
	defaultUserTimeout   = 15 * time.Minute
	defaultSynTimeout    = 3 * time.Minute
	defaultTimeWait      = 60 * time.Second
)

// Conn is the machine of one connection. Dial, Accept and AcceptCookie make one; its zero value is
// of no use.
type Conn struct {
	cfg *Config // shared by many connections
	err error   // why the connection is Closed; before that, the last error that ICMP has reported

	send    sender
	receive receiver
	timers  timers
	traffic traffic
	ecn     ecn

	recentAt    Time
	challengeAt Time   // no challenge ACK before this instant
	recent      uint32 // TS.Recent of RFC 7323
	clock       uint32 // the offset of our timestamps
	resetSeq    Seq
	state       State
	timestamps  bool // both ends have sent a timestamp in their SYN
	sack        bool // both ends permit SACK
	scaling     bool // both ends have sent a window scale
	reset       bool // a RST must be sent, at resetSeq
	resetAck    bool // with the ACK flag
	resetNext   bool // another reset follows, at SND.NXT
	passive     bool // opened by the peer's SYN
	closed      bool // the user has closed: nothing will be read any more
	readClosed  bool // the user reads no more, but may write: what arrives is discarded
	reserved    bool // a user fills the room behind the send buffer: see Reserve
}

// Dial makes a connection in SYN-SENT. Its first Output is the SYN.
func Dial(cfg *Config, iss uint32, now Time) *Conn {
	c := newConn(cfg, Seq(iss), now)
	c.state = SynSent
	c.timestamps, c.sack = !cfg.NoTimestamps, !cfg.NoSACK // offered
	c.send.synDue = true
	return c
}

// Accept makes a connection in SYN-RECEIVED for a listener that has received a SYN. Its first
// Output is the SYN-ACK. now is when the SYN arrived.
func Accept(cfg *Config, iss uint32, syn *wire.TCP, now Time) *Conn {
	c := newConn(cfg, Seq(iss), now)
	c.state, c.passive = SynReceived, true
	c.takeSyn(syn, now)
	c.send.synDue = true
	return c
}

// machines is a pool of those that Free was called for. All their fields are zero.
var machines = sync.Pool{New: func() any { return new(Conn) }}

func newConn(cfg *Config, iss Seq, now Time) *Conn {
	c := machines.Get().(*Conn)
	c.cfg, c.clock = cfg, cfg.Clock
	c.send.init(iss, cfg)
	c.receive.limit = min(initialReceive, c.receiveMax())
	c.timers.since, c.timers.lastInput = now, now
	return c
}

// Free gives the memory of the machine back, for that of another connection. The machine must not
// be used afterwards.
func (c *Conn) Free() {
	c.receive.in.free()
	c.freeOut()
	c.send.scoreboard.free()
	*c = Conn{}
	machines.Put(c)
}

// takeSyn processes the peer's SYN: its sequence number, and the options that both ends may use
// from now on.
func (c *Conn) takeSyn(h *wire.TCP, now Time) {
	o := &h.Options
	c.receive.init(Seq(h.Seq))
	c.timestamps = o.HasTimestamp && !c.cfg.NoTimestamps
	c.sack = o.SACKPermitted && !c.cfg.NoSACK
	if c.timestamps {
		c.recent, c.recentAt = o.TSVal, now
	}
	c.send.shift, c.receive.shift = 0, 0
	if c.scaling = o.HasWindowScale && !c.cfg.NoScale; c.scaling {
		c.send.shift, c.receive.shift = o.WindowScale, c.scale()
	}
	mss := int(o.MSS)
	if mss == 0 {
		mss = orElse(c.cfg.PeerMSS, defaultMSS)
	}
	c.send.mss = min(mss, c.cfg.MSS)
	if c.timestamps { // the MSS is that of segments without options (RFC 6691)
		c.send.mss -= timestampLen
	}
	c.send.mss = max(c.send.mss, minMSS)
	c.send.search = nil
	c.negotiate(h.Flags)
	c.send.control = newCongestion(c.cfg.Congestion, c.send.mss, &c.send.cubic)
	// The window of a SYN is never scaled (RFC 7323 section 2.2).
	c.send.window, c.send.maxWindow = int(h.Window), int32(h.Window)
	c.send.wl1, c.send.wl2 = Seq(h.Seq), Seq(h.Ack)
}

// timestampLen is the length in bytes of the timestamp option with its padding.
const timestampLen = 12

// minMSS bounds the MSS from below, in bytes, so that a peer cannot have us send a segment for each
// byte (Linux: tcp_min_snd_mss).
const minMSS = 48

// scale returns the window scale that our largest window needs.
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

// State returns the state of the connection.
func (c *Conn) State() State { return c.state }

// HalfOpen returns since when the connection waits for the peer to end the handshake that it has
// begun. It returns false for a connection in another state.
func (c *Conn) HalfOpen() (since Time, waits bool) {
	return c.timers.since, c.passive && c.state == SynReceived
}

// Err returns why a Closed connection has ended. It is nil if the connection ended in order, or has
// not ended.
func (c *Conn) Err() error {
	if c.state != Closed {
		return nil
	}
	return c.err
}

// synchronized tells whether the handshake has ended, so that both ends know each other's sequence
// numbers.
func (c *Conn) synchronized() bool { return c.state >= Established }

// Readable returns the number of bytes that Read can return now.
func (c *Conn) Readable() int { return c.receive.in.n }

// EndOfStream tells whether the peer's FIN has arrived and all bytes before it were read.
func (c *Conn) EndOfStream() bool { return c.receive.finished && c.receive.in.n == 0 }

// Read copies received bytes to p and returns how many, 0 when there are none now. A window update
// may be due afterwards: call Output.
func (c *Conn) Read(p []byte, now Time) int {
	n := c.receive.in.pop(p)
	if n > 0 {
		c.tune(n, now)
		c.announceWindow()
	}
	return n
}

// Take is Read without a copy. The caller must free the piece after use. It returns nil when there
// are no bytes now.
func (c *Conn) Take(now Time) *Piece {
	p := c.receive.in.take()
	if p != nil {
		c.tune(len(p.Data), now)
		c.announceWindow()
	}
	return p
}

// Finished tells whether the sending direction is closed: nothing more can be written.
func (c *Conn) Finished() bool { return c.send.closing }

// Sent tells whether the byte seq was sent and is not acknowledged yet.
func (c *Conn) Sent(seq uint32) bool {
	return Seq(seq).Within(c.send.una, uint32(c.send.flightSize()))
}

// Unacknowledged returns SND.UNA, and whether anything was sent from there on.
func (c *Conn) Unacknowledged() (seq uint32, more bool) {
	return uint32(c.send.una), c.send.una != c.send.next
}

// Writable returns the number of bytes that Write can take now.
func (c *Conn) Writable() int {
	if c.send.closing || c.state == Closed {
		return 0
	}
	// Twice the congestion window: one window in flight, and one ready to follow.
	limit := initialSend
	if c.send.control != nil {
		limit = max(limit, 2*c.send.control.window())
	}
	return max(min(limit, c.sendMax())-c.send.out.n, 0)
}

// Write takes bytes of p into the send buffer and returns how many: 0 when there is no room now, or
// when the sending direction is closed.
func (c *Conn) Write(p []byte) int {
	n := min(len(p), c.Writable())
	c.send.out.push(p[:n])
	return n
}

// CloseWrite closes the sending direction: a FIN follows the written bytes.
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

// Close closes both directions. Data that arrives from now on is answered by a reset, and so is
// received data that was not read (RFC 2525 section 2.17).
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
		c.startTwoMSL(now)
	}
}

// CloseRead discards what was received and what will be. The peer may go on sending, and is not
// told.
func (c *Conn) CloseRead() {
	c.readClosed = true
	c.receive.in.free()
	c.announceWindow()
}

// SetClock sets the offset of our timestamps, in place of Config.Clock. It must be called before
// the first Input and Output.
func (c *Conn) SetClock(offset uint32) { c.clock = offset }

// SetConfig replaces the Config by one that differs only in what Reconfigure takes into use.
func (c *Conn) SetConfig(cfg *Config) {
	c.cfg = cfg
	c.Reconfigure()
}

// Reconfigure takes changed fields of the Config into use: the buffers, keep-alive, UserTimeout,
// Delay and QuickAck may change at any time.
func (c *Conn) Reconfigure() {
	c.receive.limit = min(c.receive.limit, c.receiveMax())
	t := &c.timers
	t.keep = 0 // Deadline sets it again
	switch {
	case t.retransmit == 0:
	case !c.synchronized():
		t.retransmit = min(t.retransmit, t.since.Add(c.handshakeTimeout()))
	case c.send.window > 0:
		t.retransmit = min(t.retransmit, t.since.Add(orElse(c.cfg.UserTimeout, defaultUserTimeout)))
	}
}

// Abort ends the connection with a reset.
func (c *Conn) Abort() {
	reset := c.state != SynSent && c.state != TimeWait && c.state != Closed
	c.end(ErrClosed)
	c.reset, c.resetSeq, c.resetAck = reset, c.acceptableSeq(), true
}

// end closes the connection with an error, nil for an orderly end.
func (c *Conn) end(err error) {
	if c.state == Closed {
		return
	}
	c.state, c.err = Closed, err
	c.freeOut()
	c.send.scoreboard.free()
	c.receive.queue = nil
	c.timers = timers{}
	c.send.synDue, c.receive.ack.state = false, ackNone
	if err != nil {
		c.send.closing = true
	}
}

// Unreachable reports an ICMP error. A hard error ends a handshake. An established connection keeps
// trying, and ends with the last reported error if it gives up (RFC 1122 section 4.2.3.9, RFC
// 5461).
func (c *Conn) Unreachable(err error, hard bool) {
	if c.state == Closed {
		return
	}
	c.err = err
	if hard && (c.state == SynSent || c.state == SynReceived) {
		c.end(err)
	}
}
