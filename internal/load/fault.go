package load

// Faults, by kind. Nothing is ignored: each fault is counted under its kind, and the
// first one of a run is kept in words. Faults are rare, so this is the one place of the engine that
// may allocate while it measures.

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// The kinds of error in Result.Errors. A connection that cannot be opened is counted as "connect
// ERRNO", for example "connect ECONNREFUSED", any other failed system call as "io ERRNO".
const (
	WrongReply = "wrong-reply" // a byte or a value that cannot be right
	WrongCount = "wrong-count" // the counter's last value is not the number of increments
	Extra      = "extra"       // bytes that nothing asked for
	Short      = "short"       // the connection ended inside a reply
	Ended      = "closed"      // the server closed the connection while it was in use
	Reset      = "reset"       // ECONNRESET or EPIPE
	Lost       = "lost"        // requests that were in flight, or due, on a connection that failed
	Timeout    = "timeout"     // not answered (paced: not sent) when draining ended
	Undrained  = "undrained"   // no end of file from the server after the client's half-close
	// more requests wait on a connection than the engine keeps: the run ends
	Backlog     = "backlog"
	Refused     = "refused"     // a reply that says what the server will not do
	Undelivered = "undelivered" // what was said in a chat and has not come to a client
	PastLimit   = "limit"       // the plan's limit ended the run
)

// faults counts errors by kind. One thread owns it.
type faults struct {
	kinds   map[string]int64
	first   string // in words
	firstAt int64  // nanotime of it
}

func (f *faults) add(kind string, n int64, format string, args ...any) {
	if n == 0 {
		return
	}
	if f.kinds == nil {
		f.kinds = make(map[string]int64)
	}
	f.kinds[kind] += n
	if f.first == "" {
		f.first = fmt.Sprintf(format, args...)
		f.firstAt = nanotime()
	}
}

// total is how many errors there are, of all kinds.
func (f *faults) total() (n int64) {
	for _, of := range f.kinds {
		n += of
	}
	return n
}

func (f *faults) merge(other *faults) {
	for kind, n := range other.kinds {
		if f.kinds == nil {
			f.kinds = make(map[string]int64)
		}
		f.kinds[kind] += n
	}
	if other.first != "" && (f.first == "" || other.firstAt < f.firstAt) {
		f.first, f.firstAt = other.first, other.firstAt
	}
}

// errnoName is the name that man pages know an error by.
func errnoName(err error) string {
	var e syscall.Errno
	if errors.As(err, &e) {
		if name := unix.ErrnoName(e); name != "" {
			return name
		}
		return fmt.Sprintf("errno %d", int(e))
	}
	return err.Error()
}

// ioKind sorts a failed read or write.
func ioKind(e syscall.Errno) string {
	switch e {
	case unix.ECONNRESET, unix.EPIPE:
		return Reset
	}
	return "io " + errnoName(e)
}
