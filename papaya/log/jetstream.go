package log

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The names below which Papaya keeps what is its own in a cluster that has other users too.
const (
	stream  = "PAPAYA"
	subject = "papaya.log"
)

const (
	// MaxBatch is in bytes: a batch that any NATS takes, whose messages have 1 MiB at most unless
	// it is told otherwise.
	MaxBatch = 768 << 10
	// answerTimeout is how long JetStream may take for one answer. A guess: a disk that is busy has
	// been seen to take one second.
	answerTimeout = 3 * time.Second
	// retryEvery is the pause between two tries to reach a stream that nobody leads at the moment.
	retryEvery = 100 * time.Millisecond
)

// Options says where the stream is.
type Options struct {
	Folder   string        // of the embedded server's files
	URL      string        // of a NATS cluster; nothing is embedded then
	Replicas int           // on a cluster; 0 is three, or one where there are fewer nodes
	Bytes    int64         // the stream keeps so much, the oldest goes first; 0 is 1 GiB
	Age      time.Duration // and for so long; 0 is for ever
	Name     string        // of this client of NATS, in its lists
	Connect  []nats.Option // for a cluster: names, certificates
}

// JetStream is a Log on NATS JetStream.
type JetStream struct {
	options Options

	mu     sync.Mutex // guards what a new start of the embedded server changes
	line   *line
	last   uint64 // the newest sequence that was acknowledged here
	broken error  // why the embedded server has to be started anew
	closed bool
}

// A line is a connection to JetStream, and the embedded server behind it if there is one.
type line struct {
	embedded *embedded
	nc       *nats.Conn
	js       jetstream.JetStream
}

// Open starts the embedded server, or connects to a cluster, and makes the stream if
// it is not there.
func Open(ctx context.Context, o Options) (*JetStream, error) {
	if o.Bytes == 0 {
		o.Bytes = 1 << 30
	}
	j := &JetStream{options: o}
	l, err := j.dial(ctx, 1)
	if err != nil {
		return nil, err
	}
	j.line = l
	if j.last, err = j.Last(ctx); err != nil {
		l.close()
		return nil, err
	}
	return j, nil
}

// dial makes a line whose stream exists; a new one begins with the sequence first.
func (j *JetStream) dial(ctx context.Context, first uint64) (*line, error) {
	l := &line{}
	var err error
	options := append([]nats.Option{nats.Name(j.options.Name), nats.MaxReconnects(-1),
		nats.ReconnectWait(retryEvery),
		nats.RetryOnFailedConnect(j.options.URL != "")}, j.options.Connect...)
	if j.options.URL == "" {
		if l.embedded, err = startEmbedded(j.options.Folder); err != nil {
			return nil, err
		}
		options = append(options, nats.InProcessServer(l.embedded.server))
	}
	if l.nc, err = nats.Connect(j.options.URL, options...); err != nil {
		l.close()
		return nil, fmt.Errorf("connecting to NATS %s: %w", j.options.URL, err)
	}
	if l.js, err = jetstream.New(l.nc); err == nil {
		err = j.makeStream(ctx, l.js, first)
	}
	if err != nil {
		l.close()
		return nil, fmt.Errorf("opening the stream %s: %w", stream, err)
	}
	return l, nil
}

// makeStream makes the stream if it is not there. A cluster that has just started may not be
// able to at once.
func (j *JetStream) makeStream(ctx context.Context, js jetstream.JetStream, first uint64) error {
	config := jetstream.StreamConfig{
		Name: stream, Subjects: []string{subject}, Storage: jetstream.FileStorage,
		Retention: jetstream.LimitsPolicy,
		Discard:   jetstream.DiscardOld, MaxBytes: j.options.Bytes, MaxAge: j.options.Age,
		AllowDirect: true, FirstSeq: first,
		Description: "what has happened in the rooms of Papaya",
	}
	return j.patiently(ctx, func(ctx context.Context, replicas int) error {
		_, err := js.Stream(ctx, stream)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			config.Replicas = replicas
			_, err = js.CreateStream(ctx, config)
		}
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return nil
		}
		return err
	})
}

// A cluster that has just started may need openTimeout until somebody leads it, and fewAfter until
// all nodes are there. Both are guesses.
const (
	openTimeout = 45 * time.Second
	fewAfter    = 15 * time.Second
)

// patiently does what a cluster may not be able to do at once, with as many copies as are asked for
// or as it has nodes.
func (j *JetStream) patiently(ctx context.Context, do func(ctx context.Context,
	replicas int) error) error {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	begin, replicas := time.Now(), j.options.Replicas
	if replicas == 0 {
		replicas = 3
	}
	if j.options.URL == "" {
		return do(ctx, 1)
	}
	for {
		err := ask(ctx, func(ctx context.Context) error { return do(ctx, replicas) })
		if err == nil {
			return nil
		}
		api, _ := errors.AsType[*jetstream.APIError](err)
		if api != nil && j.options.Replicas == 0 && (api.ErrorCode == noCluster ||
			api.ErrorCode == noPeers && time.Since(begin) > fewAfter) {
			replicas = 1
		}
		if pause(ctx, retryEvery) != nil {
			return err
		}
	}
}

