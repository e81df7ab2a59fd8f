package checker

import (
	"fmt"
	"slices"
)

// show takes a message that was shown to an account, or found on a disk by nobody (""). It returns
// nil if nobody has said it there.
func (c *checker) show(account string, in *conversation, w *Message) *message {
	m := c.texts[word(w.Text)]
	if m == nil || m.text != w.Text {
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
	}
	if m.shown == 0 {
		m.shown = c.line
	}
	if w.ID == "" {
		return m
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
	return m
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
	m := c.show(k.account, in, &e.Messages[0])
	if m == nil {
		return nil
	}
	c.verdict.Seen++
	if k.has[m] {
		c.breach(Once, "session %s was sent %q twice by one connection", k.session, word(m.text))
		return nil
	}
	k.has[m] = true
	k.seen[in] = append(k.seen[in], m)
	if !slices.Contains(m.received, k.account) {
		m.received = append(m.received, k.account)
	}
	for _, r := range m.removals {
		if known(k.server, k.dialled, k.floor, r) {
			c.breach(Redacted, "session %s was sent %q, which had been removed before it came",
				k.session, word(m.text))
		}
	}
	return nil
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
	m := c.show(o.account, o.conversation, w)
	if m == nil {
		return
	}
	if slices.Contains(o.answer[max(0, len(o.answer)-recent):], m) {
		c.breach(Once, "%s has %q twice", o.source(), word(m.text))
		return
	}
	o.answer = append(o.answer, m)
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
			conversation: in, whole: true}
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
