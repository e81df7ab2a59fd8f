package play

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// tally lets all clients of a group increment at once. Nothing is lost and nothing doubled exactly
// when the replies of all together are a range without a gap, each value once; requests of one
// client are done in order exactly when its own replies rise.
func (p *play) tally(ctx context.Context, who string, t *tally) error {
	group := p.clients[who]
	replies := make([][]uint64, len(group))
	index := map[*client]int{}
	for i, c := range group {
		index[c] = i
	}
	err := p.each(ctx, who, func(c *client) (err error) {
		replies[index[c]], err = c.increments(t.count, t.pipeline)
		return err
	})
	if err != nil {
		return err
	}
	return contiguous(replies)
}

// increments sends count requests, keeps some in flight, and returns the replies.
func (c *client) increments(count, pipeline int64) ([]uint64, error) {
	requests := bytes.Repeat([]byte{1}, int(min(count, pipeline)))
	buffer := make([]byte, 8*len(requests))
	replies := make([]uint64, 0, count)
	sent, have := int64(0), 0
	for int64(len(replies)) < count {
		if free := min(pipeline-(sent-int64(len(replies))), count-sent); free > 0 {
			if _, err := c.conn.Write(requests[:free]); err != nil {
				return nil, fmt.Errorf("%s after %d requests", why(err), sent)
			}
			sent += free
		}
		n, err := io.ReadAtLeast(c.conn, buffer[have:], 8-have)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = io.EOF
		}
		if err != nil {
			return nil, fmt.Errorf("%s after %d of %d replies", why(err), len(replies), count)
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
