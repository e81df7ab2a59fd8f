package check

import (
	"regexp"
	"strings"

	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/std"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// Advice for users who look for a feature under the name or in the place that another language
// gives it.

// advice is for names of other languages that have no single counterpart in Eve.
var advice = map[string]string{
	"thread":    "a task is started by @ [list]: ..",
	"mutex":     "a task has the objects that its list names with + alone: there are no locks",
	"Mutex":     "a task has the objects that its list names with + alone: there are no locks",
	"lock":      "a task has the objects that its list names with + alone: there are no locks",
	"Some":      "a value converts to an option: write the value",
	"Ok":        "a value converts to a result: write the value",
	"Err":       "an error is made by error(\"text\")",
	"panic":     "fail \"text\" ends the task, process.exit(1) the program",
	"exit":      "process.exit(1) ends the program",
	"sys":       "process.args() and process.env(name)",
	"os":        "process.args() and process.env(name); files are in fs",
	"argv":      "process.args()",
	"open":      "f <- fs.open(name) opens a file, data <- fs.read(name) reads all of it",
	"sizeof":    "v.size() counts elements",
	"enumerate": "for (i in 0..v.size()): v[i]",
}

// A rewrite is Eve's form of a call of another language.
type rewrite struct {
	from *regexp.Regexp
	to   string
}

var rewrites = map[string][]rewrite{
	"range": {
		{regexp.MustCompile(`^range\(([^(),]+)\)`), "0..$1"},
		{regexp.MustCompile(`^range\(([^(),]+), *([^(),]+)\)`), "$1..$2"},
	},
	"len":     {{regexp.MustCompile(`^len\(([\w.]+)\)`), "$1.size()"}},
	"str":     {{regexp.MustCompile(`^str\(`), "string("}},
	"float64": {{regexp.MustCompile(`^float64\b`), "float"}},
}

// sized matches the names that most languages give to int<32> and the like.
var sized = regexp.MustCompile(`^(u?int|float)(8|16|32|64)(_t)?$`)

// habit suggests Eve's form for an unknown name of another language. It is false if it knows none.
func (c *checker) habit(m *module, name string, at source.Span) bool {
	line := at.File.Text[at.Start:]
	if i := strings.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	for _, r := range rewrites[name] {
		if old := r.from.FindString(line); old != "" {
			d := c.diags.Errorf("E0202", at, "unknown name '%s'", name)
			text := r.from.ReplaceAllString(old, r.to)
			d.Fix = &diag.Fix{Text: "write " + text, Span: source.Span{File: at.File,
				Start: at.Start, End: at.Start + len(old)}, New: text}
			return true
		}
	}
	if s := sized.FindStringSubmatch(name); s != nil {
		text := s[1] + "<" + s[2] + ">"
		d := c.diags.Errorf("E0202", at, "unknown name '%s'; did you mean '%s'?", name, text)
		d.Fix = &diag.Fix{Text: "write " + text, Span: at, New: text}
		return true
	}
	if len(name) == 1 && name[0] >= 'A' && name[0] <= 'Z' {
		c.diags.Errorf("E0202", at, "unknown name '%s'", name).Label = "a type parameter belongs " +
			"in front of the list: <type " + name + ">"
		return true
	}
	if advice[name] != "" {
		c.diags.Errorf("E0202", at, "unknown name '%s'", name).Label = advice[name]
		return true
	}
	return c.elsewhereDeclared(m, name, at)
}

// elsewhereDeclared looks for the name among the cases of unions, in modules that are imported by
// their name, and in modules of the library that are not imported.
func (c *checker) elsewhereDeclared(m *module, name string, at source.Span) bool {
	full := ""
	for _, owner := range sortedNames(m.names) {
		if tn, ok := m.names[owner].(*typeName); ok && tn.union != nil {
			for _, k := range tn.union.Cases {
				if k.Name.Text == name {
					full = owner + "." + name
				}
			}
		}
	}
	for _, bound := range sortedNames(m.imports) {
		if from, ok := m.imports[bound].(*module); ok && from.pub[name] {
			full = bound + "." + name
		}
	}
	if full != "" {
		d := c.diags.Errorf("E0202", at, "unknown name '%s'; did you mean '%s'?", name, full)
		d.Fix = &diag.Fix{Text: "write " + full, Span: at, New: full}
		return true
	}
	if behind := memberBehind.FindStringSubmatch(at.File.Text[at.End:]); behind != nil {
		if module := std.Called(name, behind[1]); module != "" {
			d := c.diags.Errorf("E0202", at, "unknown name '%s'; it is the module %s", name, module)
			c.importFix(d, m, module, at)
			return true
		}
	}
	if home := std.Home(name); home != "" {
		d := c.diags.Errorf("E0202", at, "unknown name '%s'; the module %s has it", name, home)
		c.importFix(d, m, home+".*", at)
		return true
	}
	return false
}

var memberBehind = regexp.MustCompile(`^\.(\w+)`)

// importFix makes an import the fix for a name at a place in m.
func (c *checker) importFix(d *diag.Diagnostic, m *module, what string, at source.Span) {
	if m.tree != nil && m.tree.Source == at.File {
		start, text := NewImport(m.tree, what)
		d.Fix = &diag.Fix{Text: "write import " + what, Span: start, New: text}
	}
}

// NewImport is the edit that adds an import to a module: a place, and the text that goes there.
func NewImport(tree *syntax.File, what string) (at source.Span, text string) {
	at = source.Span{File: tree.Source}
	text = "import " + what + "\n"
	switch {
	case len(tree.Imports) > 0:
		at.Start = tree.Imports[0].Span.Start
	case len(tree.Decls) > 0:
		at.Start = commentAbove(tree.Source.Text, tree.Decls[0].Place().Start)
		text += "\n"
	default:
		text += "\n"
	}
	at.End = at.Start
	return at, text
}

// unlistable reports a variable in a list whose module was imported by name only: a list cannot
// say the module's name.
func (l *lowerer) unlistable(name string, at source.Span) bool {
	for _, i := range l.m.tree.Imports {
		if i.All || len(i.Path) == 0 {
			continue
		}
		from, _ := l.m.imports[bound(i).Text].(*module)
		module := dotted(i.Path)
		if from == nil || !from.pub[name] {
			continue
		}
		if _, ok := from.names[name].(*ir.Var); !ok {
			continue
		}
		d := l.errorf("E0202", at,
			"a list names '%s' of module %s by its name alone, which is not imported", name,
			module)
		point := source.Span{File: i.Span.File, Start: i.Span.Start, End: i.Span.Start}
		d.Fix = &diag.Fix{Text: "write import " + module + ".* as well", Span: point,
			New: "import " + module + ".*\n"}
		return true
	}
	return false
}

// commentAbove is the start of the comment right above a declaration, or of the declaration if
// there is none.
func commentAbove(text string, at int) int {
	for at > 0 {
		line := strings.LastIndexByte(text[:at-1], '\n') + 1
		if !strings.HasPrefix(text[line:at], "#") {
			break
		}
		at = line
	}
	return at
}

// noModule reports an import of an unknown module, and suggests the nearest name in the library.
func (c *checker) noModule(name string, at source.Span) {
	d := c.diags.Errorf("E0203", at, "there is no module '%s'", name)
	all := std.Modules()
	best := nearest(name, all)
	for _, m := range all {
		if strings.HasSuffix(m, "."+name) {
			best = m
		}
	}
	if best != "" {
		d.Message += "; did you mean '" + best + "'?"
		d.Fix = &diag.Fix{Text: "write " + best, Span: at, New: best}
		return
	}
	d.Label = "it would be " + strings.ReplaceAll(name, ".", "/") +
		".eve below the folder of the main file"
}

// textOf suggests string(x) for x.to_string() and the like.
func (l *lowerer) textOf(d *diag.Diagnostic, t *types.Type, fun *syntax.Selector,
	x *callExpr) bool {
	switch fun.Name.Text {
	case "to_string", "toString", "str", "string", "to_s", "String":
	default:
		return false
	}
	if !t.IsNumber() && t != types.BoolT {
		return false
	}
	text := "string(" + fun.X.Place().Text() + ")"
	l.fixText(d, x.Span, text, "")
	return true
}

// eventsOf lists the events of an emitter, for a user who calls an unknown method to wait for one.
func eventsOf(d *diag.Diagnostic, t *types.Type, on string) {
	if t.Def == nil || len(t.Def.Emits) == 0 {
		return
	}
	d.Label = "input is an event: on " + on + " " + t.Def.Emits[0].Name + " [..]:"
}

// missingSelf says whether f uses self without declaring it. That is reported in its body.
func (f *function) missingSelf() bool {
	return f.tree.Body != nil && selfWord.MatchString(f.tree.Body.Span.Text())
}

var selfWord = regexp.MustCompile(`\bself\b`)

// fixSelf suggests self as the first parameter of the function that is being lowered.
func (l *lowerer) fixSelf(d *diag.Diagnostic) {
	if l.fn == nil || !l.fn.Static || l.fn.Recv == nil {
		return
	}
	f := l.method(l.fn.Recv, l.fn.Name[strings.LastIndexByte(l.fn.Name, '.')+1:])
	if f == nil || f.hasSelf() {
		return
	}
	at := f.tree.Name.Span
	open := strings.IndexByte(at.File.Text[at.End:], '(')
	if open < 0 {
		return
	}
	text := "self"
	if len(f.tree.Params) > 0 {
		text = "self, "
	}
	point := source.Span{File: at.File, Start: at.End + open + 1, End: at.End + open + 1}
	d.Fix = &diag.Fix{Text: "write (" + text + "..)", Span: point, New: text}
	if len(f.tree.Params) == 0 {
		d.Fix.Text = "write (self)"
	}
}

// pure says whether x is a call of a library method without effects, which is only useful for its
// value.
func pure(x ir.Expr) bool {
	call, ok := x.(*ir.Call)
	if !ok || call.Fn == nil || call.Fn.Native == "" || call.Fn.Recv == nil || call.Fn.Static ||
		call.T == types.VoidT {
		return false
	}
	for _, e := range call.Fn.List {
		if e.Sign == '+' {
			return false
		}
	}
	for _, a := range call.Args {
		if effective(a) && !pure(a) {
			return false
		}
	}
	return true
}

// braced matches a name in braces, as in an f-string.
var braced = regexp.MustCompile(`\{([a-z_]\w*)[}.:\[]`)

// forgottenF warns of a format with a variable in braces that does not start with f.
func (l *lowerer) forgottenF(lit *syntax.Lit) {
	for _, m := range braced.FindAllStringSubmatch(lit.Value, -1) {
		if l.scope.find(m[1]) == nil {
			continue
		}
		d := l.errorf("W0433", lit.Span, "this prints {%s} as it is", m[1])
		d.Label = "values in braces need a string that starts with f"
		start := source.Span{File: lit.Span.File, Start: lit.Span.Start, End: lit.Span.Start}
		d.Fix = &diag.Fix{Text: "write f" + lit.Span.Text(), Span: start, New: "f"}
		return
	}
}

// fixDirectives adds a directive to the end of a format for each value without one.
func (l *lowerer) fixDirectives(d *diag.Diagnostic, lit source.Span, values []ir.Expr) {
	text := lit.Text()
	end := len(text) - 1
	if strings.HasSuffix(text, `\n"`) {
		end = len(text) - len(`\n"`)
	}
	add := ""
	for _, v := range values {
		if broken(v) {
			return
		}
		add += " " + verbFor("%d", l.defaultType(l.checker.value(v)).Type())
	}
	if end <= 1 {
		add = strings.TrimPrefix(add, " ")
	}
	if strings.HasSuffix(text[:max(end, 0)], " ") {
		add = strings.TrimPrefix(add, " ")
	}
	point := source.Span{File: lit.File, Start: lit.Start + end, End: lit.Start + end}
	d.Fix = &diag.Fix{Text: "write " + text[:end] + add + text[end:], Span: point, New: add}
}
