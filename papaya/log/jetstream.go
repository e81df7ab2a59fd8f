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

// Papaya's names in a cluster of NATS that may have other users.
const (
	stream  = "PAPAYA"
	subject = "papaya.log"
)

const (
	// MaxBatch is in bytes: below 1 MiB, the default limit of a message in NATS.
	MaxBatch = 768 << 10
	// answerTimeout bounds one answer of JetStream. A guess: with a busy disk an answer has taken
	// one second.
	answerTimeout = 3 * time.Second
	// keysAtOnce bounds the requests for keys that wait for JetStream. A guess.
	keysAtOnce = 64
	// retryEvery is the pause before a stream without a leader is tried again.
	retryEvery = 100 * time.Millisecond
)

// Options say where the stream is.
type Options struct {
	Folder   string // for the files of the embedded server
	URL      string // of a NATS cluster, instead of the embedded server
	Replicas int    // on a cluster; 0: three, or one if there are fewer nodes
	// the stream's size limit, beyond which the oldest batches are dropped; 0: 1 GiB
	Bytes   int64
	Age     time.Duration // the age limit of batches; 0: none
	Name    string        // the name of this connection in NATS
	Connect []nats.Option // for a cluster: certificates and the like
	Trouble func(error)   // is told what NATS says beside the answers to requests; nil: nobody
}

// JetStream is a Log on NATS JetStream.
type JetStream struct {
	options Options
	id      string        // tells this server's questions for lines of the text from others'
	asking  chan struct{} // holds the requests for keys that are under way

	mu     sync.Mutex // guards the fields that a restart of the embedded server changes
	conn   *connection
	last   uint64 // the last acknowledged sequence
	broken error  // why the embedded server must be restarted
	closed bool

	space func(folder string, size int) error // checkSpace, unless a test replaces it
}

// checkSpace reports an error if the disk of the embedded server has no room for a value.
func (j *JetStream) checkSpace(size int) error {
	if j.options.URL != "" {
		return nil
	}
	return j.space(j.options.Folder, size)
}

// A connection is one to JetStream, with the embedded server if there is one.
type connection struct {
	embedded *embedded
	nc       *nats.Conn
	js       jetstream.JetStream
}

// Open starts the embedded server or connects to a cluster. It creates the stream if there is none.
func Open(ctx context.Context, o Options) (*JetStream, error) {
	if o.Bytes == 0 {
		o.Bytes = 1 << 30
	}
	j := &JetStream{options: o, id: nats.NewInbox(), space: checkSpace,
		asking: make(chan struct{}, keysAtOnce)}
	l, err := j.dial(ctx, 1)
	if err != nil {
		return nil, err
	}
	j.conn = l
	if j.last, err = j.Last(ctx); err != nil {
		l.close()
		return nil, err
	}
	return j, nil
}

// dial connects, and creates the stream if there is none; its first batch then gets the sequence
// first.
func (j *JetStream) dial(ctx context.Context, first uint64) (*connection, error) {
	l := &connection{}
	var err error
	options := append([]nats.Option{nats.Name(j.options.Name), nats.MaxReconnects(-1),
		nats.ReconnectWait(retryEvery),
		nats.RetryOnFailedConnect(j.options.URL != ""),
		// Without this, NATS writes to standard error.
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if tell := j.options.Trouble; tell != nil {
				tell(err)
			}
		})}, j.options.Connect...)
	if j.options.URL == "" {
		if l.embedded, err = startEmbedded(j.options.Folder); err != nil {
			return nil, err
		}
		options = append(options, nats.InProcessServer(l.embedded.server),
			nats.Timeout(startTimeout))
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

// makeStream creates the stream if there is none. A cluster that has just started may need some
// time for it.
func (j *JetStream) makeStream(ctx context.Context, js jetstream.JetStream, first uint64) error {
	config := jetstream.StreamConfig{
		Name: stream, Subjects: []string{subject}, Storage: jetstream.FileStorage,
		Retention: jetstream.LimitsPolicy,
		Discard:   jetstream.DiscardOld, MaxBytes: j.options.Bytes, MaxAge: j.options.Age,
		AllowDirect: true, FirstSeq: first,
		Description: "what has happened in the rooms of Papaya",
	}
	return j.retryStart(ctx, func(ctx context.Context, replicas int) error {
		_, err := js.Stream(ctx, stream)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			if err := j.checkSpace(0); err != nil {
				return err
			}
			config.Replicas = replicas
			_, err = js.CreateStream(ctx, config)
		}
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return nil
		}
		return err
	})
}

