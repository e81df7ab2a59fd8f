// Package trace reads recordings of Eve's programs and finds in them what a language of permissions
// can say: which task waited for which object, how long, and who held it meanwhile. It shows that
// as a page with a timeline, in the format of Chrome's trace viewer and Perfetto, and as a summary.
package trace

import (
	"time"

	"interleave/eve/symbols"
)

// A Trace is what a program did while it was recorded. All times are nanoseconds since its start.
type Trace struct {
	Program string
	Args    []string
	Pid     int
	Started time.Time
	Length  int64
	Workers int
	Lost    []uint64 // events overwritten, by worker; the last: those of other threads
	Events  int
	Whole   bool // the file had its end

	Tasks   []*Task   // in the order in which they were made
	Spans   []Span    // by worker, then by start; an inner one comes behind the one around it
	Waits   []*Wait   // the longest first
	Objects []*Object // the one with the most waiting first
	Loans   []Loan
	Codes   []*Code // by name
}

// A Task is a root or a child of a queued finish.
type Task struct {
	ID     int    // from 1 on, in the order in which they were made
	Number uint64 // in the recording
	Code   *Code
	By     *Task // made it; nil for the runtime, or if it is not known
	Child  bool
	Keeps  bool // it held its objects beyond its end
	// -1: not recorded
	Made, Began, Ended int64
	Worker             int // that ran it; -1: none did
	Wants              []Want
}

// A Want is an entry of the list of a task: an object, and how it wants it.
type Want struct {
	Object  *Object
	Write   bool
	Granted int64 // -1: it had not to wait, or still waits
	from    *Task // that gave the permission back

	address uint64
	typ     uint64
	inScope bool
}

// A Wait is the time that a task waited for one object.
type Wait struct {
	Task     *Task
	Object   *Object
	Write    bool
	From, To int64
	Open     bool    // it still waits at the end of the recording
	Holders  []*Task // those that held the object meanwhile, in order; the first mostHolders
	More     int     // further holders

	from *Task // gave the permission back
}

// Time is how long it waited.
func (w *Wait) Time() int64 { return w.To - w.From }

// A SpanKind says what a worker did.
type SpanKind uint8

// The kinds of spans.
const (
	Running  SpanKind = iota // a task
	Handling                 // a handler of the event that the task around it is for
	Stolen                   // a child in a finish, taken from another worker
	Joining                  // waiting for a child that another worker took
	Sleeping                 // waiting for events
	Polling                  // taking events from the kernel, and the handlers that ran at once
)

var spanNames = [...]string{"runs", "handles", "stolen child", "waits for a child", "sleeps",
	"polls"}

func (k SpanKind) String() string { return spanNames[k] }

// A Span is a time in which a worker did one thing.
type Span struct {
	Worker   int
	From, To int64
	Kind     SpanKind
	Task     *Task // of Running and Handling
	Code     *Code // of Running, Handling and Stolen; nil: unknown
	Other    int   // the worker that a child was taken from, or that is waited for
	Took     bool  // the task was taken from the queue of worker Other
}

// A Loan is a time in which another worker served the poller of one that was in a long body.
type Loan struct {
	Of, By   int
	From, To int64
}

// A Hold is the time in which a task held an object.
type Hold struct {
	Task     *Task
	Write    bool
	From, To int64
}

// An Object is a shared object, or an object that only the children of a finish know.
type Object struct {
	Name    string // "bank.account #3": the third one of its type that was seen
	Type    string
	Address uint64
	Waits   int
	Waited  int64 // the sum over all waits
	Longest int64
	Held    int64 // the sum over all holders
	Holds   []Hold
	Pairs   []Pair // the one with the most waiting first

	read, written bool // by a task that runs at the end
}

// A Pair is the waiting of one code for an object that another one held.
type Pair struct {
	Waiter, Holder *Code
	Waits          int
	Time           int64
}

// mostHolders of one wait are listed.
const mostHolders = 5

// Read finds out what a recorded program did. The program's file is read for names, if it is
// there.
func Read(data []byte) (*Trace, error) {
	r, err := parse(data)
	if err != nil {
		return nil, err
	}
	b := newBuilder(r)
	if table, err := symbols.Read(r.program, r.run); err == nil {
		b.symbols = table
	}
	return b.build(), nil
}
