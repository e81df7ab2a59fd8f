package profile

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Folded writes a line for each stack: the functions from the task on, with semicolons between, and
// the samples. Tools for flame graphs read it.
func (p *Profile) Folded(w io.Writer) error {
	b := bufio.NewWriter(w)
	p.Root.folded(b, nil)
	return b.Flush()
}

func (n *Node) folded(w *bufio.Writer, above []string) {
	for _, c := range n.Calls {
		stack := append(above[:len(above):len(above)], strings.ReplaceAll(c.Name, ";", ":"))
		if c.Self > 0 {
			fmt.Fprintf(w, "%s %d\n", strings.Join(stack, ";"), c.Self)
		}
		c.folded(w, stack)
	}
}

// shownTasks is the number of tasks in a summary.
const shownTasks = 10

// Text writes a summary: the share of each task and handler.
func (p *Profile) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d samples, %s of processor time\n", p.Samples, p.Time(p.Samples))
	for i, n := range p.byTime() {
		if i == shownTasks {
			fmt.Fprintf(&b, "       and %d others\n", len(p.Root.Calls)-i)
			break
		}
		fmt.Fprintf(&b, "%7s  %s\n", p.share(n.N), n.Name)
	}
	if caution := p.Caution(); caution != "" {
		b.WriteString(caution + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// share is the part of all samples, in percent.
func (p *Profile) share(n int64) string {
	return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(max(p.Samples, 1)))
}

// Caution says what is missing; empty if nothing is.
func (p *Profile) Caution() string {
	var said []string
	if p.Lost > 0 {
		said = append(said, fmt.Sprintf("%d samples are missing: the program has more different "+
			"stacks than a table holds.", p.Lost))
	}
	if p.Samples == 0 {
		said = append(said, "The program used too little processor time for a sample.")
	}
	if !p.Whole {
		said = append(said, "The file ends too early.")
	}
	return strings.Join(said, " ")
}
