package log

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"sync"

	"github.com/nats-io/nats.go/jetstream"
)

// table is Keys on a bucket of JetStream.
type table struct {
	j    *JetStream
	name string

	mu   sync.Mutex
	on   *connection // to the embedded server: that of kept
	kept jetstream.KeyValue
}

// Keys implements Log.
func (j *JetStream) Keys(ctx context.Context, name string) (Keys, error) {
	t := &table{j: j, name: "papaya-" + name}
	err := j.retryStart(ctx, func(ctx context.Context, replicas int) error {
		_, err := t.bucket(ctx)
		if errors.Is(err, jetstream.ErrBucketNotFound) {
			if err := j.checkSpace(0); err != nil {
				return err
			}
			_, err = j.current().js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: t.name,
				History: 1, Replicas: replicas})
		}
		if errors.Is(err, jetstream.ErrBucketExists) {
			err = nil
		}
		if err == nil && j.options.URL != "" {
			err = t.askLeader(ctx)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("opening the table %s: %w", name, err)
	}
	return t, nil
}

// askLeader has keys read from the leader of the bucket, by all servers. Any replica may answer a
// direct get, which is the default of buckets, and may not have the last change yet: an account
// that was just made would not be there, and an old password would still do.
func (t *table) askLeader(ctx context.Context) error {
	js := t.j.current().js
	s, err := js.Stream(ctx, "KV_"+t.name)
	if err != nil {
		return err
	}
	config := s.CachedInfo().Config
	if !config.AllowDirect {
		return nil
	}
	config.AllowDirect = false
	_, err = js.UpdateStream(ctx, config)
	return err
}

// bucket returns the bucket. It asks JetStream for it once for each start of the embedded server,
// and each time on a cluster, where others may change it.
func (t *table) bucket(ctx context.Context) (jetstream.KeyValue, error) {
	l := t.j.current()
	t.mu.Lock()
	on, kept := t.on, t.kept
	t.mu.Unlock()
	if on == l {
		return kept, nil
	}
	kv, err := l.js.KeyValue(ctx, t.name)
	if err == nil && l.embedded != nil {
		t.mu.Lock()
		t.on, t.kept = l, kv
		t.mu.Unlock()
	}
	return kv, err
}

