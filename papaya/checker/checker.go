package checker

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// A checker takes the events of a history one by one. What can be judged only with the whole
// history is judged at the end. Times are numbers of lines.
type checker struct {
	verdict       Verdict
	line          int // the current one
	plan          *Plan
	conversations map[string]*conversation
	messages      []*message // in the order of their Invoke
	texts         map[string]*message
	ids           map[string]*message    // by conversation, a slash and ID
	dialled       map[string]*connection // of sessions that are not open
	sessions      map[string]*connection // of those that are
	connections   []*connection
	operations    map[int64]*operation
	readings      []*operation // of Read and Search that were answered, and disks
	removing      []*operation // of Redact
	edits         []*version   // of Edit, in the order of their Invoke
	files         map[string]*file
	markers       map[string]*markers // by account, a slash and conversation
	// floors has, for each server, the line of the newest Invoke that the server has acknowledged
	// as a change. All servers obey one log. So what was acknowledged before that line, by any of
	// them, was before it in the log, and is known to this server.
	floors map[string]int
}

// A conversation has the messages that were said in it.
type conversation struct {
	name string
	Conversation
	messages []*message
	readings [][]*message
	order    []*message // of the last whole reading
	latest   []int      // for each of order: the last Invoke up to there
}

// A message is one that a session wanted to say.
type message struct {
	text, id, from string
	in             *conversation
	said           *operation
	removals       []*operation // Redact with its ID that were not refused
	shown          int          // the first line in which it was shown
	received       []string     // the accounts whose sessions were sent it
	place          int          // in the order of the conversation; -1 if it is not there
	versions       []*version   // its texts, in the order of their Invoke
	rows           []*row       // the orders in which texts of it were shown
}

// A connection is a session from a Dial to a Lost.
type connection struct {
	session, account, server string
	dialled, floor           int // the line, and the floor of the server then
	opened                   int // the line: what the session is sent began between the two
	over                     bool
	seen                     map[*conversation][]*message
	has                      map[*message]bool
	texts                    map[*message]*row
	shown                    []*message // the keys of texts
	changes                  map[*version]bool
	// settled is the line of its first own change that was acknowledged, and fence that of the
	// Invoke of the last one.
	settled, fence int
	markers        map[*conversation]int64
}

// An operation is an Invoke with what became of it.
type operation struct {
	Event            // the Invoke
	invoked      int // the line
	done         int // the line; 0: not yet
	outcome      Kind
	connection   *connection
	account      string
	server       string
	floor        int // of the server, at the Invoke
	conversation *conversation
	message      *message // of a Say, Redact or Edit, and what a Search is for
	answer       []*message
	texts        []*version        // of the answer
	stored       map[*message]*row // only of a disk
	whole        bool
	file         *file // of a Fetch
}

// knows says whether the server of an operation knew at its Invoke what another one has done.
func (o *operation) knows(other *operation) bool {
	return known(o.server, o.invoked, o.floor, other)
}

// known says whether a server with a floor knew in a line what an operation has done.
func known(server string, line, floor int, o *operation) bool {
	return o.outcome == OK && (o.server == server && o.done < line || o.done < floor)
}

// Check judges a history. The error is that of a history that cannot be judged: it was not written
// by a campaign, or not read to its end.
func Check(r io.Reader) (Verdict, error) {
	c := &checker{conversations: map[string]*conversation{}, texts: map[string]*message{},
		ids: map[string]*message{}, sessions: map[string]*connection{},
		dialled:    map[string]*connection{},
		operations: map[int64]*operation{}, files: map[string]*file{},
		markers: map[string]*markers{}, floors: map[string]int{}}
	c.verdict.Operations = map[Do]map[Kind]int{}
	if err := parse(r, c.add); err != nil {
		return Verdict{}, err
	}
	if c.plan == nil {
		return Verdict{}, fmt.Errorf("no event of a campaign is there")
	}
	c.conclude()
	return c.verdict, nil
}

