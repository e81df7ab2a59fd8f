package trace

import (
	"fmt"
	"io"
	"strings"

	"interleave/eve/dump"
)

// summarised is the number of objects, and of pairs of each, in a summary.
const summarised = 5

// LostEvents is the number of events that were overwritten.
func (t *Trace) LostEvents() (n uint64) {
	for _, lost := range t.Lost {
		n += lost
	}
	return n
}

// Caution says what is missing in the trace; empty if nothing is.
func (t *Trace) Caution() string {
	var said []string
	if n := t.LostEvents(); n > 0 {
		said = append(said, fmt.Sprintf("The rings were too small: the oldest %d events were "+
			"overwritten, and %d are left. EVE_RECORD_EVENTS=N makes a ring of N events for each "+
			"worker.", n, t.Events))
	}
	if t.Whole && t.Events == 0 {
		said = append(said, "The recording is that of the start: the program was killed before it "+
			"wrote another one, or still runs. kill -QUIT has it write what it has.")
	}
	if !t.Whole {
		said = append(said, "The file ends too early: the program was killed while it wrote it, "+
			"or the disk was full.")
	}
	return strings.Join(said, " ")
}

// Text writes a summary: what was waited for most, and who held it.
func (t *Trace) Text(w io.Writer) error {
	var b strings.Builder
	ran := 0
	for _, task := range t.Tasks {
		if task.Began >= 0 {
			ran++
		}
	}
	fmt.Fprintf(&b, "%s ran on %s in %s; %s\n", plural(ran, "task"), plural(t.Workers, "worker"),
		dump.Duration(t.Length), plural(len(t.Waits), "wait")+" for an object")
	for i, o := range t.Objects {
		if o.Waits == 0 || i == summarised {
			break
		}
		fmt.Fprintf(&b, "%s: waited for %s in all, %s at most, %s\n", o.Name,
			dump.Duration(o.Waited), dump.Duration(o.Longest), plural(o.Waits, "time"))
		for k, p := range o.Pairs {
			if k == summarised {
				fmt.Fprintf(&b, "    and %s\n", plural(len(o.Pairs)-k, "other pair"))
				break
			}
			fmt.Fprintf(&b, "    %s waited for %s: %s held it\n", p.Waiter.label(),
				dump.Duration(p.Time), p.Holder.label())
		}
	}
	if caution := t.Caution(); caution != "" {
		b.WriteString(caution + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// label names a code with its place.
func (c *Code) label() string {
	if place := c.Place(); place != "" {
		return c.Name + " (" + place + ")"
	}
	return c.Name
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
