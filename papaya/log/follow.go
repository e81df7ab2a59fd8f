package log

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// ahead is how many batches the client fetches ahead. heartbeat is the period of the server's
// heartbeats: a follower asks another node after two of them are missing. Both are guesses.
const (
	ahead     = 256
	heartbeat = 1 * time.Second
)

// Follow implements Log. After an error that is not from ctx or each, it starts again after the
// last batch.
func (j *JetStream) Follow(ctx context.Context, after uint64,
	each func(uint64, []byte) error) error {
	for {
		err := j.read(ctx, &after, each)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if stop, ok := errors.AsType[*stopped](err); ok {
			return stop.error
		}
		if pause(ctx, retryEvery) != nil {
			return ctx.Err()
		}
	}
}

// stopped wraps an error of each, which ends Follow.
type stopped struct{ error }

func (j *JetStream) read(ctx context.Context, after *uint64,
	each func(uint64, []byte) error) error {
	js := j.current().js
	consumer, err := js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: *after + 1,
		InactiveThreshold: time.Minute,
	})
	if err != nil {
		return fmt.Errorf("following the log: %w", err)
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(ahead),
		jetstream.PullExpiry(30*time.Second), jetstream.PullHeartbeat(heartbeat))
	if err != nil {
		return fmt.Errorf("following the log: %w", err)
	}
	end := context.AfterFunc(ctx, messages.Stop)
	defer end()
	defer messages.Stop()
	for {
		m, err := messages.Next()
		if err != nil {
			return fmt.Errorf("following the log: %w", err)
		}
		about, err := m.Metadata()
		if err != nil {
			return fmt.Errorf("following the log: %w", err)
		}
		if about.Sequence.Stream <= *after {
			continue
		}
		if err := each(about.Sequence.Stream, m.Data()); err != nil {
			return &stopped{err}
		}
		*after = about.Sequence.Stream
	}
}