// What JetStream answers where more copies are asked for than there are nodes: at all,
// or at the moment.
const (
	noCluster jetstream.ErrorCode = 10074
	noPeers   jetstream.ErrorCode = 10005
)

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func (l *line) close() {
	if l.nc != nil {
		l.nc.Close()
	}
	if l.embedded != nil {
		l.embedded.stop()
	}
}

// current is the line as it is now.
func (j *JetStream) current() *line {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.line
}

// Append implements Log. There is one at a time for each server, or their order would not be
// that of the calls.
func (j *JetStream) Append(ctx context.Context, batch []byte) (uint64, error) {
	if j.options.URL == "" {
		return j.appendEmbedded(ctx, batch)
	}
	doubt := error(nil) // a try that was sent and not answered
	for {
		answer, cancel := context.WithTimeout(ctx, answerTimeout)
		ack, err := j.current().js.Publish(answer, subject, batch, jetstream.WithRetryAttempts(0))
		cancel()
		if err == nil {
			return ack.Sequence, nil
		}
		if !refused(err) {
			doubt = err
		}
		if pause(ctx, retryEvery) == nil {
			continue
		}
		if doubt != nil {
			return 0, fmt.Errorf("the log does not answer: %w", doubt)
		}
		return 0, fmt.Errorf("%w: %w", ErrRefused, err)
	}
}

// refused says whether an error of Publish means that nothing was stored.
func refused(err error) bool {
	_, api := errors.AsType[*jetstream.APIError](err)
	return api || errors.Is(err, jetstream.ErrNoStreamResponse) ||
		errors.Is(err, nats.ErrNoResponders)
}

// appendEmbedded knows where it is: nobody else writes, so after a failure the server is started
// anew, and what is in the stream then tells whether the batch was stored.
func (j *JetStream) appendEmbedded(ctx context.Context, batch []byte) (uint64, error) {
	j.mu.Lock()
	l, broken := j.line, j.broken
	j.mu.Unlock()
	if err := room(j.options.Folder, len(batch)); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	switch other, err := l.embedded.other(); {
	case err != nil:
		return 0, fmt.Errorf("%w: %w", ErrRefused, err)
	case other && broken == nil:
		broken = fmt.Errorf("%s was taken away", j.options.Folder)
	}
	if broken != nil {
		if err := j.restart(ctx, broken); err != nil {
			return 0, fmt.Errorf("%w: %w", ErrRefused, err)
		}
		l = j.current()
	}
	answer, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	ack, err := l.js.Publish(answer, subject, batch, jetstream.WithRetryAttempts(0))
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil {
		j.broken = err
		return 0, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	j.last = ack.Sequence
	return ack.Sequence, nil
}

// restart starts the embedded server anew after a failure, and removes what it had stored
// without saying so.
func (j *JetStream) restart(ctx context.Context, why error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return errors.New("the log is closed")
	}
	j.broken = why
	j.line.close()
	l, err := j.dial(ctx, j.last+1)
	if err != nil {
		return fmt.Errorf("after %w: %w", why, err)
	}
	j.line = l
	s, err := l.js.Stream(ctx, stream)
	if err != nil {
		return err
	}
	for sequence := s.CachedInfo().State.LastSeq; sequence > j.last; sequence-- {
		if err := s.DeleteMsg(ctx, sequence); err != nil {
			return err
		}
	}
	j.last = max(j.last, s.CachedInfo().State.LastSeq)
	j.broken = nil
	return nil
}

// Last implements Log.
func (j *JetStream) Last(ctx context.Context) (uint64, error) {
	var last uint64
	err := j.patiently(ctx, func(ctx context.Context, _ int) error {
		s, err := j.current().js.Stream(ctx, stream)
		if err == nil {
			last = s.CachedInfo().State.LastSeq
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("asking for the end of the log: %w", err)
	}
	return last, nil
}

// Forget implements Log.
func (j *JetStream) Forget(ctx context.Context, sequence uint64) error {
	s, err := j.current().js.Stream(ctx, stream)
	if err == nil {
		err = s.Purge(ctx, jetstream.WithPurgeSequence(sequence+1))
	}
	if err != nil {
		return fmt.Errorf("forgetting batches up to %d: %w", sequence, err)
	}
	return nil
}

// Close implements Log.
func (j *JetStream) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.closed {
		j.closed = true
		j.line.close()
	}
	return nil
}

// plainKey says whether NATS takes a key as it is; what it does not take is a mistake
// of the caller.
func plainKey(key string) error {
	bad := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("-/_=.", r))
	}
	if key == "" || strings.ContainsFunc(key, bad) || key[0] == '.' || key[len(key)-1] == '.' ||
		strings.Contains(key, "..") {
		return fmt.Errorf("key %q: letters, digits and -/_=. only, and no empty part", key)
	}
	return nil
}

// ask bounds one question, so that one that is lost is asked again.
func ask(ctx context.Context, do func(context.Context) error) error {
	within, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	return do(within)
}
