package check

import (
	"fmt"
	"slices"
	"strings"

	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// Types without from_json and to_json get those of their fields. A deriver makes them, for types
// that some code reads or writes. Its functions are part of the module util.json_fields, whose own
// functions they call. Another one makes the texts of values with own texts in them (owntext.go).
type deriver struct {
	*checker
	home         *module     // of the functions that it makes
	at           source.Span // of all that it makes: a place in home
	json, fields *module     // util.json and util.json_fields; nil for texts
	value        *types.Type // json.value; nil for texts
}

const (
	fromJSON = "from_json"
	toJSON   = "to_json"
)

// deriver returns nil for a module that does not import util.json.
func (c *checker) deriver(m *module) *deriver {
	j := c.modules["util.json"]
	if j == nil || m != j && !slices.Contains(m.uses, j) {
		return nil
	}
	fields := c.library("util.json_fields")
	d := &deriver{checker: c, home: fields, json: j, fields: fields}
	d.value = c.namedType(j.names["value"].(*typeName), nil, source.Span{})
	d.at = d.fields.names["fill"].(*function).tree.Name.Span
	return d
}

// derivedFrom lowers a call of t.from_json where t has no such function. It is nil for other names,
// and in modules that do not import util.json.
func (l *lowerer) derivedFrom(t *types.Type, fun *syntax.Selector, x *callExpr) ir.Expr {
	if fun.Name.Text != fromJSON {
		return nil
	}
	d := l.deriver(l.m)
	if d == nil {
		return nil
	}
	if len(x.Args) != 1 || x.Args[0] == nil || x.Args[0].X == nil || x.Args[0].Name != nil {
		l.errorf("E0333", x.Span, "'%s' takes a json.value, and here %s", fromJSON,
			are(len(x.Args)))
		return l.giveUp(x)
	}
	if l.hasParam(t) || !d.derivable(t, fromJSON, fun.Name.Span) {
		return l.giveUp(x)
	}
	v := l.fitted(x.Args[0].X, d.value)
	if broken(v) {
		return bad(x.Span)
	}
	l.note(l.m, fun.Name.Span, Use{Role: MethodName, Body: l.cur})
	fn, more := d.reader(t)
	return &ir.Call{Place: place(fn.Result, x.Span), Fn: fn, Args: append([]ir.Expr{v}, more...)}
}

// derivedTo is derivedFrom for a call of v.to_json.
func (l *lowerer) derivedTo(v ir.Expr, fun *syntax.Selector, x *callExpr) ir.Expr {
	if fun.Name.Text != toJSON {
		return nil
	}
	d := l.deriver(l.m)
	if d == nil {
		return nil
	}
	if len(x.Args) > 0 {
		l.errorf("E0334", x.Span, "'%s' takes no arguments", toJSON)
		return l.giveUp(x)
	}
	v = l.defaultType(v)
	if l.hasParam(v.Type()) || !d.derivable(v.Type(), toJSON, fun.Name.Span) {
		return l.giveUp(x)
	}
	l.note(l.m, fun.Name.Span, Use{Role: MethodName, Body: l.cur})
	return &ir.Call{Place: place(d.value, x.Span), Fn: d.writer(v.Type()), Args: []ir.Expr{v}}
}

// derivable says whether t has a form in JSON. It reports a type that has none.
func (d *deriver) derivable(t *types.Type, name string, at source.Span) bool {
	if t.Kind == types.Invalid {
		return false
	}
	why, also := d.lack(t, name), []diag.Label(nil)
	if why == "" && t.Kind == types.Named && t != d.value {
		why, also = d.lackOfParts(t, name)
	}
	if why == "" {
		return true
	}
	doing := "read from JSON"
	if name == toJSON {
		doing = "written as JSON"
	}
	d.diags.Add(diag.Diagnostic{
		Code: "E0502", Span: at, Message: fmt.Sprintf("%s cannot be %s: it %s", t, doing, why),
		Also: also, Label: "a type with its own " + name + " can be",
	})
	return false
}

// lack describes why t has no form in JSON; empty if it has one. The parts of structs and unions
// are looked at when their functions are made.
func (d *deriver) lack(t *types.Type, name string) string {
	switch t.Kind {
	case types.Invalid, types.Bool, types.String:
		return ""
	case types.Vector, types.Array, types.Set:
		if t == types.BytesT {
			return "is bytes: hold the text of base64.encode"
		}
		return d.lackWithin(t.Elem, name)
	case types.Map:
		if !d.isKey(t.Key) {
			return "has keys that are neither strings nor integers, nor have parse and text"
		}
		return d.lackWithin(t.Elem, name)
	case types.Option:
		if t.Elem.Kind == types.Option {
			return "is an option of an option, and there is one null"
		}
		return d.lackWithin(t.Elem, name)
	case types.Tuple:
		for _, e := range t.Elems {
			if why := d.lackWithin(e, name); why != "" {
				return why
			}
		}
		return ""
	case types.Named:
		return d.lackOfNamed(t, name)
	case types.Shared:
		if t.Elem.Kind == types.Func {
			return "is a callback"
		}
		return "is a handle"
	case types.Func, types.Ref, types.Slice:
		return "ends with the call that it is made for"
	}
	if t.IsNumber() && t != types.CharT && t != types.DurationT {
		return ""
	}
	return "is " + article(t)
}

// isKey says whether the values of t have texts that are names of the fields of an object.
func (d *deriver) isKey(t *types.Type) bool {
	return t == types.StringT || t.IsInteger() && t != types.CharT && t != types.DurationT ||
		t.Kind == types.Named && d.method(t, parseText) != nil && d.ownText(t) != nil
}

// lackWithin is lack for a part of a type.
func (d *deriver) lackWithin(t *types.Type, name string) string {
	if why := d.lack(t, name); why != "" {
		return "holds " + t.String() + ", which " + why
	}
	return ""
}

func (d *deriver) lackOfNamed(t *types.Type, name string) string {
	switch {
	case t == d.value || t.Def == nil || d.method(t, name) != nil:
	case t.Def.Emitter:
		return "is an emitter"
	case t.Def.Form == types.Native || t.Def.Form == types.Interface,
		t.Def.Form == types.Struct && len(t.Def.Fields) == 0:
		return "has no fields"
	}
	return ""
}

// lackOfParts is lack for the fields of a struct, or for those of a union's cases.
func (d *deriver) lackOfParts(t *types.Type, name string) (string, []diag.Label) {
	if why, at := d.lackOfFields(t, -1, t.Def.Fields, name); why != "" {
		return why, at
	}
	seen := map[string]bool{}
	for i, k := range t.Def.Cases {
		key := keyOf(types.Field{Name: k.Name})
		if seen[key] {
			return fmt.Sprintf("has two cases that are '%s' there", key), nil
		}
		seen[key] = true
		if why, at := d.lackOfFields(t, i, k.Fields, name); why != "" {
			return "has the case '" + k.Name + "', which " + why, at
		}
	}
	return "", nil
}

// lackOfFields is lack for the fields of t, or for those of case k.
func (d *deriver) lackOfFields(t *types.Type, k int, fields []types.Field,
	name string) (string, []diag.Label) {
	seen := map[string]string{}
	for _, f := range fields {
		key := keyOf(f)
		if first, twice := seen[key]; twice {
			return fmt.Sprintf("has the fields '%s' and '%s', which have one name there", first,
				f.Name), d.fieldPlace(t, k, f.Name)
		}
		seen[key] = f.Name
		if why := d.lack(f.Type, name); why != "" {
			return fmt.Sprintf("has the field '%s', which %s", f.Name, why),
				d.fieldPlace(t, k, f.Name)
		}
	}
	return "", nil
}

// keyOf is the name of a field in JSON: without a _ at its end, which names that are keywords of
// Eve have.
func keyOf(f types.Field) string {
	if key := strings.TrimSuffix(f.Name, "_"); key != "" {
		return key
	}
	return f.Name
}

// fieldPlace is the place where the struct t, or case k of the union t, declares a field.
func (d *deriver) fieldPlace(t *types.Type, k int, name string) []diag.Label {
	if k >= 0 {
		if kind := d.unionCaseTree(t, k); kind != nil {
			for _, p := range kind.Fields {
				if p.Name != nil && p.Name.Text == name {
					return also(p.Name.Span, "this field")
				}
			}
		}
		return nil
	}
	tn := d.decls[t]
	if tn == nil || tn.structure == nil {
		return nil
	}
	for _, m := range tn.structure.Members {
		if v, ok := m.(*syntax.VarDecl); ok {
			for _, n := range v.Names {
				if n.Text == name {
					return also(n.Span, "this field")
				}
			}
		}
	}
	return nil
}

// reader returns the function that reads a t, and its arguments behind the value.
func (d *deriver) reader(t *types.Type) (*ir.Func, []ir.Expr) {
	whole := []ir.Expr{d.literal("")} // the pointer to all of the value
	switch t.Kind {
	case types.Bool:
		return d.helper("as_bool"), whole
	case types.String:
		return d.helper("as_text"), whole
	case types.Int64:
		return d.helper("as_int"), whole
	case types.Float64:
		return d.helper("as_float"), whole
	case types.Uint64:
		return d.helper("from_uint"), nil
	case types.Float32:
		return d.helper("from_float32"), nil
	case types.Vector:
		return d.helper("read_list", t.Elem), whole
	case types.Map:
		if t.Key != types.StringT {
			return d.helper("from_keyed", t.Key, t.Elem), nil
		}
		return d.helper("read_map", t.Elem), whole
	case types.Set:
		return d.helper("from_set", t.Elem), nil
	case types.Option:
		return d.helper("from_option", t, t.Elem), nil
	}
	if t == d.value {
		return d.helper("find"), whole
	}
	if t.IsInteger() {
		low, high := bounds(t)
		return d.helper("from_integer", t), []ir.Expr{d.number(low.Int64()),
			d.number(high.Int64())}
	}
	return d.function(fromJSON, t, d.value, d.universe.Result(t), d.readParts), nil
}

// writer returns the function that writes a t.
func (d *deriver) writer(t *types.Type) *ir.Func {
	switch t.Kind {
	case types.Bool:
		return d.helper("of_bool")
	case types.String:
		return d.helper("of_text")
	case types.Uint64:
		return d.helper("of_uint")
	case types.Vector, types.Array, types.Set:
		return d.helper("of_each", t, t.Elem)
	case types.Map:
		if t.Key != types.StringT {
			return d.helper("of_keyed", t.Key, t.Elem)
		}
		return d.helper("of_map", t.Elem)
	case types.Option:
		return d.helper("of_option", t.Elem)
	}
	switch {
	case t == d.value:
		return d.helper("of_value")
	case t.IsInteger():
		return d.helper("of_integer", t)
	case t.IsFloat():
		return d.helper("of_float", t)
	}
	return d.function(toJSON, t, t, d.value, d.writeParts)
}

// helper returns a function of util.json_fields, or of util.json, for type arguments.
func (d *deriver) helper(name string, args ...*types.Type) *ir.Func {
	f, ok := d.fields.names[name].(*function)
	if !ok {
		f = d.json.names[name].(*function)
	}
	return d.instance(f, nil, args, d.at)
}
