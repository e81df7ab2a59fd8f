package ir

import (
	"fmt"
	"strconv"
	"strings"
)

// Dump writes a program as text, for eve build --emit-ir. Modules of std are left out, and so are
// generics that are checked as such.
func Dump(p *Program) string {
	d := &dumper{}
	for _, m := range p.Modules {
		if m.Std {
			continue
		}
		d.line("module %s", m.Name)
		for _, v := range m.Globals {
			d.line("%s %s: %s = %s", globalWord(v), v.Name, v.Type, d.expr(v.Init))
		}
		for _, f := range m.Funcs {
			if f.Body != nil && !f.Opaque && f.Test == "" {
				d.fn(f)
			}
		}
	}
	for _, f := range p.Tests {
		d.fn(f)
	}
	return d.out.String()
}

func globalWord(v *Var) string {
	if v.Kind == Constant {
		return "const"
	}
	return "global"
}

type dumper struct {
	out   strings.Builder
	depth int
}

func (d *dumper) line(format string, args ...any) {
	d.out.WriteString(strings.Repeat("    ", d.depth))
	fmt.Fprintf(&d.out, format, args...)
	d.out.WriteByte('\n')
}

func (d *dumper) in(f func()) {
	d.depth++
	f()
	d.depth--
}

func (d *dumper) fn(f *Func) {
	name := f.Name
	if f.Test != "" {
		name = "test " + strconv.Quote(f.Test)
	}
	if len(f.Args) > 0 {
		var args []string
		for _, t := range f.Args {
			args = append(args, t.String())
		}
		name += "<" + strings.Join(args, ", ") + ">"
	}
	d.line("func %s%s%s", name, vars(f.Params), suffix(f.Result))
	if f.Body != nil {
		d.body(f.Body)
	}
}

func suffix(t fmt.Stringer) string {
	if t == nil {
		return ""
	}
	if s := t.String(); s != "void" {
		return " " + s
	}
	return ""
}

func vars(all []*Var) string {
	var s []string
	for _, v := range all {
		take := ""
		if v.Take {
			take = "="
		}
		s = append(s, take+v.Name+": "+v.Type.String())
	}
	return "(" + strings.Join(s, ", ") + ")"
}

// body writes a body's list and its statements.
func (d *dumper) body(b *Body) {
	d.in(func() {
		if len(b.Perms) > 0 {
			d.line("list %s", perms(b.Perms))
		}
		if b.Emitter != nil {
			d.line("emitter %q: %s", b.Emitter.Name, b.Emitter.Type)
		}
		if b.Each != nil {
			d.line("each %s: %s", b.Each.Name, b.Each.Type)
		}
		d.stmts(b.Block)
	})
}

// perms writes entries with their types inside the body.
func perms(all []*Entry) string {
	var s []string
	for _, e := range all {
		text := e.Name
		if e.Sign != 0 {
			text = string(e.Sign) + text
		}
		if e.Var != nil {
			text += ": " + e.Var.Type.String()
		}
		s = append(s, text)
	}
	return "[" + strings.Join(s, ", ") + "]"
}

func (d *dumper) block(b *Block) {
	if b != nil {
		d.in(func() { d.stmts(b) })
	}
}

func (d *dumper) stmts(b *Block) {
	if b == nil {
		return
	}
	for _, s := range b.Stmts {
		d.stmt(s)
	}
}

func (d *dumper) stmt(s Stmt) {
	switch s := s.(type) {
	case *Declare:
		d.line("var %s: %s%s = %s", s.Var.Name, s.Var.Type, built(s.Var), d.expr(s.Init))
	case *Unpack:
		d.line("unpack %s = %s", vars(s.Vars), d.expr(s.Init))
	case *Assign:
		d.line("%s %s= %s", d.expr(s.Target), s.Op, d.expr(s.Value))
	case *Repoint:
		d.line("repoint %s = %s", d.expr(s.Target), d.expr(s.Value))
	case *Do:
		d.line("%s", d.expr(s.X))
	case *Return:
		d.line("%s", strings.TrimSpace("return "+d.optional(s.X)))
	case *Break:
		d.line("break")
	case *Continue:
		d.line("continue")
	case *Assert:
		d.line("assert %s %s", d.expr(s.X), d.optional(s.Message))
	case *Fail:
		d.line("fail %s", d.expr(s.X))
	case *Emit:
		d.line("emit %s of %s: %s", s.Event.Name, d.expr(s.Self), d.optional(s.Value))
	default:
		d.compound(s)
	}
}

func built(v *Var) string {
	if v.Built {
		return " built"
	}
	return ""
}

// compound writes statements that contain statements.
func (d *dumper) compound(s Stmt) {
	switch s := s.(type) {
	case *If:
		d.line("if %s", d.expr(s.Cond))
		d.block(s.Then)
		if s.Else != nil {
			d.line("else")
			d.block(s.Else)
		}
	case *Repeat:
		d.repeat(s)
	case *ForIn:
		d.line("for %s: %s in %s", s.Var.Name, s.Var.Type, d.expr(s.X))
		d.block(s.Body)
	case *Match:
		d.line("match %s", d.expr(s.X))
		for _, a := range s.Arms {
			d.in(func() { d.line("%s", d.arm(a)); d.block(a.Body) })
		}
	case *Defer:
		d.line("defer")
		d.block(s.Block)
	case *Spawn:
		d.line("spawn %s", kindWords[s.Body.Kind])
		d.body(s.Body)
	case *SpawnEach:
		d.line("spawn %s for each of %s", kindWords[s.Body.Kind], d.expr(s.X))
		d.body(s.Body)
	case *Finish:
		d.line("finish")
		d.block(s.Block)
	case *On:
		d.line("on %s %s%s", d.expr(s.Emitter), s.Event.Name,
			vars(s.Handler.Params)+suffix(s.Handler.Result))
		d.body(s.Handler)
	case *Await:
		d.await(s)
	case *Nest:
		d.line("block")
		d.block(s.Block)
	default:
		d.line("? %T", s)
	}
}

var kindWords = [...]string{"function", "child", "root", "handler", "continuation", "lambda",
	"callback"}

func (d *dumper) repeat(s *Repeat) {
	word := "repeat"
	if s.Counted {
		word = "repeat counted"
	}
	d.line("%s while %s", word, d.optional(s.Cond))
	if s.Init != nil {
		d.line("init")
		d.block(s.Init)
	}
	if s.Step != nil {
		d.line("step")
		d.in(func() { d.stmt(s.Step) })
	}
	d.line("do")
	d.block(s.Body)
}

func (d *dumper) arm(a *Arm) string {
	switch {
	case a.Any:
		return "any"
	case a.Const != nil:
		return "const " + d.expr(a.Const)
	}
	var names []string
	for _, v := range a.Vars {
		if v == nil {
			names = append(names, "_")
		} else {
			names = append(names, v.Name+": "+v.Type.String())
		}
	}
	return fmt.Sprintf("case %d(%s)", a.Case, strings.Join(names, ", "))
}

func (d *dumper) await(s *Await) {
	head := "await " + d.expr(s.Call)
	if s.Var != nil {
		head = fmt.Sprintf("await %s: %s = %s", s.Var.Name, s.Var.Type, d.expr(s.Call))
	}
	if s.Within != nil {
		head += " within " + d.expr(s.Within)
	}
	d.line("%s", head)
	d.body(s.Rest)
}
