package log

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

// A server of a cluster may be away for longer than the stream keeps batches. It then starts from a
// saved state, and asks the other servers for the lines that its text lacks. A question may be
// lost, or come before another server can answer: then it is asked again.
const (
	textSubject = "papaya.text"
	atHeader    = "Papaya-At"
	fromHeader  = "Papaya-From" // the server that asks
	toHeader    = "Papaya-To"   // lines from this offset on are not wanted
	// textPart bounds one answer in bytes, below the limit of a message in NATS.
	textPart = 256 << 10
	// flushTimeout bounds the wait until NATS knows that this server answers. A guess.
	flushTimeout = 2 * time.Second
)

// ErrNoText is returned by AskText when no other server has the lines.
var ErrNoText = errors.New("no other server has these lines")

// ShareText implements Log.
func (j *JetStream) ShareText(ctx context.Context, t *Text) error {
	nc := j.current().nc
	s, err := nc.Subscribe(textSubject, func(m *nats.Msg) {
		from, err := strconv.ParseUint(string(m.Data), 10, 64)
		if err != nil || m.Header.Get(fromHeader) == j.id {
			return // not a request of ours, or this server's own
		}
		to, err := strconv.ParseUint(m.Header.Get(toHeader), 10, 64)
		if err != nil { // an earlier version asks for all
			to = math.MaxUint64
		}
		if at, lines, err := t.Lines(from); err == nil && len(lines) > 0 && at < to {
			// Without an answer the other server asks again.
			_ = m.RespondMsg(&nats.Msg{Header: nats.Header{atHeader: {strconv.FormatUint(at, 10)}},
				Data: lines})
		}
	})
	if err != nil {
		return fmt.Errorf("sharing the text: %w", err)
	}
	// After an error the connection is closed, and the subscription has ended with it.
	context.AfterFunc(ctx, func() { _ = s.Unsubscribe() })
	within, cancel := WithRunningTime(ctx, flushTimeout)
	defer cancel()
	if err := nc.FlushWithContext(within); err != nil {
		return fmt.Errorf("sharing the text: %w", err)
	}
	return nil
}

// Lines returns some whole lines from an offset on, or from a later one if the text begins later or
// lacks the first ones. It returns none at the end.
func (t *Text) Lines(from uint64) (at uint64, lines []byte, err error) {
	at, to := t.present(from)
	lines = make([]byte, min(textPart, to-at))
	n := 0
	for n < len(lines) && err == nil {
		var more int
		more, err = t.ReadAt(lines[n:], at+uint64(n))
		n += more
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, nil, err
	}
	return at, lines[:bytes.LastIndexByte(lines[:n], '\n')+1], nil
}

// AskText implements Log.
func (j *JetStream) AskText(ctx context.Context, r Range, wait time.Duration) (at uint64,
	lines []byte, err error) {
	ctx, cancel := WithRunningTime(ctx, wait)
	defer cancel()
	nc := j.current().nc
	inbox := nc.NewInbox()
	answers, err := nc.SubscribeSync(inbox)
	if err == nil {
		err = nc.PublishMsg(&nats.Msg{Subject: textSubject, Reply: inbox,
			Header: nats.Header{fromHeader: {j.id}, toHeader: {strconv.FormatUint(r.To, 10)}},
			Data:   strconv.AppendUint(nil, r.From, 10)})
	}
	if err != nil {
		return 0, nil, fmt.Errorf("asking for the text: %w", err)
	}
	defer func() { _ = answers.Unsubscribe() }()
	for {
		m, err := answers.NextMsgWithContext(ctx)
		if err != nil { // no other server is there, or all have had time to answer
			break
		}
		place, bad := strconv.ParseUint(m.Header.Get(atHeader), 10, 64)
		if bad != nil || place < r.From || place >= r.To ||
			!bytes.HasSuffix(m.Data, []byte("\n")) || lines != nil && place >= at {
			continue
		}
		if at, lines = place, m.Data; at == r.From {
			break
		}
	}
	if lines == nil {
		return 0, nil, fmt.Errorf("at %d: %w", r.From, ErrNoText)
	}
	return at, lines[:min(uint64(len(lines)), r.To-at)], nil
}
