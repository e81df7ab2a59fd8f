package check

import (
	"slices"
	"strings"

	"interleave/eve/source"
	"interleave/eve/types"
)

// An Implied member belongs to a type that does not declare it: copy, and in modules that import
// util.json the two functions of the type's form in JSON.
type Implied struct {
	Name   string   // "from_json"
	Owner  string   // the type: "order"
	Self   bool     // a method; else it is called on the type
	Params []string // without self, as they would be declared: "v: json.value"
	Result string   // "order!"
	About  string   // a sentence for its users
}

// Head is what would stand behind the name in a declaration: "(self) json.value".
func (i Implied) Head() string {
	params := i.Params
	if i.Self {
		params = append([]string{"self"}, params...)
	}
	return "(" + strings.Join(params, ", ") + ") " + i.Result
}

// Implied returns the implied member of that name for a place behind a dot; false when the value or
// type before the dot has none. It changes nothing, so several requests may ask at once.
func (x *Index) Implied(at source.Span, name string) (Implied, bool) {
	l, ok := x.lefts[at]
	if !ok || l.module != nil || l.events || l.t == nil {
		return Implied{}, false
	}
	for _, i := range x.implied(x.modules[at.File], l) {
		if i.Name == name {
			return i, true
		}
	}
	return Implied{}, false
}

// implied lists the implied members of what stands before a dot in the module m.
func (x *Index) implied(m *module, l left) []Implied {
	c, t := x.checker, l.t
	if !l.static {
		t = t.Deref()
	}
	if t.Kind == types.Invalid {
		return nil
	}
	var all []Implied
	add := func(i Implied) {
		_, _, isField := c.fieldOf(t, i.Name)
		if c.method(t, i.Name) == nil && !(i.Self && isField) {
			i.Owner = t.String()
			all = append(all, i)
		}
	}
	if !l.static && canCopy(t, nil) {
		add(Implied{Name: "copy", Self: true, Result: t.String(),
			About: "A copy of the value, which another place may own."})
	}
	d := x.deriver(m)
	if d == nil || c.hasParam(t) {
		return all
	}
	name := toJSON
	if l.static {
		name = fromJSON
	}
	if !d.hasForm(t, name, map[*types.Type]bool{}) {
		return all
	}
	if l.static {
		add(Implied{Name: name, Params: []string{"v: json.value"}, Result: t.String() + "!",
			About: "Reads a value of JSON, as `json.decode` does with a text. " +
				"`util.json` derives it from the type."})
	} else {
		add(Implied{Name: name, Self: true, Result: "json.value",
			About: "The value as JSON, of which `json.encode` makes a text. " +
				"`util.json` derives it from the type."})
	}
	return all
}

// deriver returns one that says which types have a form in JSON, for a module that imports
// util.json; nil for others. It makes no functions.
func (x *Index) deriver(m *module) *deriver {
	c := x.checker
	j := c.modules["util.json"]
	if j == nil || m == nil || m != j && !slices.Contains(m.uses, j) {
		return nil
	}
	for t, tn := range c.decls {
		if j.names["value"] == object(tn) {
			return &deriver{checker: c, json: j, value: t}
		}
	}
	return nil
}

// hasForm says whether t and all its parts have a form in JSON. seen holds the types around it.
func (d *deriver) hasForm(t *types.Type, name string, seen map[*types.Type]bool) bool {
	if seen[t] {
		return true
	}
	seen[t] = true
	if t.Kind == types.Invalid || d.lack(t, name) != "" {
		return false
	}
	if t.Kind == types.Named {
		if t.Def == nil || t == d.value || d.method(t, name) != nil {
			return true
		}
		if why, _ := d.lackOfParts(t, name); why != "" {
			return false
		}
	}
	for _, p := range partTypes(t) {
		if !d.hasForm(p, name, seen) {
			return false
		}
	}
	return true
}
