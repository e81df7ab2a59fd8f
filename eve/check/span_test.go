package check

import (
	"testing"

	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
)

// innerBodies returns the bodies directly in a block's statements.
func innerBodies(b *ir.Block) []*ir.Body {
	var all []*ir.Body
	for _, s := range b.Stmts {
		switch s := s.(type) {
		case *ir.Spawn:
			all = append(all, s.Body)
		case *ir.SpawnEach:
			all = append(all, s.Body)
		case *ir.On:
			all = append(all, s.Handler)
		case *ir.Await:
			all = append(all, s.Rest)
			all = append(all, innerBodies(s.Rest.Block)...)
		case *ir.Finish:
			all = append(all, innerBodies(s.Block)...)
		case *ir.Declare:
			if c, ok := s.Init.(*ir.Closure); ok {
				all = append(all, c.Body)
			}
		}
	}
	return all
}

// TestLists holds where each body's list stands or would be written, and the line that opens it.
func TestLists(t *testing.T) {
	const text = `n: int@
main: () void:    # starts here
    t: timer@ = timer.every(1s):
        fired = [+n] (f: fired&) void: n += 1
    on t fired: pass
    on t fired [n]:
        pass
    on t fired = (f: fired&) bool:
        return true
    @: pass
    @ [+n]: n += 1
    finish:
        @ [-n]: pass
    v: vector<timer@>
    @ for (x in v) [+x]: x.stop()
    f: <() void>@ = () void: pass
    _ <- sleep(1s) within 2s
    _ <- sleep(1s) [n]
    @ []:
        pass
`
	diags := &diag.List{}
	p := Program(source.NewFile("main.eve", text), nil, diags)
	for _, d := range diags.Sorted() {
		t.Fatalf("%d: %s: %s", d.Span.Line(), d.Code, d.Message)
	}
	want := []struct {
		kind       ir.BodyKind
		list, head string
		empty      bool // the place where it would be written, before list
	}{
		{ir.Function, "() void:", "main: () void:", true},
		{ir.Handler, "[+n]", "[+n] (f: fired&) void:", false},
		{ir.Handler, ": pass", "on t fired:", true},
		{ir.Handler, "[n]", "on t fired [n]:", false},
		{ir.Handler, "(f: fired&)", "on t fired = (f: fired&) bool:", true},
		{ir.Root, ": pass", "@:", true},
		{ir.Root, "[+n]", "@ [+n]:", false},
		{ir.Child, "[-n]", "@ [-n]:", false},
		{ir.Root, "[+x]", "@ for (x in v) [+x]:", false},
		{ir.Callback, "() void: pass", "() void:", true},
		{ir.Continuation, "\n", "_ <- sleep(1s) within 2s", true},
		{ir.Continuation, "[n]", "_ <- sleep(1s) [n]", false},
		{ir.Root, "[]", "@ []:", false},
	}
	got := append([]*ir.Body{p.Main.Body}, innerBodies(p.Main.Body.Block)...)
	if len(got) != len(want) {
		t.Fatalf("%d bodies, want %d", len(got), len(want))
	}
	for i, b := range got {
		w := want[i]
		list := b.List.Text()
		if w.empty {
			if list != "" {
				t.Errorf("%s: list %q, want none", w.head, list)
			}
			list = source.Span{File: b.List.File, Start: b.List.Start,
				End: b.List.Start + len(w.list)}.Text()
		}
		if b.Kind != w.kind || list != w.list || b.Head.Text() != w.head {
			t.Errorf("body %d: kind %d, list %q, head %q; want %d, %q, %q", i, b.Kind, list,
				b.Head.Text(), w.kind, w.list, w.head)
		}
	}
}

// TestCaptures holds how a body sees an outer variable for each sign.
func TestCaptures(t *testing.T) {
	stmts := bodyOf(t, `a: int@
v: vector<int> = [1]
n: int = 3
finish:
    @ [+a, =n, &v]: pass
    @ [=a]: pass
    @ for (x: int& in v) [&x]: pass`)
	finish := stmts[len(stmts)-1].(*ir.Finish)
	want := [][]string{{"int@", "int", "vector<int>&"}, {"int"}, {"int&"}}
	for i, b := range innerBodies(finish.Block) {
		for j, e := range b.Perms {
			if e.Var == nil || e.Var.Type.String() != want[i][j] || e.Var.Body != b {
				t.Errorf("entry %s of body %d: %+v, want a %s of its own", e.Name, i, e.Var,
					want[i][j])
				continue
			}
			own := e.Var == b.Each
			if !own && (e.Var.Kind != ir.Capture || e.From == nil || e.From.Body == b ||
				e.Var.From != e.From || e.Var.Sign != e.Sign) {
				t.Errorf("entry %s of body %d does not come from outside", e.Name, i)
			}
		}
	}
}
