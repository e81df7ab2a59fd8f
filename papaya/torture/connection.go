package torture

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"interleave/papaya/checker"
	"interleave/papaya/client"
	"interleave/papaya/irc"
)

// capabilities are those that a session needs: answers with labels, msgids, times, and its own
// messages.
const capabilities = "message-tags server-time batch echo-message labeled-response sasl " +
	"draft/chathistory papaya/missed draft/message-redaction draft/read-marker"

// knowsEdits is requested by every second session of an account. The others are told of changes by
// messages.
const knowsEdits = " draft/message-edit"

// A session is one device of an account, which keeps a connection to one server. The goroutine of
// its client.Conn receives, and another one asks.
type session struct {
	campaign *campaign
	name     string
	account  *user
	server   *server
	conn     *client.Conn
	caps     string // that it requests

	mu      sync.Mutex
	open    bool             // it is registered
	changed chan struct{}    // closed at the next change of open
	calls   map[string]*call // not answered yet, by label
	labels  int
	batches map[string]*batch
	said    []seen // its own messages, the newest last
	heard   []seen // others' messages, likewise
	why     string // the last ERROR or refused login, for people
}

// A seen message is one that a session may remove, look for or mark as read.
type seen struct {
	in, id, from, text string
	time               time.Time
}

// keep bounds the messages that a session remembers.
const keep = 50

// A call is a line that waits for its answer.
type call struct {
	op    int64 // 0: it is part of an operation
	done  chan struct{}
	lines []reply
	lost  bool // the connection has ended before the answer
}

// A reply is a line of an answer, in a batch of that type if in one.
type reply struct {
	kind string
	irc.Message
}

// A batch belongs to a call. The answer ends with the batch that has its label.
type batch struct {
	call     *call
	kind     string
	outmost  bool
	captures bool // its messages are no deliveries, but parts of an answer
}

// pause is that before a session connects again, which is doubled while its server is away.
const pause = 50 * time.Millisecond

func newSession(c *campaign, a *user, s *server, number int) *session {
	n := &session{campaign: c, account: a, server: s, name: fmt.Sprintf("%s/%d", a.name, number),
		changed: make(chan struct{}), caps: capabilities}
	if number%2 == 0 {
		n.caps += knowsEdits
	}
	n.conn = &client.Conn{Dial: n.dial, Tell: n.tell, Pause: pause}
	return n
}

// dial connects as soon as the server accepts clients. The server is this campaign's own, at a port
// of this machine, so its certificate need not be verified.
func (s *session) dial(ctx context.Context) (net.Conn, error) {
	if err := s.server.isUp(ctx); err != nil {
		return nil, err
	}
	s.campaign.record.tell(checker.Event{Type: checker.Dial, Session: s.name,
		Account: s.account.name, Server: s.server.name})
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true,
		Certificates: []tls.Certificate{s.account.certificate}}}
	return d.DialContext(ctx, "tcp", s.server.irc)
}

// tell takes the events of the connection. One goroutine calls it.
func (s *session) tell(event any) {
	switch e := event.(type) {
	case client.Opened:
		s.register()
	case client.Line:
		s.receive(e.Message)
	case client.Lost:
		s.lose()
	}
}

// register logs in by certificate (SASL EXTERNAL).
func (s *session) register() {
	s.mu.Lock()
	s.batches = map[string]*batch{}
	s.mu.Unlock()
	nick := s.account.name
	for _, m := range []irc.Message{{Command: "CAP", Params: []string{"REQ", s.caps}},
		{Command: "NICK", Params: []string{nick}},
		{Command: "USER", Params: []string{nick, "0", "*", nick}},
		{Command: "AUTHENTICATE", Params: []string{"EXTERNAL"}},
		{Command: "AUTHENTICATE", Params: []string{"+"}},
		{Command: "CAP", Params: []string{"END"}}} {
		s.conn.Send(m)
	}
}

// lose takes the end of a connection. What was not answered may have been done.
func (s *session) lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for label, c := range s.calls {
		delete(s.calls, label)
		c.lost = true
		close(c.done)
	}
	if s.open {
		s.campaign.record.tell(checker.Event{Type: checker.Lost, Session: s.name})
		s.turn(false)
	}
}

// turn notes whether the session is registered. The caller holds mu.
func (s *session) turn(open bool) {
	s.open = open
	close(s.changed)
	s.changed = make(chan struct{})
}

// receive takes a line of the server.
func (s *session) receive(m irc.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch m.Command {
	case "PING":
		s.conn.Send(irc.Message{Command: "PONG", Params: m.Params})
		return
	case irc.RPL_WELCOME:
		s.conn.Steady()
		s.campaign.record.tell(checker.Event{Type: checker.Open, Session: s.name})
		s.calls = map[string]*call{}
		s.turn(true)
		return
	case "ERROR", irc.ERR_SASLFAIL, irc.ERR_NICKNAMEINUSE:
		s.why = m.String()
	}
	label := m.Tags["label"]
	in := s.batches[m.Tags["batch"]]
	var c *call
	switch {
	case label != "":
		c = s.calls[label]
	case in != nil:
		c = in.call
	}
	if m.Command == "BATCH" {
		s.batch(m, c, label != "", in)
		return
	}
	s.shown(m, in)
	if c == nil {
		return
	}
	kind := ""
	if in != nil {
		kind = in.kind
	}
	c.lines = append(c.lines, reply{kind, m})
	if label != "" {
		s.answered(label)
	}
}

