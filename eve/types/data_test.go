package types

import "testing"

// Numbers, texts and what is made of them is data; what is shared or a function is not, however
// deep it is.
func TestIsData(t *testing.T) {
	u := NewUniverse()
	shared := u.Shared(IntT)
	named := func(name string, d Def) *Type {
		n, _ := u.Named("m."+name, name, nil)
		n.Def = &d
		return n
	}
	tree := named("tree", Def{})
	tree.Def.Fields = []Field{{Name: "left", Type: u.Vector(tree)}, {Name: "n", Type: IntT}}
	door := named("door", Def{Fields: []Field{{Name: "key", Type: shared}}})
	shape := named("shape", Def{Form: Union, Cases: []Case{{Name: "none"}, {Name: "round",
		Fields: []Field{{Name: "r", Type: IntT}}}}})
	lost := named("lost", Def{Form: Union, Cases: []Case{{Name: "at",
		Fields: []Field{{Name: "door", Type: door}}}}})
	for _, c := range []struct {
		of   *Type
		want bool
	}{
		{IntT, true}, {StringT, true}, {BytesT, true}, {BoolT, true}, {DurationT, true},
		{u.Option(IntT), true}, {u.Map(StringT, u.Vector(IntT)), true}, {tree, true},
		{shape, true}, {shared, false}, {u.Vector(shared), false}, {u.Map(IntT, shared), false},
		{door, false}, {u.Option(door), false}, {lost, false}, {ErrorT, false}, {VoidT, false},
		{named("socket", Def{Form: Native}), false}, {named("bell", Def{Emitter: true}), false},
	} {
		if got := c.of.IsData(); got != c.want {
			t.Errorf("%s: got %v, want %v", c.of, got, c.want)
		}
	}
}
