package emit

import (
	"strings"

	"interleave/eve/ir"
	"interleave/eve/types"
)

// native writes a call of a function of the runtime. Methods are members of the same name.
// Functions are in namespace eve; those of modules other than the prelude are in a namespace of
// the module's name.
func (f *function) native(e *ir.Call) string {
	fn := e.Fn
	if fn.Module != nil {
		f.needs(fn.Module.Runtime)
	}
	if s, ok := f.formatted(e); ok {
		return s
	}
	list := f.nativeOperands(e)
	site := ""
	if placed[fn.Native] {
		site = f.site(e.Span.Line())
	}
	args := f.exprs(list...)
	if fn.Native == "same" && e.Args[0].Type().Elem.Kind != types.Func {
		return paren(args[0]) + " == " + paren(args[1])
	}
	name := notKeyword(fn.Name[strings.LastIndexByte(fn.Name, '.')+1:])
	if site != "" {
		args = append(args, site)
	}
	switch {
	case fn.Recv != nil && fn.Static:
		return f.ctype(fn.Recv) + "::" + name + "(" + joinStrings(args) + ")"
	case fn.Recv != nil && fn.Recv.Kind == types.Duration:
		return "eve::" + name + "(" + joinStrings(args) + ")"
	case fn.Recv != nil:
		return member(args[0], name+"("+joinStrings(args[1:])+")")
	case fn.Module != nil && fn.Module.Name != "prelude":
		return space(fn.Module) + name + "(" + joinStrings(args) + ")"
	}
	return "eve::" + name + "(" + joinStrings(args) + ")"
}

// placed are the natives that take the place of a trap as their last argument.
var placed = map[string]bool{
	"vector.insert": true, "vector.remove": true, "vector.swap": true, "vector.split": true,
	"vector.resize": true,
	"vector.push":   true, "vector.pop": true, "vector.append": true, "vector.clear": true,
	"vector.reserve":    true,
	"bytes.append_uint": true, "bytes.uint_at": true,
	"array.swap": true, "array.split": true, "slice.swap": true, "slice.split": true,
	"slice.copy_from": true,
	"string.repeat":   true, "map.set": true, "map.get_or_add": true, "map.remove": true,
	"map.clear":  true,
	"set.insert": true, "set.remove": true, "set.clear": true,
	"instant.from_unix": true, "instant.plus": true, "instant.since": true,
	"random.secure_bytes": true,
}

// nativeOperands says how the arguments of a native are passed. Natives of the runtime are
// templates, so constants must state their type.
func (f *function) nativeOperands(e *ir.Call) []operand {
	var list []operand
	for i, a := range e.Args {
		o := lend(a)
		switch {
		case i < len(e.Fn.Params) && (e.Fn.Params[i].Kind == ir.Self ||
			e.Fn.Params[i].Type.Kind == types.Ref):
			o.how = byRef
		case i < len(e.Fn.Params) && e.Fn.Params[i].Take:
			o.how = byOwn
		case i < len(e.Fn.Params) && e.Fn.Params[i].Type.Kind == types.Slice:
			o.text = func(f *function) string { return f.view(a) }
		}
		if c, ok := a.(*ir.Const); ok {
			o.text = func(f *function) string { return f.constant(c, true) }
		}
		list = append(list, o)
	}
	return list
}

// formatted writes natives that take a new text without making a string first.
func (f *function) formatted(e *ir.Call) (string, bool) {
	if e.Fn.Native != "output.write" && e.Fn.Native != "print" {
		return "", false
	}
	format, ok := e.Args[len(e.Args)-1].(*ir.Format)
	if !ok {
		return "", false
	}
	text := operand{x: format, how: byRead,
		text: func(f *function) string { return f.format(format) }}
	if e.Fn.Native == "print" {
		return "eve::the_stdout->write(" + f.exprs(text)[0] + ")", true
	}
	list := f.exprs(operand{x: e.Args[0], how: byRef}, text)
	return member(list[0], "write("+list[1]+")"), true
}
