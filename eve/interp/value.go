package interp

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"interleave/eve/ir"
	"interleave/eve/types"
)

// Values are: int64 for every integer, char and duration (an unsigned one has the same bits),
// float64, bool, string, *record, *list, *view, *table, *fault, *object, *closure, span, *place
// for T&, nil for void. A place is the storage of a value: a variable, a field, an element, an
// object.
type (
	value = any
	place = *value

	// A record is a struct, a tuple, a case of a union (kind is its number), an option (0 none, 1
	// some) or a result (0 error, 1 ok).
	record struct {
		kind   int
		fields []value
	}
	// A list is a vector or an array. busy counts the iterations under way.
	list struct {
		elems []value
		busy  int
	}
	// A view is a slice of a list.
	view struct {
		of         *list
		start, end int
	}
	// A table is a map, or a set (without values), in order of insertion.
	table struct {
		keys   []value
		values []value
		index  map[any]int
		pairs  bool // a map
		busy   int
	}
	// A fault is a value of type error.
	fault struct {
		code  int64
		text  string
		cause *fault
	}
	// A span is a range of integers: a number of them from low on.
	span struct {
		low   int64
		turns uint64
	}
)

func some(v value) *record    { return &record{1, []value{v}} }
func none() *record           { return &record{0, nil} }
func ok(v value) *record      { return &record{1, []value{v}} }
func failed(f *fault) *record { return &record{0, []value{f}} }

func (v *view) elems() []value { return v.of.elems[v.start:v.end] }

// copied is a copy that shares only handles with v.
func copied(v value) value {
	all := func(vs []value) []value {
		if vs == nil {
			return nil
		}
		out := make([]value, len(vs))
		for i, x := range vs {
			out[i] = copied(x)
		}
		return out
	}
	switch v := v.(type) {
	case *record:
		return &record{v.kind, all(v.fields)}
	case *list:
		return &list{elems: all(v.elems)}
	case *table:
		t := newTable()
		t.pairs = v.pairs
		for i, k := range v.keys {
			t.put(copied(k), copied(v.values[i]))
		}
		return t
	}
	return v
}

// owned is v for a new owner: a copy if the type is copied implicitly, v itself if it moves.
func owned(v value, t *types.Type) value {
	if t.Copyable() {
		return copied(v)
	}
	return v
}

func newTable() *table { return &table{index: map[any]int{}} }

func (t *table) put(k, v value) (fresh bool) {
	key := keyOf(k)
	if i, there := t.index[key]; there {
		t.values[i] = v
		return false
	}
	t.index[key] = len(t.keys)
	t.keys = append(t.keys, k)
	t.values = append(t.values, v)
	return true
}

// find returns the place of a key's value, nil when there is none.
func (t *table) find(k value) place {
	if i, there := t.index[keyOf(k)]; there {
		return &t.values[i]
	}
	return nil
}

func (t *table) clear() { t.keys, t.values, t.index = nil, nil, map[any]int{} }

func (t *table) remove(k value) bool {
	key := keyOf(k)
	i, there := t.index[key]
	if !there {
		return false
	}
	delete(t.index, key)
	t.keys = append(t.keys[:i:i], t.keys[i+1:]...)
	t.values = append(t.values[:i:i], t.values[i+1:]...)
	for k, j := range t.index {
		if j > i {
			t.index[k] = j - 1
		}
	}
	return true
}

// A joint is the key of a value with parts.
type joint string

// keyOf is the same for two values of one type exactly when they are equal.
func keyOf(v value) any {
	switch v := v.(type) {
	case int64, bool, string, *object:
		return v
	}
	var b strings.Builder
	writeKey(&b, v)
	return joint(b.String())
}

