package syntax

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"interleave/eve/source"
)

// Dump writes a tree as nested lists, one declaration or statement a line: for eve build
// --emit-tree, and to compare the meaning of two texts. It leaves out places.
func Dump(n Node) string {
	d := &dumper{}
	d.node(reflect.ValueOf(n), 0)
	return strings.TrimLeft(d.b.String(), "\n") + "\n"
}

type dumper struct{ b strings.Builder }

var (
	placeType  = reflect.TypeOf(At{})
	spanType   = reflect.TypeOf(source.Span{})
	stmtType   = reflect.TypeOf((*Stmt)(nil)).Elem()
	declType   = reflect.TypeOf((*Decl)(nil)).Elem()
	tokensType = reflect.TypeOf([]Token{})
)

// node writes a pointer to a struct of the tree: the name of its type, then the fields that are
// set.
func (d *dumper) node(v reflect.Value, depth int) {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		if v.IsNil() {
			d.b.WriteString("nil")
			return
		}
		if v.Kind() == reflect.Pointer {
			if d.short(v.Interface()) {
				return
			}
			if t := v.Type(); t.Implements(stmtType) || t.Implements(declType) {
				d.line(depth)
			}
		}
		v = v.Elem()
	}
	fmt.Fprintf(&d.b, "(%s", v.Type().Name())
	for i := range v.NumField() {
		d.field(v.Type().Field(i), v.Field(i), depth)
	}
	d.b.WriteString(")")
}

func (d *dumper) line(depth int) {
	d.b.WriteString("\n" + strings.Repeat("  ", depth))
}

// short writes nodes with a short notation: names, literals and identifiers.
func (d *dumper) short(n any) bool {
	switch n := n.(type) {
	case *Name:
		d.b.WriteString(n.Text)
	case *Ident:
		d.b.WriteString(n.Name)
	case *Lit:
		d.b.WriteString(n.Text)
	case *Perm:
		if n.Sign != 0 {
			d.b.WriteByte(n.Sign)
		}
		d.b.WriteString(n.Name.Text)
	default:
		return false
	}
	return true
}

// field writes one field if it is set: of syntax nodes by position, of flags by name.
func (d *dumper) field(f reflect.StructField, v reflect.Value, depth int) {
	switch {
	case f.Type == placeType, f.Type == spanType, f.Type == tokensType, f.Name == "Source",
		v.IsZero():
		return
	case v.Kind() == reflect.Slice:
		d.list(f.Name, v, depth)
		return
	}
	d.b.WriteString(" ")
	switch v.Kind() {
	case reflect.String:
		d.b.WriteString(strconv.Quote(v.String()))
	case reflect.Bool:
		d.b.WriteString(strings.ToLower(f.Name))
	case reflect.Uint8:
		d.b.WriteByte(byte(v.Uint()))
	default:
		d.node(v, depth+1)
	}
}

// list writes a slice of nodes, those that are lines below each other.
func (d *dumper) list(name string, v reflect.Value, depth int) {
	fmt.Fprintf(&d.b, " [%s", strings.ToLower(name))
	for i := range v.Len() {
		d.b.WriteString(" ")
		d.node(v.Index(i), depth+1)
	}
	d.b.WriteString("]")
}
