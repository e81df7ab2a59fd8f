package load

// The counter protocol: a request is one byte, 0x00 to read and 0x01 to increment; a reply is the
// value in 8 bytes. A single connection can check two things: its values never fall, and the value
// of an increment is above all that it saw before. An increment that was lost or doubled shows at
// the end, when the value must be the number of increments.

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"interleave/internal/manifest"
)

func init() {
	speak(manifest.Counter, protocol{
		family: requestsFamily,
		shapes: []manifest.Shape{manifest.Closed, manifest.Open, manifest.Connect},
		validate: func(p *Plan) error {
			l := &p.Load
			switch {
			case l.SizeBytes > 1 || l.SizeBytes < 0:
				return fmt.Errorf("size is %d bytes, but a counter's request is one byte",
					l.SizeBytes)
			case !(l.ReadShare >= 0 && l.ReadShare <= 1):
				return fmt.Errorf("read share is %v, want 0 to 1", l.ReadShare)
			}
			return nil
		},
		prepare: func(p *Plan) (job, error) { return &counting{plan: p}, nil },
		offer: func(l *manifest.Load, w Wishes) {
			offerRate(l, w)
			l.ReadShare = w.ReadShare
		},
	})
}

// counting is a load of a counter: all its increments add up.
type counting struct {
	plan     *Plan
	counters []*counter // a thread's each
}

func (j *counting) driver(w *worker) driver {
	k := newCounter(j.plan.Seed, j.plan.Load.ReadShare, len(w.conns))
	j.counters = append(j.counters, k)
	return newRequests(w, k)
}

// verify reads the counter once more, on a new connection: all increments since the server's
// start are ours.
func (j *counting) verify(all *faults) {
	var sure, maybe uint64
	for _, k := range j.counters {
		sure += k.sure
		maybe += k.maybe
	}
	value, err := readCounter(j.plan.Addr.String())
	switch {
	case err != nil:
		all.add(WrongCount, 1, "reading the counter's last value: %v", err)
	case value < sure || value > sure+maybe:
		all.add(WrongCount, 1,
			"the counter's last value is %d, but %d increments were answered and %d more sent",
			value, sure, maybe)
	}
}

// readCounter makes one blocking read request.
func readCounter(addr string) (uint64, error) {
	const limit = 2 * time.Second // twice what a reply may take when draining
	c, err := net.DialTimeout("tcp4", addr, limit)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(limit)); err != nil {
		return 0, err
	}
	if _, err := c.Write([]byte{opRead}); err != nil {
		return 0, fmt.Errorf("asking: %w", err)
	}
	var reply [8]byte
	if have, err := io.ReadFull(c, reply[:]); err != nil {
		return 0, fmt.Errorf("%d of 8 bytes came: %w", have, err)
	}
	return binary.BigEndian.Uint64(reply[:]), nil
}

const (
	opRead      = 0x00
	opIncrement = 0x01
)

type counter struct {
	seed  uint64
	reads uint64 // of 2^53 requests, how many read
	sure  uint64 // increments answered
	maybe uint64 // increments sent but not answered: the counter may have them or not
	seen  []seen // by each connection
}

// seen is the state of the counter as a connection knows it.
type seen struct {
	word  uint64 // the reply under way
	value uint64 // the last one
}

func newCounter(seed uint64, readShare float64, conns int) *counter {
	return &counter{seed: seed, reads: uint64(readShare * (1 << 53)), seen: make([]seen, conns)}
}

func (k *counter) requestBytes() uint64 { return 1 }

// op is the operation of a connection's n-th request. It is computed when needed, so that
// nothing need be kept.
func (k *counter) op(c *conn, n uint64) byte {
	if mix(k.seed+uint64(c.id)<<32+n*stepRequest)>>11 < k.reads {
		return opRead
	}
	return opIncrement
}

func (k *counter) fill(c *conn, p []byte) {
	for i := range p {
		p[i] = k.op(c, c.sent+uint64(i))
	}
}

func (k *counter) check(c *conn, p []byte) (replies int, kind string) {
	s := &k.seen[c.index]
	for len(p) > 0 {
		n := c.answered + uint64(replies)
		if n == c.issued {
			return replies, Extra
		}
		if c.part == 0 && len(p) >= 8 {
			s.word = binary.BigEndian.Uint64(p)
			p = p[8:]
		} else {
			s.word = s.word<<8 | uint64(p[0])
			p = p[1:]
			if c.part++; c.part < 8 {
				continue
			}
			c.part = 0
		}
		op := k.op(c, n)
		if s.word < s.value || op == opIncrement && s.word == s.value {
			return replies, WrongReply
		}
		k.sure += uint64(op)
		s.value = s.word
		replies++
	}
	return replies, ""
}

// lost counts the increments among the requests that were not answered.
func (k *counter) lost(c *conn) { k.maybe += k.increments(c, c.answered) }

// increments counts those among the requests from n on, up to the last that was issued.
func (k *counter) increments(c *conn, n uint64) uint64 {
	var total uint64
	for ; n < c.issued; n++ {
		total += uint64(k.op(c, n))
	}
	return total
}