// A cluster that has just started may need openTimeout to elect a leader, and fewAfter until all
// nodes are there. Both are guesses.
const (
	openTimeout = 45 * time.Second
	fewAfter    = 15 * time.Second
)

// retryStart tries an operation that a starting cluster may refuse, until it succeeds. It begins
// with the wanted number of replicas, and lowers it to one if there are too few nodes.
func (j *JetStream) retryStart(ctx context.Context, do func(ctx context.Context,
	replicas int) error) error {
	ctx, cancel := WithRunningTime(ctx, openTimeout)
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

// JetStream's errors when there are fewer nodes than replicas: never enough, or not enough now.
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

func (l *connection) close() {
	if l.nc != nil {
		l.nc.Close()
	}
	if l.embedded != nil {
		l.embedded.stop()
	}
}

// current returns the current connection.
func (j *JetStream) current() *connection {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.conn
}

// Append implements Log. It must not be called concurrently: the batches would be stored in another
// order.
func (j *JetStream) Append(ctx context.Context, batch []byte) (uint64, error) {
	if j.options.URL == "" {
		return j.appendEmbedded(ctx, batch)
	}
	doubt := error(nil) // a try that was sent and not answered
	for {
		sequence, err := publish(ctx, j.current().js, batch)
		if err == nil {
			return sequence, nil
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

// refused says whether an error of Publish means that the batch was not stored.
func refused(err error) bool {
	_, api := errors.AsType[*jetstream.APIError](err)
	return api || errors.Is(err, jetstream.ErrNoStreamResponse) ||
		errors.Is(err, nats.ErrNoResponders)
}

// appendEmbedded appends to the embedded server, which has no other writer. After a failure the
// server is restarted. Its last sequence then tells whether the batch was stored.
func (j *JetStream) appendEmbedded(ctx context.Context, batch []byte) (uint64, error) {
	j.mu.Lock()
	l, broken := j.conn, j.broken
	j.mu.Unlock()
	if err := j.checkSpace(len(batch)); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	switch other, err := l.embedded.replaced(); {
	case err != nil:
		return 0, fmt.Errorf("%w: %w", ErrRefused, err)
	case other && broken == nil:
		broken = fmt.Errorf("%s was removed or replaced", j.options.Folder)
	}
	if broken != nil {
		if err := j.restart(ctx, broken); err != nil {
			return 0, fmt.Errorf("%w: %w", ErrRefused, err)
		}
		l = j.current()
	}
	sequence, err := publish(ctx, l.js, batch)
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil {
		j.broken = err
		return 0, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	j.last = sequence
	return sequence, nil
}

// restart restarts the embedded server after a failure. It removes a batch that was stored without
// an acknowledgement.
func (j *JetStream) restart(ctx context.Context, why error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return errors.New("the log is closed")
	}
	j.broken = why
	j.conn.close()
	l, err := j.dial(ctx, j.last+1)
	if err != nil {
		return fmt.Errorf("after %w: %w", why, err)
	}
	j.conn = l
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
	err := j.retryStart(ctx, func(ctx context.Context, _ int) error {
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
		j.conn.close()
	}
	return nil
}

// plainKey returns an error for a key that NATS does not allow, which is a mistake of the caller.
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

// publish appends one batch, and waits for the answer.
func publish(ctx context.Context, js jetstream.JetStream, batch []byte) (sequence uint64,
	err error) {
	err = ask(ctx, func(ctx context.Context) error {
		ack, err := js.Publish(ctx, subject, batch, jetstream.WithRetryAttempts(0))
		if err == nil {
			sequence = ack.Sequence
		}
		return err
	})
	return sequence, err
}

// ask bounds one request. A request that was lost is so sent again.
func ask(ctx context.Context, do func(context.Context) error) error {
	within, cancel := WithRunningTime(ctx, answerTimeout)
	defer cancel()
	err := do(within)
	if cause := context.Cause(within); cause != nil && errors.Is(err, context.Canceled) {
		return cause
	}
	return err
}
