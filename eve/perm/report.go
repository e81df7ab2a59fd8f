package perm

import (
	"regexp"
	"strings"

	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
)

func (c *checker) report(code diag.Code, at source.Span, format string,
	args ...any) *diag.Diagnostic {
	return c.diags.Errorf(code, at, format, args...)
}

func label(at source.Span, text string) diag.Label { return diag.Label{Span: at, Text: text} }

// showList points at this body's list, or at the line where it is missing.
func (s *state) showList(d *diag.Diagnostic, v *ir.Var) {
	e := s.entry(v)
	switch {
	case e != nil && e.Sign == 0:
		d.Also = append(d.Also, label(e.Span, "this asks to read "+v.Name+" here"))
	case e != nil && e.Sign == '-':
		d.Also = append(d.Also, label(e.Span, "this asks for the handle of "+v.Name+" only"))
	case e != nil:
		d.Also = append(d.Also, label(e.Span, "it is captured here"))
	default:
		s.showMissing(d, v.Name)
	}
}

// showMissing points at the list that lacks a name.
func (s *state) showMissing(d *diag.Diagnostic, name string) {
	b := s.body.Owner()
	switch {
	case hasText(b.List):
		d.Also = append(d.Also, label(b.List, "this list does not name "+name))
	case b.Head.IsValid():
		d.Also = append(d.Also, label(b.Head, "this has no list"))
	}
}

func hasText(at source.Span) bool { return at.IsValid() && at.End > at.Start }

// canList says whether an entry for v in this body's list would help: functions list parameters
// and module variables, other bodies list the variables around them.
func (s *state) canList(v *ir.Var) bool {
	b := s.body.Owner()
	if v.Kind == ir.Global || s.entry(v) != nil || b.Each == v || b.Emitter == v {
		return true
	}
	if b.Kind == ir.Function {
		return v.Kind == ir.Param && v.Body == b
	}
	return v.Body != nil && v.Body.Owner() != b
}

// fixList proposes the list with name under sign.
func (s *state) fixList(d *diag.Diagnostic, name string, sign byte) {
	fixList(d, s.body.Owner(), name, sign)
}

func fixList(d *diag.Diagnostic, b *ir.Body, name string, sign byte) {
	at := b.List
	if !at.IsValid() {
		return
	}
	text := listText(b, name, sign)
	d.Fix = &diag.Fix{Text: "write " + text, Span: at, New: text}
	if hasText(at) {
		return
	}
	all := at.File.Text
	if at.Start > 0 && at.Start <= len(all) && !strings.ContainsRune(" (", rune(all[at.Start-1])) {
		d.Fix.New = " " + d.Fix.New
	}
	if at.Start < len(all) && !strings.ContainsRune(" :\r\n", rune(all[at.Start])) {
		d.Fix.New += " "
	}
}

// handleOnly explains how to use the object of a handle that came from elsewhere. A statement that
// starts with it and is alone on its line can be made a task; inside a finish the permission would
// have to be asked for outside.
func (s *state) handleOnly(d *diag.Diagnostic, v *ir.Var, sign byte) {
	d.Also = append(d.Also, label(v.Span, "this is a handle only: a task that lists '"+v.Name+
		"' may use the object"))
	at := d.Span
	if !at.IsValid() || len(s.finishes) > 0 || s.deferred > 0 {
		return
	}
	number, column := at.File.Position(at.Start)
	line := at.File.Line(number)
	before := strings.TrimLeft(line[:min(column-1, len(line))], " ")
	if rest := strings.TrimSpace(line); before != "" && !callHead.MatchString(before) ||
		strings.HasSuffix(rest, ":") || !balanced(rest) {
		return
	}
	start := at.Start - len(before)
	text := "@ [" + entryText(sign, v.Name) + "]: "
	d.Fix = &diag.Fix{
		Text: "write " + text + strings.TrimSpace(line),
		Note: "list the task's other variables too: =n copies a plain variable n",
		Span: source.Span{File: at.File, Start: start, End: start}, New: text,
	}
}

// callHead matches the beginning of a statement that calls a function, up to an argument.
var callHead = regexp.MustCompile(`^[\w.]+\([^:=]*$`)

// balanced says whether a line closes all brackets that it opens, and so is a whole statement.
func balanced(line string) bool {
	return strings.Count(line, "(") == strings.Count(line, ")") &&
		strings.Count(line, "[") == strings.Count(line, "]")
}

// listText is the list of b with name under sign, changed in place or added at the end.
func listText(b *ir.Body, name string, sign byte) string {
	var parts []string
	found := false
	for _, e := range b.Perms {
		if e.Name == name {
			found = true
			parts = append(parts, entryText(sign, name))
			continue
		}
		parts = append(parts, entryText(e.Sign, e.Name))
	}
	if !found {
		parts = append(parts, entryText(sign, name))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// listWithout is the list of b without the entry gone.
func listWithout(b *ir.Body, gone *ir.Entry) string {
	var parts []string
	for _, e := range b.Perms {
		if e != gone {
			parts = append(parts, entryText(e.Sign, e.Name))
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func entryText(sign byte, name string) string {
	if sign == 0 {
		return name
	}
	return string(sign) + name
}