// batch opens or closes a batch.
func (s *session) batch(m irc.Message, c *call, outmost bool, in *batch) {
	sign, ref := "", m.Param(0)
	if ref != "" {
		sign, ref = ref[:1], ref[1:]
	}
	if sign == "+" {
		kind := m.Param(1)
		s.batches[ref] = &batch{call: c, kind: kind, outmost: outmost,
			captures: kind != "labeled-response" || in != nil && in.captures}
		return
	}
	b := s.batches[ref]
	delete(s.batches, ref)
	if b == nil || !b.outmost || b.call == nil {
		return
	}
	for label, other := range s.calls {
		if other == b.call {
			s.answered(label)
		}
	}
}

// answered ends a call whose answer is complete.
func (s *session) answered(label string) {
	if c := s.calls[label]; c != nil {
		delete(s.calls, label)
		close(c.done)
	}
}

// shown records a message or a read marker that the server has sent.
func (s *session) shown(m irc.Message, in *batch) {
	switch m.Command {
	case "PRIVMSG":
		if in != nil && in.captures {
			return
		}
		conversation, it := message(m)
		s.campaign.record.tell(checker.Event{Type: checker.See, Session: s.name,
			In: conversation, Messages: []checker.Message{it}})
		if !it.Later {
			s.remember(conversation, m, it)
		}
	case "MARKREAD":
		ms, ok := markerTime(m.Param(1))
		if ok {
			s.campaign.record.tell(checker.Event{Type: checker.Marker, Session: s.name,
				In: s.conversation(m.Param(0)), Time: ms})
		}
	}
}

// markerTime parses the value of a read marker; * is none.
func markerTime(word string) (ms int64, ok bool) {
	if word == "*" {
		return 0, true
	}
	at, err := time.Parse(time.RFC3339Nano, strings.TrimPrefix(word, "timestamp="))
	return at.UnixMilli(), err == nil
}

// message returns a message as the history has it, with its conversation. Clients that do not know
// edits get a later text as an answer to the message that begins with "* ", and no other message of
// a campaign is one.
func message(m irc.Message) (conversation string, it checker.Message) {
	nick, _, _ := irc.SplitMask(m.Source)
	target := m.Param(0)
	if strings.HasPrefix(target, "#") {
		conversation = target
	} else {
		conversation = pair(nick, target)
	}
	it = checker.Message{ID: m.Tags["msgid"], From: nick, Text: m.Param(1)}
	if of := m.Tags["+draft/edit"]; of != "" {
		it.ID, it.Later = of, true
	} else if of := m.Tags["+draft/reply"]; of != "" {
		it.ID, it.Later, it.Text = of, true, strings.TrimPrefix(it.Text, "* ")
	}
	return conversation, it
}

// conversation returns the conversation that a session addresses by a room or a nick.
func (s *session) conversation(target string) string {
	if strings.HasPrefix(target, "#") {
		return target
	}
	return pair(s.account.name, target)
}

// pair names the conversation of two accounts.
func pair(a, b string) string { return min(a, b) + " " + max(a, b) }

// target returns how a session addresses a conversation: by the room, or by the other's nick.
func (s *session) target(conversation string) string {
	a, b, two := strings.Cut(conversation, " ")
	switch {
	case !two:
		return conversation
	case a == s.account.name:
		return b
	}
	return a
}

// remember keeps a message for later operations.
func (s *session) remember(conversation string, m irc.Message, it checker.Message) {
	at, err := time.Parse(time.RFC3339Nano, m.Tags["time"])
	if err != nil {
		return
	}
	list := &s.heard
	if it.From == s.account.name {
		list = &s.said
	}
	*list = append(*list, seen{in: conversation, id: it.ID, text: it.Text, from: it.From,
		time: at})
	if n := len(*list) - keep; n > 0 {
		*list = append((*list)[:0], (*list)[n:]...)
	}
}

// errOffline means that a session has no connection.
var errOffline = errors.New("no connection")

// begin sends a line, and records the operation if it is one. It fails if there is no connection.
func (s *session) begin(e *checker.Event, m irc.Message) (*call, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open {
		return nil, errOffline
	}
	c := &call{done: make(chan struct{})}
	if e != nil {
		e.Session = s.name
		c.op = s.campaign.record.invoke(*e)
	}
	s.labels++
	label := fmt.Sprintf("l%d", s.labels)
	s.calls[label] = c
	if m.Tags == nil {
		m.Tags = map[string]string{}
	}
	m.Tags["label"] = label
	s.conn.Send(m)
	return c, nil
}

// end waits for the answer, and records what it means. If it was lost, meaning is not called.
func (s *session) end(c *call, meaning func(lines []reply, e *checker.Event)) (
	checker.Event, error) {
	select {
	case <-c.done:
	case <-time.After(patience):
		return checker.Event{}, fmt.Errorf("session %s: operation %d: no answer for %v", s.name,
			c.op, patience)
	}
	e := checker.Event{Op: c.op}
	if c.lost {
		e.Type = checker.Unknown
	} else {
		meaning(c.lines, &e)
	}
	s.campaign.record.tell(e)
	return e, nil
}

// up waits until the session is registered.
func (s *session) up(ctx context.Context) error {
	for {
		s.mu.Lock()
		open, changed, why := s.open, s.changed, s.why
		s.mu.Unlock()
		if open {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(patience):
			return fmt.Errorf("session %s is not logged in for %v: %s", s.name, patience, why)
		}
	}
}
