package check

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// A directive is one % of a format, or the part behind the colon in an f-string.
type directive struct {
	part ir.FormatPart
	at   source.Span
}

// formatArg lowers the last argument of a function with the printf rule. It checks the format
// against the values behind it, and makes one Format of them.
func (l *lowerer) formatArg(x syntax.Expr, extra []*syntax.Arg) ir.Expr {
	lit, ok := bare(x).(*syntax.Lit)
	if !ok || lit.Kind != syntax.StringLit {
		if len(extra) == 0 {
			return l.formatValue(x)
		}
		got := l.fitted(x, types.StringT)
		if len(extra) > 0 {
			d := l.errorf("E0349", extra[0].Span, "only a literal format takes values")
			d.Also = also(x.Place(), "this is not known when compiling")
		}
		return got
	}
	parts, dirs := l.parseFormat(lit)
	next := 0
	for i := range parts {
		if parts[i].part.Verb == 0 {
			continue
		}
		if next < len(extra) && extra[next] != nil && extra[next].X != nil {
			parts[i].part = l.formatted(extra[next].X, parts[i])
		} else if next >= len(extra) {
			l.errorf("E0349", parts[i].at, "no value for %s: the format has %s, and here %s",
				parts[i].at.Text(), count(dirs, "directive"), are(len(extra)))
			parts[i].part.X = bad(parts[i].at)
		}
		next++
	}
	l.tooMany(lit, dirs, extra[min(next, len(extra)):])
	if dirs == 0 {
		l.forgottenF(lit)
	}
	return l.format(parts, lit.Span)
}

// tooMany reports values for which the format has no directive, from the first one on.
func (l *lowerer) tooMany(lit *syntax.Lit, dirs int, extra []*syntax.Arg) {
	if len(extra) == 0 {
		return
	}
	var values []ir.Expr
	for _, a := range extra {
		values = append(values, l.expr(a.X, nil))
	}
	d := l.errorf("E0349", extra[0].Span, "the format has no directive for this value")
	d.Also = also(lit.Span, count(dirs, "directive")+" here")
	l.fixDirectives(d, lit.Span, values)
}

// formatValue lowers a format that is not a literal. If it is not a string, a value to print was
// meant.
func (l *lowerer) formatValue(x syntax.Expr) ir.Expr {
	v := l.plain(x)
	t := v.Type()
	if broken(v) || t == types.StringT || l.isOpen(t) || t == types.VoidT || !l.printable(t) ||
		t.Kind == types.Option || t.Kind == types.Result {
		return l.coerce(v, types.StringT)
	}
	d := l.errorf("E0349", x.Place(), "a format is a string, and this is %s", article(t))
	text := "\"" + verbFor("%d", t) + "\\n\", " + x.Place().Text()
	l.fixText(d, x.Place(), text, "")
	return bad(x.Place())
}

// format makes a constant from a format without values.
func (l *lowerer) format(parts []directive, at source.Span) ir.Expr {
	n := &ir.Format{Place: place(types.StringT, at)}
	text, only := "", true
	for _, p := range parts {
		only = only && p.part.X == nil
		text += p.part.Text
		n.Parts = append(n.Parts, p.part)
	}
	if only {
		return &ir.Const{Place: place(types.StringT, at), Value: text}
	}
	return n
}

// parseFormat splits a literal at its directives, which have a Verb.
func (l *lowerer) parseFormat(lit *syntax.Lit) (parts []directive, n int) {
	at, v := offsets(lit), lit.Value
	span := func(from, to int) source.Span {
		return source.Span{File: lit.Span.File, Start: at[from], End: at[to]}
	}
	text := strings.Builder{}
	flush := func() {
		if text.Len() > 0 {
			parts = append(parts, directive{part: ir.FormatPart{Text: text.String()}})
			text.Reset()
		}
	}
	for i := 0; i < len(v); {
		if v[i] != '%' {
			text.WriteByte(v[i])
			i++
			continue
		}
		if i+1 < len(v) && v[i+1] == '%' {
			text.WriteByte('%')
			i += 2
			continue
		}
		end := i + 1
		for end < len(v) && strings.IndexByte("-0123456789.+# ", v[end]) >= 0 {
			end++
		}
		if end >= len(v) || !letter(v[end]) {
			end = min(end+1, len(v))
			l.errorf("E0349", span(i, end), "%s is not a directive: write %%%% for a percent sign",
				span(i, end).Text())
			i = end
			continue
		}
		flush()
		d := directive{at: span(i, end+1)}
		if strings.IndexByte(verbs, v[end]) < 0 {
			l.errorf("E0349", d.at,
				"%s is not a directive: these are %%d %%x %%o %%b %%c %%s %%f %%e %%g %%v %%%%",
				d.at.Text())
			d.part = ir.FormatPart{Verb: 'v', Width: -1, Prec: -1}
		} else if !parseSpec(v[i+1:end+1], &d.part) {
			l.errorf("E0349", d.at,
				"%s is not a directive: a width, a precision and a letter may follow "+
					"the percent sign",
				d.at.Text())
		}
		parts, n, i = append(parts, d), n+1, end+1
	}
	flush()
	return parts, n
}

