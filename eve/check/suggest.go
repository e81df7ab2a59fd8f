package check

import (
	"sort"

	"interleave/eve/diag"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// suggest offers the name that was probably meant, if one is near.
func (l *lowerer) suggest(d *diag.Diagnostic, n *syntax.Name, names []string) {
	if best := nearest(n.Text, names); best != "" {
		d.Fix = &diag.Fix{Text: "write " + best, Span: n.Span, New: best}
	}
}

// memberNames lists the fields and methods of a type.
func (l *lowerer) memberNames(t *types.Type) []string {
	var all []string
	if t.Def != nil {
		for _, f := range t.Def.Fields {
			all = append(all, f.Name)
		}
	}
	for _, tn := range l.owners(t) {
		for name := range tn.methods {
			all = append(all, name)
		}
	}
	return append(all, "copy")
}

// staticNames lists what may stand behind a type's name: the cases of a union.
func staticNames(t *types.Type) []string {
	var all []string
	if t.Def != nil {
		for _, c := range t.Def.Cases {
			all = append(all, c.Name)
		}
	}
	return all
}

// nearest gives the name that is at most a third of its letters away; empty when there is none.
func nearest(name string, names []string) string {
	sort.Strings(names)
	best, least := "", len(name)/3+1
	if len(name) <= 2 {
		least = 1
	}
	for _, n := range names {
		if d := distance(name, n); n != name && d <= least && (best == "" || d < distance(name, best)) {
			best = n
		}
	}
	return best
}

// distance counts the letters to change, add, drop or swap to make b of a.
func distance(a, b string) int {
	before, last, row := []int(nil), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row = make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