// add takes the next event.
func (c *checker) add(line int, e *Event) error {
	c.line = line
	c.verdict.Lines = line
	if c.plan == nil && e.Type != Campaign {
		return fmt.Errorf("expected the event %q first", Campaign)
	}
	switch e.Type {
	case Campaign:
		return c.begin(e)
	case Dial:
		return c.dial(e)
	case Open:
		return c.open(e)
	case Lost:
		k, err := c.connection(e.Session)
		if err == nil {
			k.over = true
			delete(c.sessions, e.Session)
		}
		return err
	case See:
		return c.see(e)
	case Marker:
		return c.told(e)
	case Invoke:
		return c.invoke(e)
	case OK, Fail, Unknown:
		return c.complete(e)
	case Disk:
		return c.disk(e)
	case Killed:
		c.verdict.Kills++
	case Again:
		c.verdict.Again++
	case Died:
		c.breach(Alive, "server %s: %s", e.Server, e.Why)
	case Started, Stopped:
	default:
		return fmt.Errorf("an event of type %q", e.Type)
	}
	return nil
}

// begin takes the first event.
func (c *checker) begin(e *Event) error {
	switch {
	case c.plan != nil:
		return fmt.Errorf("a second event %q", Campaign)
	case e.Plan == nil:
		return fmt.Errorf("expected a plan")
	case e.Plan.Format != Format:
		return fmt.Errorf("the format is %d, and %d is what this program reads", e.Plan.Format,
			Format)
	}
	c.plan = e.Plan
	for name, it := range e.Plan.Conversations {
		c.conversations[name] = &conversation{name: name, Conversation: it}
	}
	c.verdict.Seed = e.Plan.Seed
	return nil
}

func (c *checker) dial(e *Event) error {
	if e.Session == "" || e.Account == "" || e.Server == "" {
		return fmt.Errorf("expected a session, its account and its server")
	}
	if c.sessions[e.Session] != nil {
		return fmt.Errorf("session %s is open already", e.Session)
	}
	c.dialled[e.Session] = &connection{session: e.Session, account: e.Account, server: e.Server,
		dialled: c.line, floor: c.floors[e.Server], seen: map[*conversation][]*message{},
		has: map[*message]bool{}, texts: map[*message]*row{},
		changes: map[*version]bool{}, markers: map[*conversation]int64{}}
	return nil
}

func (c *checker) open(e *Event) error {
	k := c.dialled[e.Session]
	if k == nil {
		return fmt.Errorf("session %q has not dialled", e.Session)
	}
	k.opened = c.line
	delete(c.dialled, e.Session)
	c.sessions[e.Session] = k
	c.connections = append(c.connections, k)
	return nil
}

func (c *checker) connection(session string) (*connection, error) {
	k := c.sessions[session]
	if k == nil {
		return nil, fmt.Errorf("session %q is not open", session)
	}
	return k, nil
}

func (c *checker) conversation(name string) (*conversation, error) {
	in := c.conversations[name]
	if in == nil {
		return nil, fmt.Errorf("the plan has no conversation %q", name)
	}
	return in, nil
}

// invoke takes the beginning of an operation.
func (c *checker) invoke(e *Event) error {
	if c.operations[e.Op] != nil || e.Op == 0 {
		return fmt.Errorf("operation %d is there already, or has no number", e.Op)
	}
	k, err := c.connection(e.Session)
	if err != nil {
		return err
	}
	o := &operation{Event: *e, invoked: c.line, connection: k, account: k.account,
		server: k.server}
	if e.Server != "" { // a file is at one of several servers
		o.server = e.Server
	}
	o.floor = c.floors[o.server]
	if e.Do != Upload && e.Do != Fetch {
		if o.conversation, err = c.conversation(e.In); err != nil {
			return err
		}
	}
	c.operations[e.Op] = o
	switch e.Do {
	case Say:
		return c.say(o)
	case Search:
		o.message = c.texts[word(e.Text)]
	case Redact:
		o.message = c.ids[e.In+"/"+e.ID]
		c.removing = append(c.removing, o)
	case Edit:
		return c.edit(o)
	case Mark:
		c.marker(o.account, o.conversation).asked(e.Time)
	case Fetch:
		if o.file = c.files[e.Link]; o.file == nil {
			return fmt.Errorf("no upload was answered with the link %q", e.Link)
		}
	case Read, Marked, Join, Upload:
	default:
		return fmt.Errorf("an operation %q", e.Do)
	}
	return nil
}

