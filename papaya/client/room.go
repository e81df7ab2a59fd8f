package client

import (
	"cmp"
	"slices"
	"time"
)

// keep is how many messages a room holds while nobody scrolls back; deep is where scrolling back
// ends. Both are guesses.
const (
	keep = 2000
	deep = 20000
)

// maxPages bounds what is fetched of one room after a reconnect; beyond, the gap is shown as one.
const maxPages = 20

// A Kind is how a message is shown.
type Kind int

// The kinds of messages: what people say, what happens, what the server answers.
const (
	Said Kind = iota
	Action
	Notice
	Happened
	Answer
	Wrong
)

// A Message is one line of a room.
type Message struct {
	ID      string // the msgid, if the server gives one
	Time    time.Time
	Timed   bool // the time is the server's
	Told    bool // it came from the server as something that was said: history is asked for by it
	Nick    string
	Kind    Kind
	Text    string
	Own     bool
	Mention bool
	Pending bool // it waits for its echo
	Failed  bool // it is not known to have arrived
	label   string
}

// key is what a message is known by, when it comes twice: its msgid, or its time and words where
// the server says no msgid.
func (m *Message) key() string {
	switch {
	case m.ID != "":
		return m.ID
	case m.Told && m.Timed:
		return m.Time.Format(time.RFC3339Nano) + " " + m.Nick + " " + m.Text
	}
	return ""
}

// A Member is somebody in a room.
type Member struct {
	Nick   string
	Prefix string // "@" for an operator; empty for most
	Away   bool
}

// asking is the page of history that is on its way.
type asking int

const (
	nothing asking = iota
	latest
	after
	before
)

// A Room is one room, or the conversation with one person: what was said there in order, who is
// there, what is unread.
type Room struct {
	Name     string
	Channel  bool
	Joined   bool
	Topic    string
	Members  map[string]Member // by folded nick
	Messages []*Message        // by time
	Unread   int
	Mentions int
	Whole    bool // nothing older is to be had

	known  map[string]bool
	read   time.Time // of the newest message that was looked at
	asked  asking
	from   *Message // after which the page on its way begins
	pages  int
	naming map[string]Member // the list of names on its way
}

func newRoom(name string, channel bool) *Room {
	return &Room{Name: name, Channel: channel, Members: map[string]Member{},
		known: map[string]bool{}}
}

// add puts a message where its time says; false if it is there already.
func (r *Room) add(m *Message) bool {
	if k := m.key(); k != "" {
		if r.known[k] {
			return false
		}
		r.known[k] = true
	}
	at := len(r.Messages)
	for at > 0 && r.Messages[at-1].Time.After(m.Time) {
		at--
	}
	r.Messages = slices.Insert(r.Messages, at, m)
	return true
}

// confirmOwn takes out the message of one's own that waits for its echo, which is the
// one that came.
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

// doubt marks what may never have reached the server.
func (r *Room) doubt() {
	for _, m := range r.Messages {
		m.Failed = m.Failed || m.Pending
	}
}

// newest is the message that history is asked after: the last that the server told.
func (r *Room) newest() *Message {
	for _, m := range slices.Backward(r.Messages) {
		if m.Told {
			return m
		}
	}
	return nil
}

// oldest is the message that history is asked before.
func (r *Room) oldest() *Message {
	for _, m := range r.Messages {
		if m.Told {
			return m
		}
	}
	return nil
}

// trim forgets the oldest messages; they can be had from the server again.
func (r *Room) trim() {
	n := len(r.Messages) - keep
	if n <= 0 {
		return
	}
	for _, m := range r.Messages[:n] {
		delete(r.known, m.key())
	}
	r.Messages = slices.Delete(r.Messages, 0, n)
	r.Whole = false
}

// count makes a message unread, unless it was seen before.
func (r *Room) count(m *Message) {
	if m.Own || !m.Time.After(r.read) {
		return
	}
	r.Unread++
	if m.Mention || !r.Channel {
		r.Mentions++
	}
}

// Look says that all of the room was seen.
func (r *Room) Look() {
	if n := len(r.Messages); n > 0 && r.Messages[n-1].Time.After(r.read) {
		r.read = r.Messages[n-1].Time
	}
	r.Unread, r.Mentions = 0, 0
}

// People lists who is there: operators first, then by name.
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