// turn waits until another request for a key may be sent. Thousands of clients that log in at once
// must not make the batches of the log wait behind their requests.
func (j *JetStream) turn(ctx context.Context) (done func(), err error) {
	select {
	case j.asking <- struct{}{}:
		return func() { <-j.asking }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// begin waits for the turn of a request for a key, and returns the bucket. The caller calls done
// afterwards.
func (t *table) begin(ctx context.Context, doing, key string) (kv jetstream.KeyValue, done func(),
	err error) {
	if err := plainKey(key); err != nil {
		return nil, nil, err
	}
	if done, err = t.j.turn(ctx); err != nil {
		return nil, nil, t.failed(doing, key, err)
	}
	if kv, err = t.bucket(ctx); err != nil {
		done()
		return nil, nil, t.failed(doing, key, err)
	}
	return kv, done, nil
}

func (t *table) Get(ctx context.Context, key string) ([]byte, uint64, error) {
	kv, done, err := t.begin(ctx, "reading", key)
	if err != nil {
		return nil, 0, err
	}
	defer done()
	entry, err := kv.Get(ctx, key)
	if err != nil {
		return nil, 0, t.failed("reading", key, err)
	}
	return entry.Value(), entry.Revision(), nil
}

func (t *table) Put(ctx context.Context, key string, value []byte, revision uint64) error {
	kv, done, err := t.begin(ctx, "writing", key)
	if err != nil {
		return err
	}
	defer done()
	if err := t.j.checkSpace(len(value)); err != nil { // the server would not answer
		return t.failed("writing", key, err)
	}
	if revision == 0 {
		_, err = kv.Create(ctx, key, value)
	} else {
		_, err = kv.Update(ctx, key, value, revision)
	}
	return t.failed("writing", key, err)
}

func (t *table) Delete(ctx context.Context, key string, revision uint64) error {
	kv, done, err := t.begin(ctx, "deleting", key)
	if err != nil {
		return err
	}
	defer done()
	return t.failed("deleting", key, kv.Delete(ctx, key, jetstream.LastRevision(revision)))
}

func (t *table) Keys(ctx context.Context, prefix string) ([]string, error) {
	kv, err := t.bucket(ctx)
	if err != nil {
		return nil, t.failed("listing", prefix, err)
	}
	list, err := kv.ListKeys(ctx)
	if err != nil {
		return nil, t.failed("listing", prefix, err)
	}
	var keys []string
	for key := range list.Keys() {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// failed adds the operation and the key to an error, and maps it to an error of this package.
func (t *table) failed(doing, key string, err error) error {
	api, _ := errors.AsType[*jetstream.APIError](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrKeyNotFound):
		err = ErrNoKey
	case errors.Is(err, jetstream.ErrKeyExists), api != nil &&
		api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence:
		err = ErrRevision
	}
	return fmt.Errorf("%s %s in %s: %w", doing, key, t.name, err)
}

// partSize is in bytes, below the limit of a message in NATS.
const partSize = 512 << 10

// A head lists the parts of a state. Their names contain the sequence, so the last state stays
// complete until the next one is.
type head struct {
	Sequence uint64 `json:"sequence"`
	Parts    int    `json:"parts"`
	Sum      uint32 `json:"sum"`
}

// SaveState implements Log. On a cluster every server may save, and the newest state stays. States
// of one sequence are equal.
func (j *JetStream) SaveState(ctx context.Context, sequence uint64, state []byte) error {
	keys, err := j.Keys(ctx, "state")
	if err != nil {
		return err
	}
	was, revision, err := readHead(ctx, keys)
	if err != nil || revision > 0 && was.Sequence >= sequence {
		return err
	}
	if err := j.checkSpace(len(state)); err != nil {
		return fmt.Errorf("saving the state: %w", err)
	}
	kv, err := j.current().js.KeyValue(ctx, "papaya-state")
	if err != nil {
		return fmt.Errorf("saving the state: %w", err)
	}
	now := head{Sequence: sequence, Sum: crc32.ChecksumIEEE(state)}
	for rest := state; len(rest) > 0; now.Parts++ {
		part := rest[:min(partSize, len(rest))]
		rest = rest[len(part):]
		if _, err := kv.Put(ctx, partName(sequence, now.Parts), part); err != nil {
			return fmt.Errorf("saving the state: %w", err)
		}
	}
	text, err := json.Marshal(now)
	if err != nil {
		return err
	}
	if err := keys.Put(ctx, "head", text, revision); err != nil {
		return err
	}
	for n := range was.Parts {
		if err := kv.Purge(ctx, partName(was.Sequence, n)); err != nil {
			return fmt.Errorf("removing an old state: %w", err)
		}
	}
	return nil
}

// LoadState implements Log.
func (j *JetStream) LoadState(ctx context.Context) (sequence uint64, state []byte, err error) {
	keys, err := j.Keys(ctx, "state")
	if err != nil {
		return 0, nil, err
	}
	err = j.retryStart(ctx, func(ctx context.Context, _ int) error {
		sequence, state, err = loadState(ctx, keys)
		return err
	})
	return sequence, state, err
}

func loadState(ctx context.Context, keys Keys) (uint64, []byte, error) {
	h, revision, err := readHead(ctx, keys)
	if err != nil || revision == 0 {
		return 0, nil, err
	}
	var state bytes.Buffer
	for n := range h.Parts {
		part, _, err := keys.Get(ctx, partName(h.Sequence, n))
		if err != nil {
			return 0, nil, err
		}
		state.Write(part)
	}
	if sum := crc32.ChecksumIEEE(state.Bytes()); sum != h.Sum {
		return 0, nil, fmt.Errorf("the saved state has the sum %08x, not %08x", sum, h.Sum)
	}
	return h.Sequence, state.Bytes(), nil
}

func readHead(ctx context.Context, keys Keys) (h head, revision uint64, err error) {
	text, revision, err := keys.Get(ctx, "head")
	if errors.Is(err, ErrNoKey) {
		return head{}, 0, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &h)
	}
	return h, revision, err
}

func partName(sequence uint64, part int) string { return fmt.Sprintf("part.%d.%d", sequence, part) }
