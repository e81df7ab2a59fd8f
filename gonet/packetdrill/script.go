// Package packetdrill plays scripts of packetdrill, the public tool for tests of TCP, on the
// machine of package tcp. A script has timed segments, system calls, and assertions about the
// connection. The player is both the network and the program with the socket, and its time is
// virtual: a script of minutes takes milliseconds.
//
// The notation is that of packetdrill's grammar. The player has its own rules for what it compares,
// which docs/gonet/packetdrill.md lists.
package packetdrill

import (
	"fmt"
	"time"

	"interleave/gonet/wire"
)

// Script is a script as it was parsed.
type Script struct {
	Options []Option
	Init    string // the shell commands before the first event, or ""
	Events  []Event
	Cleanup string // the shell commands after the last event, or ""
}

// Option is a line such as --tolerance_usecs=10000.
type Option struct {
	Line        int
	Name, Value string
}

// Event is something that happens at an instant.
type Event struct {
	Line   int
	Time   Timing
	Action Action
}

// Action is a *Segment, an *ICMP, a *Call, a Command or a Code.
type Action any

// Timing says when an event happens.
type Timing struct {
	Kind  TimeKind
	At    time.Duration // not for AnyTime
	Until time.Duration // the end of a range
}

// TimeKind says from when the instant of an event counts.
type TimeKind uint8

// The kinds of instants. The two ranges and AnyTime are for segments that the machine sends.
const (
	Absolute      TimeKind = iota // since the start of the script
	Relative                      // since the event before
	AbsoluteRange                 // .1~.2
	RelativeRange                 // +.1~+.2
	AnyTime                       // *
)

// Segment is a segment of TCP that arrives, or that the machine must send.
type Segment struct {
	Out bool // the machine must send it
	// ECN is the codepoint in the IP header: noecn, ect0, ect1, ce, for one of both ect01, or "".
	ECN string
	// Header has the sequence numbers of the script, which count from the initial ones.
	Header     wire.TCP
	Len        int      // of the payload, in bytes
	HasWindow  bool     // the script gives a window
	AnyOptions bool     // <...>: the options are not compared
	Foreign    []string // what package tcp has no field for: "FO", "md5", "AccECN"
}

// ICMP is an ICMP message that arrives. It quotes the segment that begins at Seq.
type ICMP struct {
	Out        bool
	Type, Code string
	MTU        int // 0: none
	Seq        uint32
}

// Call is a system call and what it must return.
type Call struct {
	Name     string
	Args     []Value
	Result   Value
	Errno    string        // "" if the script gives none
	Blocking bool          // it returns at End, which counts as the event's own instant does
	End      time.Duration //
}

// Command is shell commands.
type Command string

// Code is statements in Python.
type Code string

// ValueKind is the kind of a Value.
type ValueKind uint8

// The kinds of values.
const (
	Anything ValueKind = iota // ...
	Number                    // 17 or 0x11
	Word                      // SOCK_STREAM
	Text                      // "text"
	List                      // [a, b]
	Record                    // {a, b}
	Either                    // a|b
	Named                     // name = a, and msg_iov(1) = a
	Apply                     // htons(a)
)

// Value is an argument or a result of a call.
type Value struct {
	Kind   ValueKind
	Number int64
	Text   string  // of a Word or Text; the name of a Named or an Apply
	List   []Value // the elements; the value of a Named; the arguments of an Apply
}

// words returns the words among the alternatives of a|b|c.
func (v Value) words() []string {
	switch v.Kind {
	case Word:
		return []string{v.Text}
	case Either:
		var all []string
		for _, part := range v.List {
			all = append(all, part.words()...)
		}
		return all
	}
	return nil
}

// field returns the value of a record's field.
func (v Value) field(name string) (Value, bool) {
	for _, f := range v.List {
		if f.Kind == Named && f.Text == name {
			return f.List[0], true
		}
	}
	return Value{}, false
}

// SyntaxError is a script that is none.
type SyntaxError struct {
	Line int
	Text string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Text) }