func writeKey(b *strings.Builder, v value) {
	all := func(vs []value) {
		b.WriteByte('(')
		for _, x := range vs {
			writeKey(b, x)
			b.WriteByte(',')
		}
		b.WriteByte(')')
	}
	switch v := v.(type) {
	case string:
		fmt.Fprintf(b, "%d:%s", len(v), v)
	case float64:
		if v == 0 {
			v = 0 // -0 equals 0
		}
		b.WriteString(strconv.FormatFloat(v, 'g', -1, 64))
	case *object:
		b.WriteString(strconv.Itoa(v.id))
	case *record:
		b.WriteString(strconv.Itoa(v.kind))
		all(v.fields)
	case *list:
		all(v.elems)
	case *view:
		all(v.elems())
	case *fault:
		fmt.Fprintf(b, "%d:%d:%s", v.code, len(v.text), v.text)
	default:
		fmt.Fprint(b, v)
	}
}

// equal says whether two values of one type are equal.
func equal(a, b value) bool {
	switch x := a.(type) {
	case *record:
		y := b.(*record)
		return x.kind == y.kind && same(x.fields, y.fields)
	case *list, *view:
		return same(elemsOf(a), elemsOf(b))
	case *table:
		y := b.(*table)
		if len(x.keys) != len(y.keys) {
			return false
		}
		for i, k := range x.keys {
			p := y.find(k)
			if p == nil || !equal(x.values[i], *p) {
				return false
			}
		}
		return true
	case *fault:
		y := b.(*fault)
		return x.code == y.code && x.text == y.text
	}
	return a == b
}

func same(a, b []value) bool {
	return slices.EqualFunc(a, b, equal)
}

// compare orders two values of an ordered type.
func compare(a, b value, t *types.Type) int {
	switch x := a.(type) {
	case int64:
		y := b.(int64)
		if t.IsUnsigned() {
			return order(uint64(x), uint64(y))
		}
		return order(x, y)
	case float64:
		return order(x, b.(float64))
	case string:
		return strings.Compare(x, b.(string))
	case bool:
		return order(truth(x), truth(b.(bool)))
	case *record:
		for i, f := range x.fields {
			if c := compare(f, b.(*record).fields[i], t.Elems[i]); c != 0 {
				return c
			}
		}
	}
	return 0
}

func order[T int64 | uint64 | float64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// zero is the zero value of a type.
func (in *interp) zero(t *types.Type) value {
	switch t.Kind {
	case types.Bool:
		return false
	case types.Float32, types.Float64:
		return 0.0
	case types.String:
		return ""
	case types.Vector:
		return &list{}
	case types.Array:
		l := &list{elems: make([]value, t.Len)}
		for i := range l.elems {
			l.elems[i] = in.zero(t.Elem)
		}
		return l
	case types.Map:
		t := newTable()
		t.pairs = true
		return t
	case types.Set:
		return newTable()
	case types.Tuple:
		r := &record{}
		for _, e := range t.Elems {
			r.fields = append(r.fields, in.zero(e))
		}
		return r
	case types.Option:
		return none()
	case types.Result:
		return ok(in.zero(t.Elem))
	case types.Error:
		return &fault{}
	case types.Shared:
		return in.object(in.zero(t.Elem), t.Elem)
	case types.Named:
		return in.zeroNamed(t)
	case types.Void:
		return nil
	}
	return int64(0)
}

func (in *interp) zeroNamed(t *types.Type) value {
	if t.Def == nil || t.Def.Form == types.Native {
		return in.native(t)
	}
	fields := t.Def.Fields
	if t.Def.Form == types.Union {
		fields = t.Def.Cases[0].Fields
	}
	r := &record{}
	for _, f := range fields {
		if x, is := f.Default.(ir.Expr); is {
			r.fields = append(r.fields, owned(in.frame(nil).value(x), f.Type))
		} else {
			r.fields = append(r.fields, in.zero(f.Type))
		}
	}
	return r
}

// wrapped is v in the width of an integer type.
func wrapped(v int64, t *types.Type) int64 {
	switch t.Kind {
	case types.Int8:
		return int64(int8(v))
	case types.Int16:
		return int64(int16(v))
	case types.Int32:
		return int64(int32(v))
	case types.Uint8, types.Char:
		return int64(uint8(v))
	case types.Uint16:
		return int64(uint16(v))
	case types.Uint32:
		return int64(uint32(v))
	}
	return v
}
