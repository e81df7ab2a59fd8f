package checker

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sort"
)

// never is a line that no history has.
const never = math.MaxInt

// acknowledged returns the line in which a message was acknowledged, or never.
func (m *message) acknowledged() int {
	if m.said.outcome == OK {
		return m.said.done
	}
	return never
}

// mayBeGone says whether somebody wanted to remove a message before a line, and was not refused.
func (m *message) mayBeGone(line int) bool {
	return slices.ContainsFunc(m.removals, func(r *operation) bool { return r.invoked < line })
}

// conclude judges what needs the whole history.
func (c *checker) conclude() {
	for _, o := range c.removing {
		if o.done == 0 && o.message != nil { // the history ends before
			o.message.removals = append(o.message.removals, o)
		}
	}
	var all []*conversation
	for _, name := range slices.Sorted(maps.Keys(c.conversations)) {
		in := c.conversations[name]
		all = append(all, in)
		in.place()
		c.checkOrder(in)
		c.checkRealTime(in)
	}
	for _, m := range c.messages {
		if m.said.outcome == Fail && m.shown > 0 {
			c.breachAt(m.shown, Refused, "%q of %s is there, and was refused in line %d",
				word(m.text), m.in.name, m.said.done)
		}
	}
	for _, o := range c.readings {
		c.checkReading(o)
	}
	c.concludeTexts()
	for _, k := range c.connections {
		c.checkFence(k)
		for _, in := range all {
			c.checkGaps(k, in)
		}
	}
	c.checkMembers()
	slices.SortStableFunc(c.verdict.Breaches,
		func(a, b Breach) int { return cmp.Compare(a.Line, b.Line) })
}

// place notes where the messages are in the order of the conversation.
func (in *conversation) place() {
	latest := 0
	for place, m := range in.order {
		m.place = place
		latest = max(latest, m.said.invoked)
		in.latest = append(in.latest, latest)
	}
}

// checkRealTime checks that no message stands behind one that was said after it had been
// acknowledged.
func (c *checker) checkRealTime(in *conversation) {
	var latest *message // of those before, the one that was said last
	for _, m := range in.order {
		if latest != nil && m.acknowledged() < latest.said.invoked {
			c.breachAt(m.said.done, Ordered, "%q of %s was acknowledged in line %d, and stands "+
				"behind %q, which was said in line %d", word(m.text), in.name, m.said.done,
				word(latest.text), latest.said.invoked)
		}
		if latest == nil || m.said.invoked > latest.said.invoked {
			latest = m
		}
	}
}

// checkReading checks that an answer has what its server knew.
func (c *checker) checkReading(o *operation) {
	has := make(map[*message]bool, len(o.answer))
	for _, m := range o.answer {
		has[m] = true
	}
	lacks := func(m *message) {
		c.breachAt(o.done, Durable, "%s lacks %q, which was acknowledged in line %d", o.source(),
			word(m.text), m.said.done)
	}
	required := func(m *message) bool {
		return !has[m] && o.knows(m.said) && !m.mayBeGone(o.done)
	}
	switch {
	case o.Do == Search:
		if m := o.message; m != nil && m.in == o.conversation && required(m) {
			lacks(m)
		}
		for _, m := range o.answer {
			if m != o.message {
				c.breachAt(o.done, True, "%s has %q, which has not the word %q", o.source(),
					word(m.text), o.Text)
			}
		}
	case o.whole:
		for _, m := range o.conversation.messages {
			if required(m) {
				lacks(m)
			}
		}
	default:
		first, last := span(o.answer)
		order := o.conversation.order
		for place := first; place <= last; place++ {
			if m := order[place]; !has[m] && !m.mayBeGone(o.done) {
				c.breachAt(o.done, Durable, "%s lacks %q, which is between others of it",
					o.source(), word(m.text))
			}
		}
		if !o.Latest || last < 0 {
			return
		}
		// What follows was said while the answer was on its way, or is lacking. Those that were
		// acknowledged before are near, since all see one order.
		for _, m := range order[last+1 : min(len(order), last+1+recent)] {
			if required(m) {
				lacks(m)
			}
		}
	}
}

// span returns the first and the last place of messages in the order of their conversation. Without
// any it is from 0 to -1.
func span(list []*message) (first, last int) {
	first, last = 0, -1
	for _, m := range list {
		if m.place < 0 {
			continue
		}
		if last < 0 {
			first = m.place
		}
		first, last = min(first, m.place), max(last, m.place)
	}
	return first, last
}

// checkGaps checks that a connection was sent every message of a conversation between those that it
// was sent, and every one that was said after it had come, up to the last that it was sent. What
// the account itself had said before is not sent again.
func (c *checker) checkGaps(k *connection, in *conversation) {
	first, last := span(k.seen[in])
	lacks := func(m *message) {
		if m.mayBeGone(never) {
			return
		}
		c.breachAt(k.opened, Received, "session %s was not sent %q of %s, but %q, which follows",
			k.session, word(m.text), in.name, word(in.order[last].text))
	}
	for place := first; place <= last; place++ {
		m := in.order[place]
		if !k.has[m] && (m.from != k.account || m.said.invoked > k.opened) {
			lacks(m)
		}
	}
	for place := first - 1; place >= 0 && in.latest[place] > k.opened; place-- {
		if m := in.order[place]; !k.has[m] && m.said.invoked > k.opened {
			lacks(m)
		}
	}
}

// checkFence checks that a connection was sent every message that was said after its first own one
// was acknowledged, and acknowledged before its last own one was said.
func (c *checker) checkFence(k *connection) {
	if k.settled == 0 {
		return
	}
	from := sort.Search(len(c.messages),
		func(i int) bool { return c.messages[i].said.invoked > k.settled })
	for _, m := range c.messages[from:] {
		if m.said.invoked >= k.fence {
			return
		}
		if m.acknowledged() < k.fence && m.in.has(k.account) && !k.has[m] {
			c.breachAt(k.opened, Received, "session %s was not sent %q of %s, which was "+
				"acknowledged before what it has said later", k.session, word(m.text), m.in.name)
		}
	}
}

// checkMembers checks that every account has received what others have said to it, by any of its
// connections: what was acknowledged before the account's last own message was said.
func (c *checker) checkMembers() {
	fences := map[string]int{}
	for _, k := range c.connections {
		fences[k.account] = max(fences[k.account], k.fence)
	}
	for _, m := range c.messages {
		for _, account := range m.in.Members {
			if account != m.from && m.acknowledged() < fences[account] &&
				!m.mayBeGone(never) && !slices.Contains(m.received, account) {
				c.breachAt(m.said.done, Received, "%s has never received %q of %s", account,
					word(m.text), m.in.name)
			}
		}
	}
}