// say notes a message that a session wants to say.
func (c *checker) say(o *operation) error {
	key := word(o.Text)
	if key == "" || c.texts[key] != nil {
		return fmt.Errorf("the first word of %q is in an earlier message, or empty", o.Text)
	}
	m := &message{text: o.Text, in: o.conversation, from: o.account, said: o, place: -1}
	m.versions = []*version{newVersion(m, o)}
	o.message, c.texts[key] = m, m
	c.messages = append(c.messages, m)
	m.in.messages = append(m.in.messages, m)
	if o.Link != "" {
		f := c.files[o.Link]
		if f == nil {
			return fmt.Errorf("no upload was answered with the link %q", o.Link)
		}
		f.said = append(f.said, m)
	}
	return nil
}

// complete takes the outcome of an operation.
func (c *checker) complete(e *Event) error {
	o := c.operations[e.Op]
	if o == nil || o.done != 0 {
		return fmt.Errorf("operation %d was not invoked, or has an outcome already", e.Op)
	}
	o.done, o.outcome = c.line, e.Type
	count := c.verdict.Operations[o.Do]
	if count == nil {
		count = map[Kind]int{}
		c.verdict.Operations[o.Do] = count
	}
	count[e.Type]++
	if o.Do == Redact && e.Type != Fail && o.message != nil {
		o.message.removals = append(o.message.removals, o)
	}
	if e.Type != OK {
		return nil
	}
	if o.conversation != nil && !o.conversation.has(o.account) {
		c.breach(Private, "operation %d: %s may not be in %s, and %s was done", e.Op, o.account,
			o.In, o.Do)
	}
	switch o.Do {
	case Say:
		c.changed(o)
		c.show(o, o.conversation, &Message{ID: e.ID, From: o.account, Text: o.Text})
	case Redact:
		c.changed(o)
		c.mayRedact(o)
	case Edit:
		c.changed(o)
		c.mayEdit(o)
		if o.message != nil {
			c.show(o, o.conversation, &Message{ID: o.ID, From: o.message.from, Text: o.Text,
				Later: true})
		}
	case Mark:
		c.changed(o)
		c.marker(o.account, o.conversation).set(c, o, e.Time)
	case Marked:
		c.marker(o.account, o.conversation).read(c, o, e.Time)
	case Read, Search:
		c.read(o, e)
	case Upload:
		return c.uploaded(o, e)
	case Fetch:
		c.fetched(o, e)
	case Join:
	}
	return nil
}

// changed notes that a server has acknowledged a change.
func (c *checker) changed(o *operation) {
	c.floors[o.server] = max(c.floors[o.server], o.invoked)
	k := o.connection
	if k.over { // the answer had come before its end
		return
	}
	if k.settled == 0 {
		k.settled = c.line
	}
	k.fence = max(k.fence, o.invoked)
}

// mayRedact checks that a user has removed its own message, or one of a room that it operates.
func (c *checker) mayRedact(o *operation) {
	m := o.message
	switch {
	case m == nil:
		c.breach(Redacted, "operation %d: %s has removed message %s of %s, which was never shown",
			o.Op, o.account, o.ID, o.In)
	case m.from != o.account && !slices.Contains(o.conversation.Operators, o.account):
		c.breach(Redacted, "operation %d: %s has removed %q, which is %s's", o.Op, o.account,
			word(m.text), m.from)
	}
}

// word returns the first word of a text.
func word(text string) string {
	first, _, _ := strings.Cut(text, " ")
	return first
}
