package client

import (
	"cmp"
	"slices"
	"time"
)

// keep is how many messages a room has unless the user scrolls back. deep is the most that it has
// when the user does. Both are guesses.
const (
	keep = 2000
	deep = 20000
)

// maxPages bounds the pages that are fetched for one room after a reconnect. If there are more, the
// room shows a gap.
const maxPages = 20

// A Kind is how a message is shown.
type Kind int

// The kinds of messages: what people say, what happens, and answers of the server.
const (
	Said Kind = iota
	Action
	Notice
	Happened
	Answer
	Wrong
	Deleted // Nick has deleted it, and Text is the reason
	Unseen  // a line of the history that is not shown, such as a reaction
)

// A Message is one line in a room.
type Message struct {
	ID       string // the msgid, if the server sends one
	Time     time.Time
	Timed    bool // the time is from the server
	Told     bool // it is in the server's history, so history can be requested from there
	Nick     string
	Kind     Kind
	Text     string
	Own      bool
	Mention  bool
	Bot      bool      // its author is a bot, as the server says
	Pending  bool      // its echo has not come yet
	Failed   bool      // it may not have arrived
	Edited   time.Time // when its author changed it last; zero: never
	Hit      *Hit      // the answer is a message that a search has found
	reply    string    // the msgid of the message that it answers
	label    string
	changing string // the label of a change of it that is not answered yet
	of       string // the msgid of the message that this note stands for
}

// key identifies a message that comes twice: its msgid, or its time and text if it has none.
func (m *Message) key() string {
	switch {
	case m.ID != "":
		return m.ID
	case m.Told && m.Timed:
		return m.Time.Format(time.RFC3339Nano) + " " + m.Nick + " " + m.Text
	}
	return ""
}

// A Member is a user in a room.
type Member struct {
	Nick   string
	Prefix string // "@" for an operator; empty for most
	Away   bool
	Host   string // as others see it; empty while it is not known
	Bot    bool
}

// asking is the request for history that is not answered yet.
type asking int

const (
	nothing asking = iota
	latest
	after
	before
	around     // the messages around one that the user wants to see
	pastBefore // those before and after them
	pastAfter
)

// A Room is a room, or a conversation with one user. It has the messages in order, the members, and
// what is unread.
type Room struct {
	Name     string
	Channel  bool
	Joined   bool
	Topic    string
	Members  map[string]Member // by folded nick
	Messages []*Message        // in the server's order: see order.go
	Unread   int
	Mentions int
	Whole    bool // there are no older messages

	known  map[string]bool
	gone   map[string]*Message // notes for messages that the room does not have, by msgid
	read   time.Time           // the time of the newest message that the user has seen
	marked time.Time           // the part of it that the server knows
	looked bool                // the user has seen something since the session began
	asked  asking
	past   *Room    // the part of the history that the user looks at
	seek   *Message // the message that it is requested for
	from   *Message // the requested page of missed messages begins after it
	behind *Message // the message here that they follow, until all have come
	pages  int
	naming map[string]Member // members of an unfinished answer to NAMES

	reactions reactions // to the messages
}

func newRoom(name string, channel bool) *Room {
	return &Room{Name: name, Channel: channel, Members: map[string]Member{},
		known: map[string]bool{}, gone: map[string]*Message{}, reactions: reactions{}}
}

// confirmOwn removes our message whose echo has come.
func (r *Room) confirmOwn(m *Message) bool {
	at := slices.IndexFunc(r.Messages, func(x *Message) bool {
		return x.Own && !x.Told && x.Kind == m.Kind && x.Text == m.Text && (x.label == "" ||
			m.label == "" || x.label == m.label)
	})
	if at < 0 {
		return false
	}
	r.Messages = slices.Delete(r.Messages, at, at+1)
	return true
}

// doubt marks messages that may not have reached the server.
func (r *Room) doubt() {
	for _, m := range r.Messages {
		m.Failed = m.Failed || m.Pending
	}
}

// newest returns the last message of the server's history, after which more can be requested.
func (r *Room) newest() *Message {
	for _, m := range slices.Backward(r.Messages) {
		if m.Told {
			return m
		}
	}
	return nil
}

// oldest returns the message before which history can be requested.
func (r *Room) oldest() *Message {
	for _, m := range r.Messages {
		if m.Told {
			return m
		}
	}
	return nil
}

// trim removes the oldest messages. The server still has them.
func (r *Room) trim() {
	n := len(r.Messages) - keep
	if n <= 0 {
		return
	}
	for _, m := range r.Messages[:n] {
		delete(r.known, m.key())
		delete(r.gone, m.of)
	}
	r.Messages = slices.Delete(r.Messages, 0, n)
	r.Whole = false
}

// count counts a message as unread, unless the user has seen it.
func (r *Room) count(m *Message) {
	if m.Own || !m.Time.After(r.read) {
		return
	}
	r.Unread++
	if m.Mention || !r.Channel {
		r.Mentions++
	}
}

// recount counts the unread messages again: those after the newest that the user has seen.
func (r *Room) recount() {
	r.Unread, r.Mentions = 0, 0
	for _, m := range slices.Backward(r.Messages) {
		if !m.Told {
			continue
		}
		if !m.Time.After(r.read) {
			return
		}
		if m.Kind.spoken() {
			r.count(m)
		}
	}
}

// Look notes that the user has seen all messages.
func (r *Room) Look() {
	r.looked = true
	if m := r.newest(); m != nil && m.Time.After(r.read) {
		r.read = m.Time
	}
	r.Unread, r.Mentions = 0, 0
}

// People returns the members: operators first, then by name.
func (r *Room) People() []Member {
	out := make([]Member, 0, len(r.Members))
	for _, m := range r.Members {
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b Member) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Nick, b.Nick))
	})
	return out
}

func rank(m Member) int {
	if at := slices.Index([]string{"~", "&", "@", "%", "+"}, m.Prefix); at >= 0 {
		return at
	}
	return 9
}
