package checker

import (
	"fmt"
	"slices"
	"sort"
)

// A version is a text of a message: the one with which it was said, or a later one. The first word
// of all of them is the same, and their whole texts differ.
type version struct {
	text  string
	of    *message
	op    *operation     // the Say or Edit
	shown int            // the first line in which it was shown
	by    map[string]int // the same for each server
	place int            // among those of the message on a disk; -1 if it is on none
}

// A row is the texts of a message that a connection was sent, or that are on a disk, in their
// order. The same text does not stand there twice in a row.
type row []*version

func newVersion(m *message, o *operation) *version {
	return &version{text: o.Text, of: m, op: o, by: map[string]int{}, place: -1}
}

// version returns the version with a text; nil if nobody has wanted it.
func (m *message) version(text string) *version {
	if m == nil {
		return nil
	}
	i := slices.IndexFunc(m.versions, func(v *version) bool { return v.text == text })
	if i < 0 {
		return nil
	}
	return m.versions[i]
}

// first says whether it is the text with which the message was said.
func (v *version) first() bool { return v == v.of.versions[0] }

// edit notes a text that a session wants a message to have.
func (c *checker) edit(o *operation) error {
	m := c.texts[word(o.Text)]
	o.message = c.ids[o.In+"/"+o.ID]
	switch {
	case m == nil || o.message != nil && o.message != m:
		return fmt.Errorf("the first word of %q is not that of the message", o.Text)
	case m.version(o.Text) != nil:
		return fmt.Errorf("%q is a text of the message already", o.Text)
	}
	v := newVersion(m, o)
	m.versions = append(m.versions, v)
	c.edits = append(c.edits, v)
	return nil
}

// mayEdit checks that a user has changed its own message, and none that was removed.
func (c *checker) mayEdit(o *operation) {
	m := o.message
	if m == nil {
		c.breach(Edited, "operation %d: %s has changed message %s of %s, which was never shown",
			o.Op, o.account, o.ID, o.In)
		return
	}
	if m.from != o.account {
		c.breach(Edited, "operation %d: %s has changed %q, which is %s's", o.Op, o.account,
			word(m.text), m.from)
	}
	if i := slices.IndexFunc(m.removals, o.knows); i >= 0 {
		c.breach(Redacted, "operation %d has changed %q, which operation %d had removed", o.Op,
			word(m.text), m.removals[i].Op)
	}
}

// addTo adds a text to a row of its message.
func addTo(rows map[*message]*row, v *version) {
	r := rows[v.of]
	if r == nil {
		r = &row{}
		rows[v.of] = r
		v.of.rows = append(v.of.rows, r)
	}
	if list := *r; len(list) == 0 || list[len(list)-1] != v {
		*r = append(list, v)
	}
}

// before says whether a text is certainly older than another of the message: by a disk, or since it
// was shown, as by its acknowledgement, before anybody wanted the other one.
func (v *version) before(other *version) bool {
	if v.place >= 0 && other.place >= 0 {
		return v.place < other.place
	}
	return v.shown > 0 && v.shown < other.op.invoked
}

// newer returns a text that is certainly newer and that was known; nil if there is none.
func (v *version) newer(knows func(*version) bool) *version {
	for _, other := range v.of.versions[1:] {
		if other.op.outcome != Fail && v.before(other) && knows(other) {
			return other
		}
	}
	return nil
}

// knownTo says whether a server with a floor knew a text in a line: it was acknowledged, or the
// server has shown it before.
func (v *version) knownTo(server string, line, floor int) bool {
	first, shown := v.by[server]
	return known(server, line, floor, v.op) || shown && first < line
}

// concludeTexts judges the texts of all messages that somebody has changed.
func (c *checker) concludeTexts() {
	for _, o := range c.readings {
		for _, r := range o.stored {
			for place, v := range *r {
				if v.place < 0 {
					v.place = place
				}
			}
		}
	}
	for _, v := range c.edits {
		if v.op.outcome == Fail && v.shown > 0 {
			c.breachAt(v.shown, Refused, "%q of %s is there, and was refused in line %d", v.text,
				v.of.in.name, v.op.done)
		}
	}
	for _, m := range c.messages {
		if len(m.versions) > 1 {
			c.checkRows(m)
		}
	}
	for _, o := range c.readings {
		c.checkTexts(o)
	}
	for _, k := range c.connections {
		c.checkSentTexts(k)
	}
}

// checkRows checks that all rows of a message have one order.
func (c *checker) checkRows(m *message) {
	type pair struct{ a, b *version }
	seen := map[pair]bool{}
	for _, r := range m.rows {
		for i, a := range *r {
			for _, b := range (*r)[i+1:] {
				if seen[pair{b, a}] {
					c.breachAt(max(a.shown, b.shown), Edited,
						"%q and %q of %s were shown in both orders", a.text, b.text, m.in.name)
					return
				}
				seen[pair{a, b}] = true
			}
		}
	}
}

// checkTexts checks that the messages of an answer, or of a disk, have the newest texts that the
// server knew.
func (c *checker) checkTexts(o *operation) {
	stale := func(v *version) {
		newest := v.newer(func(other *version) bool {
			return other.knownTo(o.server, o.invoked, o.floor)
		})
		if newest != nil {
			c.breachAt(o.done, Edited, "%s has %q, and %q is newer", o.source(), v.text,
				newest.text)
		}
	}
	for _, v := range o.texts {
		stale(v)
	}
	if o.stored == nil {
		return
	}
	for _, m := range o.conversation.messages {
		r := o.stored[m]
		if len(m.versions) == 1 || r == nil {
			continue // it has no other text, or is not there, which checkReading judges
		}
		stale((*r)[len(*r)-1])
		for _, v := range m.versions[1:] {
			if o.knows(v.op) && !m.mayBeGone(o.done) && !slices.Contains(*r, v) {
				c.breachAt(o.done, Durable, "%s lacks %q, which was acknowledged in line %d",
					o.source(), v.text, v.op.done)
			}
		}
	}
}

// checkSentTexts checks that a connection was sent no text that was not the newest when it began,
// and that it was told of every change between two of its own: of the change itself, or of a newer
// one.
func (c *checker) checkSentTexts(k *connection) {
	for _, m := range k.shown {
		if len(m.versions) == 1 {
			continue
		}
		for _, v := range *k.texts[m] {
			newest := v.newer(func(other *version) bool {
				return other.knownTo(k.server, k.dialled, k.floor)
			})
			if newest != nil {
				c.breachAt(k.opened, Edited, "session %s was sent %q, and %q is newer and was "+
					"known before it came", k.session, v.text, newest.text)
			}
		}
	}
	if k.settled == 0 {
		return
	}
	from := sort.Search(len(c.edits), func(i int) bool { return c.edits[i].op.invoked > k.settled })
	for _, v := range c.edits[from:] {
		if v.op.invoked >= k.fence {
			return
		}
		m := v.of
		if v.op.outcome != OK || v.op.done >= k.fence || !m.in.has(k.account) ||
			m.mayBeGone(never) {
			continue
		}
		r := k.texts[m]
		if r == nil || !slices.ContainsFunc(*r,
			func(other *version) bool { return other == v || v.before(other) }) {
			c.breachAt(k.opened, Received, "session %s was not told that %q is %q now, which was "+
				"acknowledged before what it has said later", k.session, word(m.text), v.text)
		}
	}
}
