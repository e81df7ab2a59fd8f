// Package log keeps what has been said and done in one order for all: in a stream of NATS
// JetStream, embedded in the program or on a cluster, and as a text that people read.
// Docs/decisions/0009 says why there are two.
package log

import (
	"context"
	"errors"
)

// ErrRefused is why an Append has certainly stored nothing: no room on the disk, the folder is
// gone, nobody leads the stream. What it wraps says which.
var ErrRefused = errors.New("the log cannot be written")

// What Keys answers, besides trouble.
var (
	ErrNoKey    = errors.New("no such key")
	ErrRevision = errors.New("somebody else has changed the key")
)

// A Log is a stream of batches in one order, which all servers that share it see alike, and tables
// of keys beside it. Any goroutine may call it.
type Log interface {
	// Append stores a batch behind all that is stored and returns when it is on the disk (of most
	// nodes, where there are several). After any error but ErrRefused nobody knows whether it was
	// stored: who tries again may store it twice, so batches carry a number of their own and
	// readers skip what they have had.
	Append(ctx context.Context, batch []byte) (sequence uint64, err error)
	// Follow hands over every batch after a sequence, in order and without a gap, until ctx ends
	// or each fails. Batches that are no longer kept are skipped: the state that was saved
	// stands for them.
	Follow(ctx context.Context, after uint64, each func(sequence uint64, batch []byte) error) error
	// Last is the sequence of the newest batch, 0 in an empty log.
	Last(ctx context.Context) (uint64, error)
	// SaveState keeps what all batches up to a sequence have come to; LoadState returns the newest,
	// 0 and nil if none.
	SaveState(ctx context.Context, sequence uint64, state []byte) error
	LoadState(ctx context.Context) (sequence uint64, state []byte, err error)
	// Forget lets go of the batches up to a sequence: a state that was saved stands for them.
	Forget(ctx context.Context, sequence uint64) error
	// ShareText answers other servers that ask for lines of this one's text, until ctx ends.
	// AskText asks them for lines from a place: it returns some, from there or, where nobody has
	// these any more, from a later place; ErrNoText if nobody has any.
	ShareText(ctx context.Context, t *Text) error
	AskText(ctx context.Context, from uint64) (at uint64, lines []byte, err error)
	// Keys opens a table, and makes it if it is not there. A name is of letters, digits and dashes.
	Keys(ctx context.Context, table string) (Keys, error)
	Close() error
}

// Keys is a table of small values, shared by all servers of the log; each change is on the disk
// when it returns.
type Keys interface {
	// Get returns a value and its revision, or ErrNoKey.
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	// Put changes a key that still has this revision, 0 for one that must not exist;
	// else ErrRevision.
	Put(ctx context.Context, key string, value []byte, revision uint64) error
	// Delete removes a key that still has this revision; else ErrRevision.
	Delete(ctx context.Context, key string, revision uint64) error
	// Keys lists the keys that begin with prefix.
	Keys(ctx context.Context, prefix string) ([]string, error)
}
