// Package types holds Eve's types. Types are interned in a Universe: two types of one compilation
// are equal exactly when their pointers are.
package types

import (
	"fmt"
	"strings"
)

// A Kind says what a type is.
type Kind uint8

// The kinds of types.
const (
	// of expressions with a reported error; fits every type, so that errors do not cascade
	Invalid Kind = iota
	Void
	Bool
	Int8
	Int16
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
	Char // an 8-bit unsigned integer that prints as a character
	Float32
	Float64
	String
	Duration // nanoseconds in 64 bits
	Error    // code, text, cause
	UntypedInt
	UntypedFloat
	Vector // Elem; bytes is vector<char>
	Array  // Elem, Len
	Map    // Key, Elem
	Set    // Elem
	Slice  // Elem: a view, always T& in source
	Range  // a..b of integers
	Tuple  // Elems
	Option // Elem: T?
	Result // Elem: T!
	Shared // Elem: T@
	Ref    // Elem: T&
	Func   // Elems, Elem (result): <(A) R>, lives within a call
	Named  // Decl, Args: a struct, union, emitter, native or interface type
	Param  // a type parameter, in a generic that is checked as such
	None   // of the literal none
)

// A Type is a type. Use the constructors below; never make one by hand.
type Type struct {
	Kind  Kind
	Elem  *Type   // see the kinds
	Key   *Type   // of Map
	Elems []*Type // of Tuple, the parameters of Func
	Len   int64   // of Array
	Par   bool    // Func: <(A) R> par, may run in tasks
	Name  string  // of Named: "room", of Param: "T"
	Args  []*Type // of Named
	Def   *Def    // of Named: filled by the checker once the declaration has been read
	key   string
}

// Form says how a named type is declared.
type Form uint8

// The forms of named types.
const (
	Struct Form = iota
	Union       //
	// a type of std that the runtime implements: socket, timer. Not copyable unless Def.Copyable.
	Native
	Interface // methods only: a constraint of type parameters
)

// A Def is the declaration of a named type, for one list of type arguments.
type Def struct {
	Module  string // "io.socket"; empty for the main module and the prelude
	Form    Form
	Fields  []Field
	Cases   []Case   // of a union
	Emits   []*Event // of an emitter
	Emitter bool
	// Copyable says whether = copies it: all its fields are copyable. For natives it is declared
	// in std.
	Copyable bool
	// Runtime is the header of the runtime that defines the type in C++, "fs.hpp"; empty for a
	// type that is written in Eve.
	Runtime string
}

// A Field of a struct, or of a case of a union.
type Field struct {
	Name    string
	Type    *Type
	Pub     bool
	Default any // ir.Expr; nil for the zero value
}

// TextParts returns what stands before each field in the text of a struct or case, and behind them:
// account(cents = 5), or the name alone if there are no fields.
func TextParts(name string, fields []Field) (before []string, end string) {
	if len(fields) == 0 {
		return nil, name
	}
	text := name + "("
	for _, f := range fields {
		if f.Name != "" {
			text += f.Name + " = "
		}
		before = append(before, text)
		text = ", "
	}
	return before, ")"
}

// A Case of a union.
type Case struct {
	Name   string
	Fields []Field
}

// An Event of an emitter: its name, and the type of the value that a handler sees under that name.
type Event struct {
	Name string
	Type *Type
}

// A Universe holds the types of one compilation. The types without parts, and bytes, are
// the same in all.
type Universe struct {
	table map[string]*Type
}

// NewUniverse makes an empty one.
func NewUniverse() *Universe {
	return &Universe{map[string]*Type{BytesT.key: BytesT}}
}

func (u *Universe) intern(t Type) *Type {
	if old := u.table[t.key]; old != nil {
		return old
	}
	u.table[t.key] = &t
	return &t
}

func basic(k Kind, name string) *Type { return &Type{Kind: k, Name: name, key: name} }

