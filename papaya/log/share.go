package log

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

// A server of a cluster may be away for longer than the stream keeps batches. It then starts from a
// saved state, and asks the other servers for the lines that its text lacks.
const (
	textSubject = "papaya.text"
	atHeader    = "Papaya-At"
	// textPart bounds one answer in bytes, below the limit of a message in NATS.
	textPart = 256 << 10
	// askTimeout bounds the wait for answers. A guess: the others read the lines from their disks.
	askTimeout = 2 * time.Second
)

// ErrNoText is returned by AskText when no other server has the lines.
var ErrNoText = errors.New("no other server has these lines")

// ShareText implements Log.
func (j *JetStream) ShareText(ctx context.Context, t *Text) error {
	s, err := j.current().nc.Subscribe(textSubject, func(m *nats.Msg) {
		from, err := strconv.ParseUint(string(m.Data), 10, 64)
		if err != nil {
			return // not a request of ours
		}
		if at, lines, err := t.lines(from); err == nil && len(lines) > 0 {
			// Without an answer the other server asks again.
			_ = m.RespondMsg(&nats.Msg{Header: nats.Header{atHeader: {strconv.FormatUint(at, 10)}},
				Data: lines})
		}
	})
	if err != nil {
		return fmt.Errorf("sharing the text: %w", err)
	}
	<-ctx.Done()
	if err := s.Unsubscribe(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		return fmt.Errorf("sharing the text: %w", err)
	}
	return nil
}

// lines returns some whole lines from an offset, or from the beginning if that is later.
func (t *Text) lines(from uint64) (at uint64, lines []byte, err error) {
	at = max(from, t.Begin())
	lines = make([]byte, textPart)
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
func (j *JetStream) AskText(ctx context.Context, from uint64) (at uint64, lines []byte, err error) {
	ctx, cancel := WithRunningTime(ctx, askTimeout)
	defer cancel()
	nc := j.current().nc
	inbox := nc.NewInbox()
	answers, err := nc.SubscribeSync(inbox)
	if err == nil {
		err = nc.PublishRequest(textSubject, inbox, strconv.AppendUint(nil, from, 10))
	}
	if err != nil {
		return 0, nil, fmt.Errorf("asking for the text: %w", err)
	}
	defer func() { _ = answers.Unsubscribe() }()
	for {
		m, err := answers.NextMsgWithContext(ctx)
		if err != nil { // all servers have answered
			break
		}
		place, bad := strconv.ParseUint(m.Header.Get(atHeader), 10, 64)
		if bad != nil || place < from || len(m.Data) == 0 || lines != nil && place >= at {
			continue
		}
		if at, lines = place, m.Data; at == from {
			break
		}
	}
	if lines == nil {
		return 0, nil, fmt.Errorf("at %d: %w", from, ErrNoText)
	}
	return at, lines, nil
}
