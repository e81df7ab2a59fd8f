package checker

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Promise is one that a history can show to be broken.
type Promise string

// The promises.
const (
	Durable  Promise = "nothing acknowledged is lost"
	Once     Promise = "nothing is there twice"
	Ordered  Promise = "all see one order"
	True     Promise = "what is shown was said, by that account and there"
	Private  Promise = "nobody reads what she may not"
	Refused  Promise = "what was refused was not done"
	Edited   Promise = "a changed message has its newest text, and only its author changes it"
	Redacted Promise = "a removed message is gone, and only those who may remove it"
	Received Promise = "each session sees its account's messages, and no member misses one"
	Stored   Promise = "a file that was acknowledged is there with its bytes"
	Removed  Promise = "a file goes with its message"
	Forward  Promise = "read markers do not go back"
	Alive    Promise = "a server does not end by itself"
)

// A Breach is a broken promise.
type Breach struct {
	Promise Promise
	Line    int // of the history, where it shows
	What    string
}

// maxBreaches bounds the breaches of one promise that are kept.
const maxBreaches = 10

// A Verdict is what a history shows.
type Verdict struct {
	Seed       uint64
	Lines      int
	Kills      int
	Again      int // how often a server has ended to be started again
	Operations map[Do]map[Kind]int
	Seen       int // messages that sessions were sent
	Wholes     int // readings of whole conversations, and of disks
	Breaches   []Breach
	More       int // breaches that are not in the list
	each       map[Promise]int
}

// breach notes a broken promise at the current line.
func (c *checker) breach(p Promise, format string, words ...any) {
	c.breachAt(c.line, p, format, words...)
}

func (c *checker) breachAt(line int, p Promise, format string, words ...any) {
	v := &c.verdict
	if v.each == nil {
		v.each = map[Promise]int{}
	}
	if v.each[p]++; v.each[p] > maxBreaches {
		v.More++
		return
	}
	v.Breaches = append(v.Breaches, Breach{p, line, fmt.Sprintf(format, words...)})
}

// outcomes are in the order of the table.
var outcomes = []Kind{OK, Fail, Unknown}

// String describes the verdict, in several lines.
func (v Verdict) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d kills, %d events, %d messages received, %d whole readings; seed %d\n",
		v.Kills, v.Lines, v.Seen, v.Wholes, v.Seed)
	if v.Again > 0 {
		fmt.Fprintf(&b, "servers of the cluster have asked %d times to be started again\n", v.Again)
	}
	fmt.Fprintf(&b, "%-9s%9s%9s%9s\n", "", "done", "refused", "unknown")
	for _, do := range slices.Sorted(maps.Keys(v.Operations)) {
		fmt.Fprintf(&b, "%-9s", do)
		for _, k := range outcomes {
			fmt.Fprintf(&b, "%9d", v.Operations[do][k])
		}
		b.WriteByte('\n')
	}
	for _, breach := range v.Breaches {
		fmt.Fprintf(&b, "BROKEN: %s: line %d: %s\n", breach.Promise, breach.Line, breach.What)
	}
	if v.More > 0 {
		fmt.Fprintf(&b, "and %d more\n", v.More)
	}
	if len(v.Breaches) == 0 {
		b.WriteString("all promises were kept\n")
	}
	return b.String()
}