// The types without parts.
var (
	InvalidT      = basic(Invalid, "?")
	VoidT         = basic(Void, "void")
	BoolT         = basic(Bool, "bool")
	Int8T         = basic(Int8, "int<8>")
	Int16T        = basic(Int16, "int<16>")
	Int32T        = basic(Int32, "int<32>")
	IntT          = basic(Int64, "int")
	Uint8T        = basic(Uint8, "uint<8>")
	Uint16T       = basic(Uint16, "uint<16>")
	Uint32T       = basic(Uint32, "uint<32>")
	UintT         = basic(Uint64, "uint")
	CharT         = basic(Char, "char")
	Float32T      = basic(Float32, "float<32>")
	FloatT        = basic(Float64, "float")
	StringT       = basic(String, "string")
	DurationT     = basic(Duration, "duration")
	ErrorT        = basic(Error, "error")
	UntypedIntT   = basic(UntypedInt, "integer constant")
	UntypedFloatT = basic(UntypedFloat, "number constant")
	RangeT        = &Type{Kind: Range, Elem: IntT, Name: "range", key: "range"}
	NoneT         = basic(None, "none")
	BytesT        = &Type{Kind: Vector, Elem: CharT, key: "vector<char>"}
)

func (u *Universe) one(k Kind, form string, elem *Type) *Type {
	return u.intern(Type{Kind: k, Elem: elem, key: fmt.Sprintf(form, elem.key)})
}

// Range returns the type of a..b for bounds of an integer type.
func (u *Universe) Range(elem *Type) *Type {
	if elem == IntT {
		return RangeT
	}
	return u.intern(Type{Kind: Range, Elem: elem, Name: RangeT.Name, key: "range<" + elem.key +
		">"})
}

// Vector returns vector<elem>, and so on for the others.
func (u *Universe) Vector(elem *Type) *Type { return u.one(Vector, "vector<%s>", elem) }

// Set returns set<elem>.
func (u *Universe) Set(elem *Type) *Type { return u.one(Set, "set<%s>", elem) }

// Slice returns slice<elem>, in source slice<elem>&.
func (u *Universe) Slice(elem *Type) *Type { return u.one(Slice, "slice<%s>", elem) }

// Option returns elem?.
func (u *Universe) Option(elem *Type) *Type { return u.one(Option, "%s?", elem) }

// Result returns elem!.
func (u *Universe) Result(elem *Type) *Type { return u.one(Result, "%s!", elem) }

// Shared returns elem@.
func (u *Universe) Shared(elem *Type) *Type { return u.one(Shared, "%s@", elem) }

// Ref returns elem&. A slice is a view already: Ref(slice) is the slice.
func (u *Universe) Ref(elem *Type) *Type {
	if elem.Kind == Slice {
		return elem
	}
	return u.one(Ref, "%s&", elem)
}

// Map returns map<key, elem>.
func (u *Universe) Map(key, elem *Type) *Type {
	return u.intern(Type{Kind: Map, Key: key, Elem: elem, key: "map<" + key.key + ", " + elem.key +
		">"})
}

// Array returns array<elem, n>.
func (u *Universe) Array(elem *Type, n int64) *Type {
	return u.intern(Type{Kind: Array, Elem: elem, Len: n, key: fmt.Sprintf("array<%s, %d>",
		elem.key, n)})
}

func keys(ts []*Type) string {
	var b strings.Builder
	for i, t := range ts {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(t.key)
	}
	return b.String()
}

// Tuple returns (elems...).
func (u *Universe) Tuple(elems ...*Type) *Type {
	return u.intern(Type{Kind: Tuple, Elems: elems, key: "(" + keys(elems) + ")"})
}

// Func returns <(params) result>, with par behind it when par is set. Shared makes its shared
// form.
func (u *Universe) Func(params []*Type, result *Type, par bool) *Type {
	key := "<(" + keys(params) + ") " + result.key + ">"
	if par {
		key += " par"
	}
	return u.intern(Type{Kind: Func, Elems: params, Elem: result, Par: par, key: key})
}

// Named returns the type that a declaration names. id distinguishes declarations of one name
// ("io.socket.connection"). If fresh is true the caller fills Def.
func (u *Universe) Named(id, name string, args []*Type) (t *Type, fresh bool) {
	key := id
	if len(args) > 0 {
		key += "<" + keys(args) + ">"
	}
	if old := u.table["named "+key]; old != nil {
		return old, false
	}
	return u.intern(Type{Kind: Named, Name: name, Args: args, key: "named " + key}), true
}

