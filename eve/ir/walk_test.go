package ir

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"testing"
)

// kinds has a node of every kind of expression and statement. TestKinds holds that none is missing.
var kinds = []Node{
	&Const{}, &Zero{}, &Ref{}, &Deref{}, &Box{}, &Field{}, &Element{}, &Index{}, &Cut{}, &Range{},
	&Unary{}, &Binary{}, &Convert{}, &Call{}, &CallValue{}, &Post{}, &Closure{}, &MakeStruct{},
	&MakeCase{}, &MakeTuple{}, &MakeList{}, &Wrap{}, &MakeError{}, &Propagate{}, &Else{},
	&Format{}, &Copy{},
	&Declare{}, &Unpack{}, &Assign{}, &Repoint{}, &Do{}, &If{}, &Repeat{}, &ForIn{}, &Match{},
	&Return{}, &Break{}, &Continue{}, &Assert{}, &Fail{}, &Defer{}, &Spawn{}, &SpawnEach{},
	&Finish{}, &On{}, &Await{}, &Emit{}, &Nest{},
}

// TestKinds compares the table above with the types that ir.go declares as expressions (they embed
// Place) and as statements (they embed Mark).
func TestKinds(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "ir.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared, listed []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if s, ok := spec.Type.(*ast.StructType); ok && len(s.Fields.List) > 0 {
			first := s.Fields.List[0]
			if id, ok := first.Type.(*ast.Ident); ok && len(first.Names) == 0 &&
				(id.Name == "Place" || id.Name == "Mark") {
				declared = append(declared, spec.Name.Name)
			}
		}
		return true
	})
	for _, n := range kinds {
		listed = append(listed, reflect.TypeOf(n).Elem().Name())
	}
	slices.Sort(declared)
	slices.Sort(listed)
	if !slices.Equal(declared, listed) {
		t.Errorf("kinds has\n%q\nir.go declares\n%q", listed, declared)
	}
}

// TestChildrenReachesEverything fills each field of each kind with nodes, and holds that Children
// visits every one of them once, and that Walk goes below them.
func TestChildrenReachesEverything(t *testing.T) {
	for _, kind := range append(kinds, &Block{}, &Body{}) {
		v := reflect.New(reflect.TypeOf(kind).Elem())
		var want []Node
		fill(v.Elem(), &want)
		n := v.Interface().(Node)
		got := map[Node]int{}
		Children(n, func(c Node) { got[c]++ })
		for _, c := range want {
			if got[c] != 1 {
				t.Errorf("%T: its child of type %T is visited %d times, want 1", n, c, got[c])
			}
		}
		if len(got) != len(want) {
			t.Errorf("%T: %d children are visited, want %d", n, len(got), len(want))
		}
		walked := map[Node]int{}
		Walk(n, func(c Node) bool { walked[c]++; return true })
		if len(walked) != len(want)+1 || walked[n] != 1 {
			t.Errorf("%T: Walk visits %d nodes, want %d", n, len(walked), len(want)+1)
		}
	}
}

var (
	exprType = reflect.TypeFor[Expr]()
	stmtType = reflect.TypeFor[Stmt]()
	notBelow = map[string]bool{"Outer": true, "Const": true} // the body around; a pattern
	nodeOf   = map[reflect.Type]func() Node{
		exprType:                  func() Node { return &Ref{} },
		stmtType:                  func() Node { return &Break{} },
		reflect.TypeFor[*Block](): func() Node { return &Block{} },
		reflect.TypeFor[*Body]():  func() Node { return &Body{} },
		reflect.TypeFor[*Call]():  func() Node { return &Call{} },
	}
)

// fill puts a new node into every field of v that can hold one, and two into every slice. It adds
// them to all.
func fill(v reflect.Value, all *[]Node) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.IsExported() && !notBelow[f.Name] {
				fill(v.Field(i), all)
			}
		}
	case reflect.Slice:
		if e := v.Type().Elem(); holdsNodes(e) {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			for i := range 2 {
				fill(v.Index(i), all)
			}
		}
	case reflect.Pointer, reflect.Interface:
		if makeNode := nodeOf[v.Type()]; makeNode != nil {
			n := makeNode()
			*all = append(*all, n)
			v.Set(reflect.ValueOf(n))
		} else if v.Type() == reflect.TypeFor[*Arm]() {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), all)
		}
	}
}

// holdsNodes says whether an element of a slice is a node or has one in it.
func holdsNodes(t reflect.Type) bool {
	return nodeOf[t] != nil || t == reflect.TypeFor[*Arm]() || t == reflect.TypeFor[FormatPart]()
}

// TestWalkSkips holds that a walk stays out of what enter refuses, and that nil is not visited.
func TestWalkSkips(t *testing.T) {
	inner, outer := &Ref{}, &Ref{}
	n := &Binary{X: &Unary{X: inner}, Y: outer}
	var seen []Node
	Walk(n, func(n Node) bool {
		seen = append(seen, n)
		_, unary := n.(*Unary)
		return !unary
	})
	if !slices.Equal(seen, []Node{n, n.X, outer}) {
		t.Errorf("got %v, want the sum, its left side and %p", seen, outer)
	}
	for _, n := range []Node{nil, (*Block)(nil), (*Body)(nil), &If{}, &Return{}, &Await{}} {
		Walk(n, func(got Node) bool {
			if got != n {
				t.Errorf("Walk of %T visits %v", n, got)
			}
			return true
		})
	}
}

// TestOrder holds that children come in the order in which they run.
func TestOrder(t *testing.T) {
	init, body := &Block{}, &Block{}
	a, b := &Ref{}, &Ref{}
	step := &Break{}
	tests := []struct {
		n    Node
		want []Node
	}{
		{&Repeat{Init: init, Cond: a, Step: step, Body: body}, []Node{init, a, body, step}},
		{&Assign{Target: a, Value: b}, []Node{b, a}},
		{&CallValue{Fun: a, Args: []Expr{b}}, []Node{a, b}},
	}
	for _, test := range tests {
		var got []Node
		Children(test.n, func(c Node) { got = append(got, c) })
		if !slices.Equal(got, test.want) {
			t.Errorf("%T: got %v, want %v", test.n, got, test.want)
		}
	}
}
