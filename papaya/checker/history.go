// Package checker judges recorded histories of a chat: what clients asked for, what they were
// answered, and what they were shown. It knows the promises and nothing of any server, and imports
// nothing of Papaya's.
package checker

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Format is the version of the history's form.
const Format = 1

// A Kind is what a line of a history tells.
type Kind string

// The kinds of events. An operation has an Invoke, and then one of OK, Fail and Unknown. The order
// of the lines is that of real time: an Invoke is recorded before anything is sent, and what was
// received is recorded afterwards.
const (
	Campaign Kind = "campaign" // the first line: who is there, and who may read what
	Dial     Kind = "dial"     // a session begins to connect to a server
	Open     Kind = "open"     // it has heard that it is registered
	Lost     Kind = "lost"     // its connection has ended
	See      Kind = "see"      // a session was sent a message, not as part of an answer
	Marker   Kind = "marker"   // a session was told a read marker
	Invoke   Kind = "invoke"
	OK       Kind = "ok"      // it was done
	Fail     Kind = "fail"    // it was refused: it was not done and never will be
	Unknown  Kind = "unknown" // the answer was lost: it may have been done
	Disk     Kind = "disk"    // the messages in a server's data, after the server has ended
	Killed   Kind = "kill"    // a server was killed
	Stopped  Kind = "stop"    // a server was ended in order
	Started  Kind = "start"   // a server accepts clients
	Again    Kind = "again"   // a server has ended with an error by which it asks for a restart
	Died     Kind = "died"    // a server has ended although nobody has ended it
)

// A Do is what an operation does.
type Do string

// The operations.
const (
	Say    Do = "say"    // In, Text, perhaps Link: OK has ID
	Redact Do = "redact" // In, ID: remove a message
	Edit   Do = "edit"   // In, ID, Text: change a message, whose first word stays
	Read   Do = "read"   // In, Latest: OK has Messages in order, and Whole
	Search Do = "search" // In, Text, the first word of one message: OK has Messages
	Mark   Do = "mark"   // In, Time: set the read marker
	Marked Do = "marked" // In: OK has Time, that of the read marker
	Join   Do = "join"   // In
	Upload Do = "upload" // Sum, Size: OK has Link
	Fetch  Do = "fetch"  // Link: OK has Sum and Size, or Gone
)

// A Message is one as a session was shown it. Text is unique in a history, and its first word is
// that of no other message.
type Message struct {
	In   string `json:"in,omitempty"` // only on a disk: the conversation
	ID   string `json:"id,omitempty"`
	From string `json:"from"` // an account
	Text string `json:"text"`
	// Later says that it is a later text of the message with the ID, and comes as such.
	Later bool `json:"later,omitempty"`
}

// An Event is a line of a history. Which fields it has depends on Type and Do.
type Event struct {
	Type    Kind   `json:"type"`
	At      int64  `json:"at"`                // milliseconds since the campaign began, for people
	Op      int64  `json:"op,omitempty"`      // the operation's number
	Do      Do     `json:"do,omitempty"`      // of an Invoke
	Session string `json:"session,omitempty"` // its name
	Account string `json:"account,omitempty"` // of a Dial
	Server  string `json:"server,omitempty"`  // of a Dial, a Fetch, and what happens to servers
	// In is a conversation: the name of a room, or two accounts in order with a blank between.
	In       string    `json:"in,omitempty"`
	ID       string    `json:"id,omitempty"`
	Text     string    `json:"text,omitempty"`
	Link     string    `json:"link,omitempty"` // of a file
	Sum      string    `json:"sum,omitempty"`  // SHA-256 of its bytes, in hex
	Size     int64     `json:"size,omitempty"` // of them
	Gone     bool      `json:"gone,omitempty"` // there is no such file
	Time     int64     `json:"time,omitempty"` // of a marker: milliseconds since 1970; 0: none
	Latest   bool      `json:"latest,omitempty"`
	Whole    bool      `json:"whole,omitempty"` // Messages are all that the conversation has
	Messages []Message `json:"messages,omitempty"`
	Why      string    `json:"why,omitempty"` // for people
	Plan     *Plan     `json:"plan,omitempty"`
}

// A Plan is what a campaign has set up before its first operation, and what stays so.
type Plan struct {
	Format        int                     `json:"format"`
	Seed          uint64                  `json:"seed"`
	Conversations map[string]Conversation `json:"conversations"`
}

// A Conversation is a room, or what two accounts say to each other.
type Conversation struct {
	Members   []string `json:"members"`             // the accounts that may read and talk
	Operators []string `json:"operators,omitempty"` // those that may remove messages of others
}

// maxLine is in bytes. A history of a conversation is one line.
const maxLine = 256 << 20

// errLong means that a line is no event of any campaign.
var errLong = errors.New("the line is too long")

// parse calls each with the events of a history, with their lines from 1 on. A last line without an
// end is left out: the campaign was killed while it wrote it.
func parse(r io.Reader, each func(line int, e *Event) error) error {
	in := bufio.NewReaderSize(r, 1<<20)
	for n := 1; ; n++ {
		text, err := readLine(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		var e Event
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&e); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if d.More() {
			return fmt.Errorf("line %d: expected one object", n)
		}
		if err := each(n, &e); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
}

// readLine returns the next line with its end, or io.EOF if there is no other whole one.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if err == nil && line == nil {
			return part, nil
		}
		if line = append(line, part...); len(line) > maxLine {
			return nil, errLong
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// Write appends an event to a history.
func Write(w io.Writer, e *Event) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// has says whether an account may read a conversation.
func (c Conversation) has(account string) bool { return slices.Contains(c.Members, account) }
