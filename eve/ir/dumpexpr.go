package ir

import (
	"fmt"
	"strconv"
	"strings"
)

func (d *dumper) optional(x Expr) string {
	if x == nil {
		return ""
	}
	return d.expr(x)
}

func (d *dumper) list(all []Expr) string {
	var s []string
	for _, x := range all {
		s = append(s, d.optional(x))
	}
	return strings.Join(s, ", ")
}

// expr writes an expression. Nodes that the checker inserted are lower-case words: deref, box,
// convert.
func (d *dumper) expr(x Expr) string {
	switch x := x.(type) {
	case nil:
		return "nothing"
	case *Const:
		return constant(x)
	case *Zero:
		return "zero " + x.T.String()
	case *Ref:
		return x.Var.Name
	case *Deref:
		return "*" + d.expr(x.X)
	case *Box:
		return "box " + d.expr(x.X)
	case *Field:
		return d.expr(x.X) + "." + fieldName(x)
	case *Element:
		return fmt.Sprintf("%s.%d", d.expr(x.X), x.Index)
	case *Index:
		return d.expr(x.X) + "[" + d.expr(x.I) + "]"
	case *Cut:
		return d.expr(x.X) + "[" + d.optional(x.Lo) + ".." + d.optional(x.Hi) + "]"
	case *Range:
		return d.expr(x.Lo) + ".." + d.expr(x.Hi)
	case *Unary:
		return string(x.Op) + d.expr(x.X)
	case *Binary:
		return "(" + d.expr(x.X) + " " + string(x.Op) + " " + d.expr(x.Y) + ")"
	case *Convert:
		return x.T.String() + "(" + d.expr(x.X) + ")"
	case *Call:
		return x.Fn.Name + "(" + d.list(x.Args) + ")"
	case *CallValue:
		return "call " + d.expr(x.Fun) + "(" + d.list(x.Args) + ")"
	case *Post:
		return "post " + d.expr(x.Fun) + "(" + d.list(x.Args) + ")"
	}
	return d.made(x)
}

func fieldName(x *Field) string {
	if def := x.X.Type().Def; def != nil && x.Index < len(def.Fields) {
		return def.Fields[x.Index].Name
	}
	return strconv.Itoa(x.Index)
}

func constant(x *Const) string {
	switch v := x.Value.(type) {
	case nil:
		return "none"
	case string:
		return strconv.Quote(v)
	}
	return fmt.Sprint(x.Value)
}

// made writes expressions that build a value from others.
func (d *dumper) made(x Expr) string {
	switch x := x.(type) {
	case *Closure:
		inner := &dumper{depth: d.depth}
		inner.body(x.Body)
		head := kindWords[x.Body.Kind] + " " + vars(x.Body.Params) + suffix(x.Body.Result)
		return head + " {\n" + inner.out.String() + strings.Repeat("    ", d.depth) + "}"
	case *MakeStruct:
		return x.T.String() + "{" + d.list(x.Fields) + "}"
	case *MakeCase:
		return fmt.Sprintf("%s.%s{%s}", x.T, caseName(x), d.list(x.Fields))
	case *MakeTuple:
		return "(" + d.list(x.Elems) + ")"
	case *MakeList:
		return "[" + d.list(x.Elems) + "]"
	case *Wrap:
		return "wrap " + d.expr(x.X)
	case *MakeError:
		return "failed " + d.expr(x.X)
	case *Propagate:
		return d.expr(x.X) + "?"
	case *Else:
		return "(" + d.expr(x.X) + " else " + d.expr(x.Default) + ")"
	case *Format:
		return "format(" + d.parts(x.Parts) + ")"
	case *Copy:
		return "copy " + d.expr(x.X)
	}
	return fmt.Sprintf("? %T", x)
}

func caseName(x *MakeCase) string {
	if def := x.T.Def; def != nil && x.Case < len(def.Cases) {
		return def.Cases[x.Case].Name
	}
	return strconv.Itoa(x.Case)
}

func (d *dumper) parts(all []FormatPart) string {
	var s []string
	for _, p := range all {
		if p.X == nil {
			s = append(s, strconv.Quote(p.Text))
			continue
		}
		s = append(s, d.expr(p.X)+" "+spec(p))
	}
	return strings.Join(s, ", ")
}

// spec writes a part's directive as in the text.
func spec(p FormatPart) string {
	s := "%"
	if p.Left {
		s += "-"
	}
	if p.ZeroPad {
		s += "0"
	}
	if p.Width >= 0 {
		s += strconv.Itoa(p.Width)
	}
	if p.Prec >= 0 {
		s += "." + strconv.Itoa(p.Prec)
	}
	return s + string(p.Verb)
}
