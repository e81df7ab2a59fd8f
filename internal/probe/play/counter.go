package play

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"interleave/internal/probe/transcript"
)

// counterVerbs are those of the counter: a client sends one byte to ask or to increment, and gets
// the value in eight bytes, big-endian.
var counterVerbs = Vocabulary{{Word: transcript.Client, Verbs: Verbs{
	"value": shared(Verb{Usage: "NAME value NUMBER|FROM..TO ...", Read: readValues}),
	"tally": shared(Once("NAME tally COUNT [pipeline COUNT]", readTally, tallies)),
}}}

// values are the replies that one step wants.
type values []uint64

// maxValues bounds the replies that one step may want.
const maxValues = 1_000_000

func readValues(l *Line) (Action, error) {
	var want values
	for {
		text, err := l.Word("a number, or a range such as 1..100")
		if err != nil {
			return want, err
		}
		from, to, isRange := strings.Cut(text, "..")
		if !isRange {
			to = from
		}
		first, err1 := strconv.ParseUint(from, 10, 64)
		last, err2 := strconv.ParseUint(to, 10, 64)
		if err1 != nil || err2 != nil || last < first ||
			last-first >= maxValues-uint64(len(want)) {
			return want, fmt.Errorf("expected a number, or a range such as 1..100, got %s", text)
		}
		for n := first; ; n++ {
			want = append(want, n)
			if n == last {
				break
			}
		}
		if l.AtEnd() {
			return want, nil
		}
	}
}

// Play has each client read the replies.
func (v values) Play(ctx context.Context, p *Play, who string) error {
	from := p.count().from
	return p.Each(ctx, who, func(c *Client) error { return c.values(v, from) })
}

// values reads replies, which are as wanted if the counter stood at from when the play began.
func (c *Client) values(v values, from uint64) error {
	var reply [8]byte
	for i, want := range v {
		want += from
		n, err := io.ReadFull(c, reply[:])
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = io.EOF
		}
		if err != nil {
			return fmt.Errorf("%s after %d bytes of reply %d; want the value %d", Why(err), n, i+1,
				want)
		}
		if got := binary.BigEndian.Uint64(reply[:]); got != want {
			return fmt.Errorf("got the value %d (%s), want %d", got, transcript.Short(reply[:]),
				want)
		}
	}
	return nil
}

// firstValues returns the replies that the first step with the verb value wants, or nil.
func firstValues(t *Transcript) values {
	for _, s := range t.Steps {
		if v, ok := s.Do.(values); ok {
			return v
		}
	}
	return nil
}

// count is what a play knows of the server's counter.
type count struct{ from uint64 } // where it stood when the play began

// count returns what the play knows of the counter.
func (p *Play) count() *count { return Keep(p, func() *count { return new(count) }) }

// countFrom asks a counter that has served other plays where it stands.
func (p *Play) countFrom(ctx context.Context) error {
	conn, err := p.Server.Dial(ctx, p.Server.Port, p.Deadline)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // nothing is under way
	if err := conn.SetDeadline(p.Deadline); err != nil {
		return err
	}
	if _, err := conn.Write([]byte{0}); err != nil {
		return err
	}
	var reply [8]byte
	_, err = io.ReadFull(conn, reply[:])
	p.count().from = binary.BigEndian.Uint64(reply[:])
	return err
}

// tally are the words of tally.
type tally struct{ count, pipeline int64 }

func readTally(l *Line) (t tally, err error) {
	t.pipeline = 1
	if t.count, err = l.Number("a number of increments", 1, 10_000_000); err != nil {
		return t, err
	}
	if l.Take("pipeline") {
		t.pipeline, err = l.Number("a number of requests in flight", 1, 100_000)
	}
	return t, err
}

// tallies lets all clients of a name increment at once. No increment is lost or doubled if all
// replies together are a range without a gap, each value once. The requests of one client are done
// in order if its own replies rise.
func tallies(ctx context.Context, p *Play, who string, t tally) error {
	group := p.Group(who)
	replies := make([][]uint64, len(group))
	index := map[*Client]int{}
	for i, c := range group {
		index[c] = i
	}
	err := p.Each(ctx, who, func(c *Client) (err error) {
		replies[index[c]], err = c.increments(t.count, t.pipeline)
		return err
	})
	if err != nil {
		return err
	}
	return contiguous(replies)
}

// increments sends count requests, keeps up to pipeline of them in flight, and returns the replies.
func (c *Client) increments(count, pipeline int64) ([]uint64, error) {
	requests := bytes.Repeat([]byte{1}, int(min(count, pipeline)))
	buffer := make([]byte, 8*len(requests))
	replies := make([]uint64, 0, count)
	sent, have := int64(0), 0
	for int64(len(replies)) < count {
		if free := min(pipeline-(sent-int64(len(replies))), count-sent); free > 0 {
			if _, err := c.Conn.Write(requests[:free]); err != nil {
				return nil, fmt.Errorf("%s after %d requests", Why(err), sent)
			}
			sent += free
		}
		n, err := io.ReadAtLeast(c.Conn, buffer[have:], 8-have)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = io.EOF
		}
		if err != nil {
			return nil, fmt.Errorf("%s after %d of %d replies", Why(err), len(replies), count)
		}
		have += n
		whole := have / 8 * 8
		for at := 0; at < whole; at += 8 {
			value := binary.BigEndian.Uint64(buffer[at:])
			if last := len(replies) - 1; last >= 0 && value <= replies[last] {
				return nil, fmt.Errorf("reply %d is %d after %d: its own increments must rise",
					last+2, value, replies[last])
			}
			replies = append(replies, value)
		}
		have = copy(buffer, buffer[whole:have])
	}
	return replies, nil
}

// contiguous checks that all values together are a range, each value once.
func contiguous(replies [][]uint64) error {
	all := slices.Concat(replies...)
	slices.Sort(all)
	for i := 1; i < len(all); i++ {
		switch before, value := all[i-1], all[i]; {
		case value == before:
			return fmt.Errorf("two increments were answered with %d: one is lost", value)
		case value != before+1:
			return fmt.Errorf("no increment was answered with %d: one was counted twice or its "+
				"reply is wrong", before+1)
		}
	}
	return nil
}
