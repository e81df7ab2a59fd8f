package checker

import (
	"fmt"
	"slices"
)

// A viewer is who is shown a message: a session, one that has asked, or nobody ("") by a disk.
type viewer interface {
	who() (account, server string)
}

func (k *connection) who() (account, server string) { return k.account, k.server }
func (o *operation) who() (account, server string)  { return o.account, o.server }

// show takes a message that was shown, and returns its text. It returns nil if nobody has said it
// there.
func (c *checker) show(to viewer, in *conversation, w *Message) *version {
	account, server := to.who()
	m := c.texts[word(w.Text)]
	v := m.version(w.Text)
	if v == nil {
		c.breach(True, "%q is in %s, and nobody has said it", w.Text, in.name)
		return nil
	}
	if account != "" && !m.in.has(account) {
		c.breach(Private, "%s was shown %q of %s", account, word(m.text), m.in.name)
	}
	switch {
	case m.in != in:
		c.breach(True, "%q is in %s, and was said in %s", word(m.text), in.name, m.in.name)
		return nil
	case m.from != w.From:
		c.breach(True, "%q has the source %s, and %s has said it", word(m.text), w.From, m.from)
	case w.Later && v.first():
		c.breach(Edited, "%q is a later text of a message, and was its first one", w.Text)
	}
	if m.shown == 0 {
		m.shown = c.line
	}
	if v.shown == 0 {
		v.shown = c.line
	}
	if v.by[server] == 0 {
		v.by[server] = c.line
	}
	if w.ID == "" {
		return v
	}
	key := in.name + "/" + w.ID
	switch other := c.ids[key]; {
	case other == nil && m.id == "":
		m.id, c.ids[key] = w.ID, m
	case other == nil:
		c.breach(Once, "%q of %s has the IDs %q and %q", word(m.text), in.name, m.id, w.ID)
	case other != m:
		c.breach(Once, "%q and %q of %s have the ID %q", word(other.text), word(m.text), in.name,
			w.ID)
	}
	return v
}

// see takes a message that a session was sent, not as part of an answer.
func (c *checker) see(e *Event) error {
	k, err := c.connection(e.Session)
	if err != nil {
		return err
	}
	in, err := c.conversation(e.In)
	if err != nil {
		return err
	}
	if len(e.Messages) != 1 {
		return fmt.Errorf("expected one message")
	}
	v := c.show(k, in, &e.Messages[0])
	if v == nil {
		return nil
	}
	c.verdict.Seen++
	m, later := v.of, e.Messages[0].Later
	if later && k.changes[v] || !later && k.has[m] {
		c.breach(Once, "session %s was sent %q twice by one connection", k.session, v.text)
		return nil
	}
	k.keep(v, later)
	for _, r := range m.removals {
		if known(k.server, k.dialled, k.floor, r) {
			c.breach(Redacted, "session %s was sent %q, which had been removed before it came",
				k.session, word(m.text))
		}
	}
	return nil
}

// keep notes what a connection was sent.
func (k *connection) keep(v *version, later bool) {
	m := v.of
	if k.texts[m] == nil {
		k.shown = append(k.shown, m)
	}
	addTo(k.texts, v)
	if later {
		k.changes[v] = true
		return
	}
	k.has[m] = true
	k.seen[m.in] = append(k.seen[m.in], m)
	if !slices.Contains(m.received, k.account) {
		m.received = append(m.received, k.account)
	}
}

// read takes the answer to a Read or a Search.
func (c *checker) read(o *operation, e *Event) {
	o.whole = e.Whole
	for i := range e.Messages {
		c.include(o, &e.Messages[i])
	}
	c.readings = append(c.readings, o)
	if o.Do != Read {
		return
	}
	o.conversation.readings = append(o.conversation.readings, o.answer)
	if o.whole {
		c.verdict.Wholes++
		o.conversation.order = o.answer
	}
}

// include takes a message of the answer.
func (c *checker) include(o *operation, w *Message) {
	v := c.show(o, o.conversation, w)
	if v == nil {
		return
	}
	m := v.of
	if !w.Later && slices.Contains(o.answer[max(0, len(o.answer)-recent):], m) {
		c.breach(Once, "%s has %q twice", o.source(), word(m.text))
		return
	}
	if !w.Later {
		o.answer = append(o.answer, m)
	}
	if o.stored != nil {
		addTo(o.stored, v)
	} else {
		o.texts = append(o.texts, v)
	}
	for _, r := range m.removals {
		if o.knows(r) {
			c.breach(Redacted, "%s has %q, which operation %d had removed", o.source(),
				word(m.text), r.Op)
		}
	}
}

// recent is in messages: how far back in an answer a message is looked for that comes twice. One
// that is further away breaks the order, too.
const recent = 1000

// source describes an answer.
func (o *operation) source() string {
	if o.account == "" {
		return fmt.Sprintf("the data of server %s for %s", o.server, o.In)
	}
	return fmt.Sprintf("the answer to operation %d (%s of %s by %s)", o.Op, o.Do, o.In,
		o.account)
}

// disk takes the messages in a server's data: a whole reading of every conversation.
func (c *checker) disk(e *Event) error {
	all := map[string]*operation{}
	for name, in := range c.conversations {
		all[name] = &operation{Event: Event{Do: Read, In: name}, server: e.Server,
			invoked: c.line, done: c.line, outcome: OK, floor: c.floors[e.Server],
			conversation: in, whole: true, stored: map[*message]*row{}}
	}
	for i := range e.Messages {
		o := all[e.Messages[i].In]
		if o == nil {
			return fmt.Errorf("the plan has no conversation %q", e.Messages[i].In)
		}
		c.include(o, &e.Messages[i])
	}
	for _, o := range all {
		c.readings = append(c.readings, o)
		o.conversation.readings = append(o.conversation.readings, o.answer)
	}
	c.verdict.Wholes++
	return nil
}