// verbs are the letters that end a directive.
const verbs = "dxobcsfegv"

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// parseSpec reads "-08.3f" without its percent sign; the letter may be missing.
func parseSpec(s string, p *ir.FormatPart) bool {
	p.Verb, p.Width, p.Prec = 'v', -1, -1
	if s != "" && strings.IndexByte(verbs, s[len(s)-1]) >= 0 {
		p.Verb = s[len(s)-1]
		s = s[:len(s)-1]
	}
	if strings.HasPrefix(s, "-") {
		p.Left, s = true, s[1:]
	}
	if strings.HasPrefix(s, "0") && len(s) > 1 {
		p.ZeroPad, s = true, s[1:]
	}
	width, prec, dot := strings.Cut(s, ".")
	ok := true
	if width != "" {
		p.Width, ok = small(width)
	}
	if dot && ok {
		p.Prec, ok = small(prec)
	}
	return ok
}

// small reads a width or precision. 999 bounds the output of one directive.
func small(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0 && n <= 999
}

// offsets returns the place in the file of each byte of a literal's value, and of its end.
func offsets(lit *syntax.Lit) []int {
	raw := lit.Span.Text()
	all := make([]int, len(lit.Value)+1)
	i := strings.IndexByte(raw, '"') + 1
	for j, r := range lit.Value {
		all[j] = lit.Span.Start + min(i, len(raw))
		size := utf8.RuneLen(r)
		if r == utf8.RuneError { // one byte if it stands for a byte that is not text
			_, size = utf8.DecodeRuneInString(lit.Value[j:])
		}
		for k := 1; k < size && j+k < len(all); k++ {
			all[j+k] = all[j] // no directive starts inside a character
		}
		if i < len(raw) && raw[i] == '\\' {
			i += escapeLen(raw[i:])
		} else {
			i += size
		}
	}
	all[len(lit.Value)] = lit.Span.Start + min(i, len(raw))
	return all
}

// escapeLen is the length of an escape sequence in bytes.
func escapeLen(s string) int {
	if len(s) < 2 {
		return 1
	}
	switch s[1] {
	case 'x':
		return 4
	case 'u':
		if i := strings.IndexByte(s, '}'); i > 0 {
			return i + 1
		}
	}
	return 2
}

// formatted lowers a value, checks that its directive fits it, and returns the part that writes it.
func (l *lowerer) formatted(x syntax.Expr, d directive) ir.FormatPart {
	d.part.X = l.fitting(x, d)
	if broken(d.part.X) {
		return d.part
	}
	return l.withText(d.part)
}

// fitting lowers a value and checks that its directive fits it.
func (l *lowerer) fitting(x syntax.Expr, d directive) ir.Expr {
	v := l.plain(x)
	if broken(v) {
		return v
	}
	t := v.Type()
	if why := l.noText(t); why != "" {
		e := l.errorf("E0349", x.Place(), "%s cannot be printed", article(t))
		e.Label = why
		return bad(x.Place())
	}
	own := l.ownText(t)
	if l.ofItself(v, own) {
		return l.textOfSelf(t, x.Place())
	}
	needs := verbNeeds(d.part.Verb, t)
	if own != nil && d.part.Verb == 's' {
		needs = ""
	}
	if needs != "" && !l.isOpen(t) && t.Kind != types.Param {
		e := l.errorf("E0349", x.Place(), "%s prints %s, and this is %s", d.at.Text(), needs,
			article(t))
		e.Also = also(d.at, "the directive")
		if t.Kind == types.Option || t.Kind == types.Result {
			e.Label = "it may have no value: give a default with else"
			return bad(x.Place())
		}
		l.fixText(e, d.at, verbFor(d.at.Text(), t), "")
		return bad(x.Place())
	}
	if d.part.Prec >= 0 && !t.IsFloat() && t != types.StringT && t.Kind != types.Param {
		l.errorf("E0349", d.at, "a precision is for floats and strings, and the value is %s",
			article(t))
	}
	return v
}

