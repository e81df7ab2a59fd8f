package checker

import "strings"

// checkOrder checks that there is one order of a conversation with which all that was shown agrees:
// every page of history, every disk, and what each connection was sent. Each of them puts some
// messages in a row, and these rows must have no cycle.
func (c *checker) checkOrder(in *conversation) {
	node := make(map[*message]int, len(in.messages))
	for i, m := range in.messages {
		node[m] = i
	}
	next := make([][]int, len(in.messages))
	before := make([]int, len(in.messages)) // how many stand directly before it, in any row
	add := func(row []*message) {
		for i := 1; i < len(row); i++ {
			a, b := node[row[i-1]], node[row[i]]
			if n := next[a]; len(n) > 0 && n[len(n)-1] == b {
				continue // as most rows have it
			}
			next[a] = append(next[a], b)
			before[b]++
		}
	}
	for _, row := range in.readings {
		add(row)
	}
	for _, k := range c.connections {
		add(k.seen[in])
	}
	var ready []int
	for i, n := range before {
		if n == 0 {
			ready = append(ready, i)
		}
	}
	left := len(in.messages)
	for len(ready) > 0 {
		a := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		left--
		for _, b := range next[a] {
			if before[b]--; before[b] == 0 {
				ready = append(ready, b)
			}
		}
	}
	if left > 0 {
		c.tellCycle(in, next, before)
	}
}

// tellCycle finds one cycle among the messages that stand behind others (before > 0).
func (c *checker) tellCycle(in *conversation, next [][]int, before []int) {
	previous := map[int]int{}
	at := -1
	for a, list := range next {
		for _, b := range list {
			if before[a] > 0 && before[b] > 0 {
				previous[b], at = a, b
			}
		}
	}
	seen := map[int]bool{} // each of them has one before it, so the way back ends in a cycle
	for !seen[at] {
		seen[at] = true
		at = previous[at]
	}
	words := []string{word(in.messages[at].text)}
	for b := previous[at]; b != at; b = previous[b] {
		words = append(words, word(in.messages[b].text))
	}
	words = append(words, words[0])
	line := in.messages[at].shown
	if len(words) > 12 {
		words = append(words[:12], "and so on")
	}
	c.breachAt(line, Ordered, "in %s each of these was shown behind the next one: %s", in.name,
		strings.Join(words, ", "))
}
