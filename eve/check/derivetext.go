package check

import (
	"fmt"
	"strings"

	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// In module util.reading, types have static functions that read them out of texts: `parse` of one
// text, and structs also `parse_fields`, of a map with a text for each field, and `field_names`.
// A type that declares `parse` is read by that. The others get these functions from the deriver.
const (
	parseText     = "parse"
	parseFields   = "parse_fields"
	namesOfFields = "field_names"
)

// derivedParse lowers a call of one of these functions where t does not declare it. It is nil for
// other names, and in other modules.
func (l *lowerer) derivedParse(t *types.Type, fun *syntax.Selector, x *callExpr) ir.Expr {
	m, name := l.modules["util.reading"], fun.Name.Text
	if m == nil || l.m != m || !m.std ||
		name != parseText && name != parseFields && name != namesOfFields {
		return nil
	}
	d := &deriver{checker: l.checker, home: m, fields: m,
		at: m.names["fill"].(*function).tree.Name.Span}
	if l.hasParam(t) || !d.readable(t, name, fun) {
		return l.giveUp(x)
	}
	l.note(l.m, fun.Name.Span, Use{Role: MethodName, Body: l.cur})
	if name == namesOfFields {
		fn := d.function(name, t, types.BoolT, d.universe.Vector(types.StringT), d.listNames)
		return &ir.Call{Place: place(fn.Result, x.Span), Fn: fn, Args: []ir.Expr{d.truth(true)}}
	}
	if len(x.Args) != 1 || x.Args[0] == nil || x.Args[0].X == nil {
		return l.giveUp(x)
	}
	wanted := types.StringT
	if name == parseFields {
		wanted = d.universe.Map(types.StringT, types.StringT)
	}
	v := l.fitted(x.Args[0].X, wanted)
	if broken(v) {
		return bad(x.Span)
	}
	var fn *ir.Func
	args := []ir.Expr{v}
	if name == parseFields {
		fn = d.function(name, t, wanted, d.universe.Result(t), d.fillFields)
	} else {
		var more []ir.Expr
		fn, more = d.textReader(t)
		args = append(args, more...)
	}
	return &ir.Call{Place: place(fn.Result, x.Span), Fn: fn, Args: args}
}

// readable says whether t can be read out of texts. It reports a type that cannot.
func (d *deriver) readable(t *types.Type, name string, fun *syntax.Selector) bool {
	why, also := "", []diag.Label(nil)
	if name == parseText {
		why = d.lackOfText(t)
	} else {
		why, also = d.lackOfTexts(t)
	}
	if why == "" {
		return t.Kind != types.Invalid
	}
	d.diags.Add(diag.Diagnostic{
		Code: "E0502", Span: fun.Name.Span,
		Message: fmt.Sprintf("%s cannot be read from text: it %s", t, why), Also: also,
		Label: "a type with a function parse: (text: string) T! can be",
	})
	return false
}

// lackOfText describes why t cannot be read out of one text; empty if it can.
func (d *deriver) lackOfText(t *types.Type) string {
	switch {
	case t.Kind == types.Invalid, t == types.StringT, t == types.BoolT, t == types.DurationT,
		t.IsNumber() && t != types.CharT, d.method(t, parseText) != nil:
		return ""
	case t.Kind == types.Option && t.Elem.Kind == types.Option:
		return "is an option of an option"
	case t.Kind == types.Option:
		if why := d.lackOfText(t.Elem); why != "" {
			return fmt.Sprintf("holds %s, which %s", t.Elem, why)
		}
		return ""
	case t.Kind != types.Named || t.Def == nil || t.Def.Form != types.Union:
		return "has no function " + parseText
	}
	for _, k := range t.Def.Cases {
		if len(k.Fields) > 0 {
			return "has a case with fields, '" + k.Name + "'"
		}
	}
	return ""
}

// lackOfTexts describes why the struct t cannot be read out of a text for each field.
func (d *deriver) lackOfTexts(t *types.Type) (string, []diag.Label) {
	if t.Kind == types.Invalid {
		return "", nil
	}
	if t.Kind != types.Named || t.Def == nil || t.Def.Form != types.Struct || t.Def.Emitter ||
		len(t.Def.Fields) == 0 {
		return "has no fields", nil
	}
	for _, f := range t.Def.Fields {
		if why := d.lackOfText(f.Type); why != "" {
			return fmt.Sprintf("has the field '%s', a %s, which %s", f.Name, f.Type, why),
				d.fieldPlace(t, -1, f.Name)
		}
	}
	return "", nil
}

// textReader returns the function that reads a t, and its arguments behind the text.
func (d *deriver) textReader(t *types.Type) (*ir.Func, []ir.Expr) {
	switch {
	case t == types.StringT:
		return d.helper("of_string"), nil
	case t == types.BoolT:
		return d.helper("of_bool"), nil
	case t == types.DurationT:
		return d.helper("of_duration"), nil
	case t.Kind == types.Float64:
		return d.helper("of_float"), nil
	case t.Kind == types.Float32:
		return d.helper("of_float32"), nil
	case t.Kind == types.Uint64:
		return d.helper("of_uint"), nil
	case t.IsInteger():
		low, high := bounds(t)
		return d.helper("of_integer", t), []ir.Expr{d.number(low.Int64()), d.number(high.Int64())}
	case t.Kind == types.Option:
		return d.helper("of_option", t, t.Elem), nil
	}
	return d.function(parseText, t, types.StringT, d.universe.Result(t), d.readCaseName), nil
}

// readCaseName writes the body of parse of a union without fields.
func (d *deriver) readCaseName(r *routine) {
	m := &ir.Match{Mark: r.mark(), X: r.ref(r.v)}
	var all []string
	for i, k := range r.t.Def.Cases {
		key := keyOf(types.Field{Name: k.Name})
		all = append(all, `"`+key+`"`)
		r.arm(m, &ir.Arm{Const: r.literal(key), Case: -1}, func() {
			r.answer(&ir.MakeCase{Place: place(r.t, r.at), Case: i})
		})
	}
	r.arm(m, &ir.Arm{Any: true, Case: -1}, func() {
		wrong := r.call("no_case", nil, r.ref(r.v), r.literal(strings.Join(all, ", ")))
		r.result(&ir.MakeError{Place: place(r.body.Result, r.at), X: wrong})
	})
	r.add(m)
}

// fillFields writes the body of parse_fields.
func (d *deriver) fillFields(r *routine) {
	made := r.start("made", r.t)
	for i, f := range r.t.Def.Fields {
		field := &ir.Field{Place: place(f.Type, r.at), X: r.ref(made), Index: i}
		r.attempt(r.call("fill", []*types.Type{f.Type}, r.ref(r.v), r.literal(keyOf(f)), field,
			r.truth(needed(f))))
	}
	r.answer(r.ref(made))
}

// listNames writes the body of field_names, which does not look at its parameter.
func (d *deriver) listNames(r *routine) {
	names := r.start("names", r.universe.Vector(types.StringT))
	for _, f := range r.t.Def.Fields {
		r.do(r.call("add_name", nil, r.ref(names), r.literal(keyOf(f))))
	}
	r.result(r.ref(names))
}