// verbNeeds names the types that a directive prints, if t is not one of them; else it is empty.
func verbNeeds(verb byte, t *types.Type) string {
	switch verb {
	case 'd', 'o', 'b':
		if !t.IsInteger() {
			return "integers"
		}
	case 'x':
		if !t.IsInteger() && t != types.StringT && t != types.BytesT {
			return "integers and bytes"
		}
	case 'c':
		if !t.IsInteger() {
			return "chars"
		}
	case 'f', 'e', 'g':
		if !t.IsFloat() {
			return "floats"
		}
	case 's':
		if t != types.StringT && t != types.BytesT && t != types.ErrorT && t != types.CharT {
			return "strings"
		}
	}
	return ""
}

// verbFor replaces a directive's letter by one that fits t.
func verbFor(text string, t *types.Type) string {
	verb := "v"
	switch {
	case t.IsFloat():
		verb = "f"
	case t == types.StringT, t == types.BytesT, t == types.ErrorT:
		verb = "s"
	case t.IsInteger() && t != types.DurationT:
		verb = "d"
	}
	if width, _, cut := strings.Cut(text, "."); cut && verb != "f" && verb != "s" {
		return width + verb // without the precision, which it does not have
	}
	return text[:max(len(text)-1, 0)] + verb
}

// printable says whether values of the type have a text.
func (c *checker) printable(t *types.Type) bool { return c.noText(t) == "" }

// noText says why values of a type have no text, or returns "". A handle by itself stands for what
// it leads to. One inside another value does not: who prints that value reads all of it, and a
// permission to do so is no permission for what others share. A type with a text of its own is
// printed by that, whatever is in it.
func (c *checker) noText(t *types.Type) string {
	if t.Kind == types.Shared {
		t = t.Elem
	}
	return c.noTextIn(t, nil)
}

// noTextIn takes the named types around t, which may contain themselves.
func (c *checker) noTextIn(t *types.Type, outer []*types.Type) string {
	switch t.Kind {
	case types.Func:
		return "a closure has no text"
	case types.Void:
		return "there is no value"
	case types.Shared:
		return "what a handle leads to (" + t.String() + ") is printed by itself"
	case types.Named:
		if t.Def == nil || slices.Contains(outer, t) || c.ownText(t) != nil {
			return ""
		}
		if t.Def.Form != types.Struct && t.Def.Form != types.Union || t.Def.Emitter {
			return t.String() + " has no text"
		}
		outer = append(slices.Clip(outer), t)
	}
	for _, p := range partTypes(t) {
		if why := c.noTextIn(p, outer); why != "" {
			return why
		}
	}
	return ""
}

// fstring lowers f"{x} {y:.2}".
func (l *lowerer) fstring(x *syntax.FString) ir.Expr {
	var parts []directive
	for _, p := range x.Parts {
		if p.X == nil {
			parts = append(parts, directive{part: ir.FormatPart{Text: p.Text}})
			continue
		}
		d := directive{at: specPlace(x, p)}
		if !parseSpec(p.Format, &d.part) {
			l.errorf("E0349", d.at,
				"'%s' is not a format: write a width, a precision and a letter, as in :8.2f",
				p.Format)
			d.part.Prec = -1
		}
		d.part = l.formatted(p.X, d)
		parts = append(parts, d)
	}
	return l.format(parts, x.Span)
}

// specPlace is the place of the format behind a part's colon, or of the part itself if there is
// none.
func specPlace(x *syntax.FString, p syntax.FPart) source.Span {
	at := p.X.Place()
	if p.Format == "" || at.File == nil || at.End > x.Span.End {
		return at
	}
	rest := at.File.Text[at.End:x.Span.End]
	if i := strings.Index(rest, p.Format); i >= 0 {
		return source.Span{File: at.File, Start: at.End + i, End: at.End + i + len(p.Format)}
	}
	return at
}
