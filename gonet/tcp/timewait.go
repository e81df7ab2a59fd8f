package tcp

import (
	"time"

	"interleave/gonet/wire"
)

// This file has the end of a connection, TIME-WAIT, and the little that must be kept for it when
// the user has gone.

// timeWait enters TIME-WAIT, which keeps old segments from a new connection of the same flow.
func (c *Conn) timeWait(now Time) {
	c.state = TimeWait
	c.send.scoreboard.free()
	c.timers = timers{lastInput: c.timers.lastInput, since: c.timers.since}
	c.startTwoMSL(now)
}

// startTwoMSL starts the 2 MSL timer: the time-out of TIME-WAIT, or that of a FIN-WAIT-2 whose user
// has closed the connection.
func (c *Conn) startTwoMSL(now Time) { c.timers.twoMSL = now.Add(c.cfg.timeWait()) }

// timeWait returns the duration of TIME-WAIT.
func (cfg *Config) timeWait() time.Duration { return orElse(cfg.TimeWait, defaultTimeWait) }

// inputFinAgain processes a segment of n bytes in TIME-WAIT. A FIN is acknowledged. The time-out
// starts again only if the FIN is the peer's, sent again. A forged one could hold the flow for
// ever.
func (c *Conn) inputFinAgain(h *wire.TCP, n int, now Time) {
	if h.Flags&wire.FIN == 0 {
		return
	}
	c.ackAtOnce()
	if Seq(h.Seq).Plus(n) == c.receive.finAt && Seq(h.Ack) == c.send.next {
		c.startTwoMSL(now)
	}
}

// Yields tells whether we may open a new connection in place of this one in TIME-WAIT. Timestamps
// tell old segments from new ones, once our timestamp clock has advanced (RFC 6191; Linux:
// tcp_tw_reuse).
func (c *Conn) Yields(now Time) bool {
	return c.state == TimeWait && yields(c.timestamps, c.cfg, c.timers.twoMSL, now)
}

func yields(timestamps bool, cfg *Config, until, now Time) bool {
	return timestamps && cfg.timeWait()-until.Sub(now) >= yieldAfter
}

// yieldAfter is the least time in TIME-WAIT before Yields allows reuse, as in Linux.
const yieldAfter = time.Second

// Reusable tells whether the peer's SYN may open a new connection in place of this one in
// TIME-WAIT. The SYN must be newer by its timestamp, or by its sequence number (RFC 6191, RFC 9293
// section 3.6.1).
func (c *Conn) Reusable(syn *wire.TCP) bool {
	return c.state == TimeWait && reusable(syn, c.timestamps, c.recent, c.receive.next)
}

func reusable(syn *wire.TCP, timestamps bool, recent uint32, next Seq) bool {
	if timestamps && syn.Options.HasTimestamp && syn.Options.TSVal != recent {
		return int32(syn.Options.TSVal-recent) > 0
	}
	return Seq(syn.Seq).After(next)
}

// Waiting is what is left of a connection in TIME-WAIT whose user has gone: what the answers to the
// peer's last segments depend on, and which SYN may open the flow again. It has no pointers, and is
// an eighth as large as a Conn.
type Waiting struct {
	Until                          Time // the end of TIME-WAIT
	recentAt, challengeAt          Time
	sent                           Seq // SND.UNA and SND.NXT: all was acknowledged
	next, edge, acked, finAt       Seq // of the receiver
	wl1, wl2                       Seq
	recent                         uint32
	window, maxWindow, limit       int32 // at most 1 GiB each
	sendShift, shift               uint8
	timestamps, sack, marks, echos bool
}

// Waiting returns what is to be kept of the connection. It returns false if the connection is not
// in TIME-WAIT, or if there is something to be read or to be sent.
func (c *Conn) Waiting() (w Waiting, ok bool) {
	s, r := &c.send, &c.receive
	if c.state != TimeWait || s.una != s.next || r.in.n > 0 || c.AckDue() || c.reset {
		return w, false
	}
	return Waiting{
		Until: c.timers.twoMSL, recentAt: c.recentAt, challengeAt: c.challengeAt, sent: s.next,
		next: r.next, edge: r.edge, acked: r.ack.last, finAt: r.finAt, wl1: s.wl1, wl2: s.wl2,
		recent: c.recent, window: int32(s.window), maxWindow: s.maxWindow,
		limit: int32(min(r.limit, unlimited)), sendShift: s.shift, shift: r.shift,
		timestamps: c.timestamps, sack: c.sack, marks: c.ecn.on, echos: c.ecn.echo,
	}, true
}

// Revive makes a machine that answers segments as the one did of which w is left.
func Revive(cfg *Config, w *Waiting, now Time) *Conn {
	c := newConn(cfg, w.sent.Plus(-1), now)
	c.state, c.closed = TimeWait, true
	c.timestamps, c.sack, c.recent, c.recentAt = w.timestamps, w.sack, w.recent, w.recentAt
	c.challengeAt, c.timers.twoMSL = w.challengeAt, w.Until
	c.ecn = ecn{on: w.marks, echo: w.echos, until: w.sent}
	s, r := &c.send, &c.receive
	s.una, s.next, s.closing, s.finAcked = w.sent, w.sent, true, true
	s.wl1, s.wl2, s.shift = w.wl1, w.wl2, w.sendShift
	s.window, s.maxWindow = int(w.window), w.maxWindow
	s.control = newCongestion(cfg.Congestion, s.mss, &s.cubic)
	r.next, r.edge, r.ack.last, r.shift, r.limit = w.next, w.edge, w.acked, w.shift, int(w.limit)
	r.fin, r.finished, r.finAt = true, true, w.finAt
	return c
}

// Yields is Conn.Yields.
func (w *Waiting) Yields(cfg *Config, now Time) bool {
	return yields(w.timestamps, cfg, w.Until, now)
}

// Reusable is Conn.Reusable.
func (w *Waiting) Reusable(syn *wire.TCP) bool {
	return reusable(syn, w.timestamps, w.recent, w.next)
}
