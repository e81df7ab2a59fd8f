// Package log keeps what happens in the chat in one order for all servers. It keeps it twice: in a
// stream of NATS JetStream, embedded in the program or on a cluster, and as a text that people can
// read. Docs/decisions/0009 says why.
package log

import (
	"context"
	"errors"
	"time"
)

// ErrRefused means that Append has stored nothing: the disk is full, the folder is gone, or the
// stream has no leader. The error wraps the reason.
var ErrRefused = errors.New("the log cannot be written")

// The errors of Keys, besides failures.
var (
	ErrNoKey    = errors.New("no such key")
	ErrRevision = errors.New("the key was changed in the meantime")
)

// A Log is a stream of batches in one order, the same for all servers that share it, with tables of
// keys. Any goroutine may call it.
type Log interface {
	// Append stores a batch after all others. It returns when the batch is on the disk, in a
	// cluster on the disks of most nodes. After an error other than ErrRefused the batch may have
	// been stored. A second try may store it twice, so batches carry a number, and readers skip a
	// number that they have read.
	Append(ctx context.Context, batch []byte) (sequence uint64, err error)
	// Follow calls each with every batch after a sequence, in order and without a gap, until ctx
	// ends or each fails. Batches that were dropped are skipped, because a saved state contains
	// them.
	Follow(ctx context.Context, after uint64, each func(sequence uint64, batch []byte) error) error
	// Last returns the sequence of the newest batch, 0 in an empty log.
	Last(ctx context.Context) (uint64, error)
	// SaveState keeps the state after the batch with a sequence. LoadState returns the newest saved
	// state, or 0 and nil.
	SaveState(ctx context.Context, sequence uint64, state []byte) error
	LoadState(ctx context.Context) (sequence uint64, state []byte, err error)
	// Forget drops the batches up to a sequence, because a saved state contains them.
	Forget(ctx context.Context, sequence uint64) error
	// ShareText has other servers that ask for lines of the text answered until ctx ends. They can
	// ask when it returns; after an error, they can when NATS can be reached. AskText asks them for
	// the lines of a part, and waits for answers. It returns some of them: from its beginning on,
	// or after the wait from a later offset if no server has sent the first ones, or ErrNoText.
	ShareText(ctx context.Context, t *Text) error
	AskText(ctx context.Context, r Range, wait time.Duration) (at uint64, lines []byte, err error)
	// Keys opens a table, and creates it if there is none. Its name has letters, digits and dashes.
	Keys(ctx context.Context, table string) (Keys, error)
	Close() error
}

// Keys is a table of small values that all servers of the log share. A change is on the disk when
// the call returns.
type Keys interface {
	// Get returns a value and its revision, or ErrNoKey.
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	// Put changes a key that still has the revision; 0 stands for a key that must not exist.
	// Otherwise it returns ErrRevision.
	Put(ctx context.Context, key string, value []byte, revision uint64) error
	// Delete removes a key that still has the revision. Otherwise it returns ErrRevision.
	Delete(ctx context.Context, key string, revision uint64) error
	// Keys lists the keys that begin with prefix.
	Keys(ctx context.Context, prefix string) ([]string, error)
}