// Param returns the type parameter name of the declaration id.
func (u *Universe) Param(id, name string) *Type {
	return u.intern(Type{Kind: Param, Name: name, key: "param " + id + " " + name})
}

// String is the type as a user writes it.
func (t *Type) String() string {
	switch t.Kind {
	case Named:
		if len(t.Args) == 0 {
			return t.Name
		}
		return t.Name + "<" + list(t.Args) + ">"
	case Vector:
		if t.Elem == CharT {
			return "bytes"
		}
		return "vector<" + t.Elem.String() + ">"
	case Set:
		return "set<" + t.Elem.String() + ">"
	case Slice:
		return "slice<" + t.Elem.String() + ">&"
	case Array:
		return fmt.Sprintf("array<%s, %d>", t.Elem, t.Len)
	case Map:
		return "map<" + t.Key.String() + ", " + t.Elem.String() + ">"
	case Tuple:
		return "(" + list(t.Elems) + ")"
	case Option:
		return t.Elem.String() + "?"
	case Result:
		return t.Elem.String() + "!"
	case Shared:
		return t.Elem.String() + "@"
	case Ref:
		return t.Elem.String() + "&"
	case Func:
		s := "<(" + list(t.Elems) + ") " + t.Elem.String() + ">"
		if t.Par {
			s += " par"
		}
		return s
	}
	return t.Name
}

func list(ts []*Type) string {
	var s []string
	for _, t := range ts {
		s = append(s, t.String())
	}
	return strings.Join(s, ", ")
}

// ID is a text that is distinct for every type and the same in every run: for mangled names and
// caches.
func (t *Type) ID() string { return t.key }

// IsInteger says whether its arithmetic is on whole numbers: the ints, char, duration, untyped
// ints.
func (t *Type) IsInteger() bool {
	return t.Kind >= Int8 && t.Kind <= Char || t.Kind == Duration || t.Kind == UntypedInt
}

// IsFloat says whether it is a float.
func (t *Type) IsFloat() bool {
	return t.Kind == Float32 || t.Kind == Float64 || t.Kind == UntypedFloat
}

// IsNumber says whether it is an integer or a float.
func (t *Type) IsNumber() bool { return t.IsInteger() || t.IsFloat() }

// IsUnsigned says whether it is an unsigned integer.
func (t *Type) IsUnsigned() bool { return t.Kind >= Uint8 && t.Kind <= Char }

// Bits is the width of an integer or float type in bits.
func (t *Type) Bits() int {
	switch t.Kind {
	case Int8, Uint8, Char:
		return 8
	case Int16, Uint16:
		return 16
	case Int32, Uint32, Float32:
		return 32
	}
	return 64
}

// Copyable says whether a plain value of the type is copied implicitly, by = and by assignment:
// numbers, strings, handles, and types made of these. Containers and natives are not: they move on
// their last use, or are copied by .copy().
func (t *Type) Copyable() bool {
	switch t.Kind {
	case Vector, Map, Set, Slice, Ref, Func:
		return false
	case Array, Option, Result:
		return t.Elem.Copyable()
	case Tuple:
		for _, e := range t.Elems {
			if !e.Copyable() {
				return false
			}
		}
	case Named:
		return t.Def == nil || t.Def.Copyable
	}
	return true
}

// HasView says whether a value of the type may contain a T& or a view: such values cannot be
// stored.
func (t *Type) HasView() bool {
	switch t.Kind {
	case Ref, Slice, Func:
		return true
	case Option, Result, Array, Vector, Set:
		return t.Elem.HasView()
	case Tuple:
		for _, e := range t.Elems {
			if e.HasView() {
				return true
			}
		}
	}
	return false
}

// Deref returns the element type of T@ and T&, else the type itself.
func (t *Type) Deref() *Type {
	for t.Kind == Shared || t.Kind == Ref {
		t = t.Elem
	}
	return t
}
