package play

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// What a transcript expects of standard output.

// stdoutWhole waits until standard output has as many lines as were sent, and holds them
// against the ledger.
func (p *play) stdoutWhole(ctx context.Context) error {
	want := p.sent.count
	pending, err := p.stdout.await(ctx, p.deadline,
		func(b []byte) bool { return bytes.Count(b, []byte("\n")) >= want })
	if err != nil && !errors.Is(err, errLate) {
		return err
	}
	late := err != nil
	used := 0
	for n := 1; n <= want; n++ {
		end := bytes.IndexByte(pending[used:], '\n')
		if end < 0 {
			break
		}
		if err := p.sent.take(pending[used : used+end+1]); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		used += end + 1
	}
	p.stdout.consume(used)
	if late {
		return fmt.Errorf("got %d of %d lines within the transcript's limit; %s is missing",
			want-p.sent.count, want, p.sent.missing())
	}
	return nil
}

// missing names one line that has not come.
func (l *ledger) missing() string {
	for line, e := range l.lines {
		if e.times > 0 {
			return short([]byte(line))
		}
	}
	return "none"
}

// stdoutText waits for exactly these bytes, from where the last look ended.
func (p *play) stdoutText(ctx context.Context, s *stdoutText) error {
	want, err := io.ReadAll(s.data.reader())
	if err != nil {
		return err
	}
	return p.stdoutBytes(ctx, want)
}

// stdoutFilled waits for what fill got rid of, which the line feed that a last line gets may end.
func (p *play) stdoutFilled(ctx context.Context, s *stdoutFilled) error {
	c := p.clients[s.who][0]
	want, err := io.ReadAll(io.LimitReader(c.filled.reader(), c.sent))
	if err != nil {
		return err
	}
	if !bytes.HasSuffix(want, []byte("\n")) {
		want = append(want, '\n')
	}
	return p.stdoutBytes(ctx, want)
}

func (p *play) stdoutBytes(ctx context.Context, want []byte) error {
	got, err := p.stdout.await(ctx, p.deadline, func(b []byte) bool {
		return len(b) >= len(want) || !bytes.HasPrefix(want, b)
	})
	if err != nil && !errors.Is(err, errLate) {
		return err
	}
	p.stdout.consume(min(len(got), len(want)))
	if bytes.HasPrefix(got, want) {
		return nil
	}
	right := 0
	for right < min(len(got), len(want)) && got[right] == want[right] {
		right++
	}
	return fmt.Errorf("after %d right bytes standard output has %s, want %s", right,
		short(got[right:]), short(want[right:]))
}
