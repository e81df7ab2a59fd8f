package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"path/filepath"

	"go.etcd.io/bbolt"

	"interleave/papaya/corpus"
)

// A tree keeps messages in a B+ tree of bbolt. A key is a conversation, NUL, a time and a number,
// so the messages of a conversation stand side by side. There is no search: it would need an index
// of words of our own, as the text does.
type tree struct {
	db     *bbolt.DB
	now    int64
	number uint64
	last   row // that was read
}

var bucket = []byte("messages")

func openBolt(_ context.Context, folder string) (store, error) {
	db, err := bbolt.Open(filepath.Join(folder, "messages.bolt"), 0o600, nil)
	if err != nil {
		return nil, err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucket(bucket)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &tree{db: db, now: entered}, nil
}

func (t *tree) fill(messages int) error {
	t.db.NoSync = true
	defer func() { t.db.NoSync = false }()
	if err := fillBy(t.store, messages); err != nil {
		return err
	}
	t.now += returned
	return t.db.Sync()
}

func (t *tree) append(said []corpus.Message) error { return t.store(said, len(said)) }

// store stores messages in one transaction. So many of them are said at the same time.
func (t *tree) store(said []corpus.Message, perBatch int) error {
	return t.db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucket)
		for i, m := range said {
			if i%perBatch == 0 {
				t.now += corpus.Between
			}
			t.number++
			value := append([]byte(corpus.Account(m.From)), 0)
			value = append(value, m.Text...)
			err := b.Put(key(conversation(m.From, m.Target), t.now, t.number), value)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func key(conversation string, time int64, number uint64) []byte {
	k := append([]byte(conversation), 0)
	k = binary.BigEndian.AppendUint64(k, uint64(time))
	return binary.BigEndian.AppendUint64(k, number)
}

func (t *tree) page(target string, before int64) (n int, err error) {
	name := conversation(0, target)
	prefix := append([]byte(name), 0)
	if before == 0 {
		before = 1<<63 - 1
	}
	err = t.db.View(func(tx *bbolt.Tx) error {
		c := tx.Bucket(bucket).Cursor()
		last := c.Prev
		if k, _ := c.Seek(key(name, before, 0)); k == nil {
			last = c.Last
		}
		k, v := last()
		for ; n < pageSize && bytes.HasPrefix(k, prefix); k, v = c.Prev() {
			from, text, _ := bytes.Cut(v, []byte{0})
			at := binary.BigEndian.Uint64(k[len(prefix):])
			t.last = row{int64(at), string(from), string(text)}
			n++
		}
		return nil
	})
	return n, err
}

func (t *tree) search(string, []string) (int, error) { return 0, errNone }
func (t *tree) close() error                         { return t.db.Close() }
