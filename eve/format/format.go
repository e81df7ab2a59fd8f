// Package format prints Eve text in its one style: four spaces for a level, one space around
// operators, at most one empty line in a row. It keeps comments, line ends and the meaning.
// Formatting its output again changes nothing.
package format

import (
	"strings"

	"interleave/eve/diag"
	"interleave/eve/source"
	"interleave/eve/syntax"
)

// File formats a file; false when it has errors, which are then in diags.
func File(f *source.File, diags *diag.List) (string, bool) {
	var found diag.List
	tree := syntax.Parse(f, &found)
	all := found.Sorted()
	if onlyTabs(all) {
		found = diag.List{}
		tree = syntax.Parse(source.NewFile(f.Name, untab(f.Text)), &found)
		if !found.HasErrors() {
			all = nil
		}
	}
	for _, d := range all {
		diags.Add(d)
	}
	if len(all) > 0 {
		return f.Text, false
	}
	return Tree(tree), true
}

// onlyTabs says that the only errors are tabs.
func onlyTabs(all []diag.Diagnostic) bool {
	return len(all) == 1 && all[0].Code == "E0101"
}

// untab replaces the tabs that indent lines.
func untab(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		bare := strings.TrimLeft(line, " \t")
		lines[i] = strings.Repeat(" ", width(line[:len(line)-len(bare)])) + bare
	}
	return strings.Join(lines, "\n")
}

// Tree prints a file that was parsed without errors.
func Tree(tree *syntax.File) string {
	p := &printer{text: tree.Source.Text, toks: tree.Tokens, roles: roles(tree),
		levels: []level{{0, 0}}}
	for i := range tree.Tokens {
		p.token(i)
	}
	return p.b.String()
}
