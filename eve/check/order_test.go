package check

import (
	"fmt"
	"strings"
	"testing"

	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
)

func TestOrderOfGlobals(t *testing.T) {
	text := `const sizes: vector<int> = [1, limit(), 3]
const top: int = half(10) + 1
hits: int@ = limit()
const low: int = 1 + one
const one: int = 1
half: (n: int) int: return n / 2
limit: () int: return top
main: () void: pass
`
	diags := &diag.List{}
	p := Program(source.NewFile("main.eve", text), nil, diags)
	for _, d := range diags.Sorted() {
		t.Errorf("%d: %s: %s", d.Span.Line(), d.Code, d.Message)
	}
	var names []string
	for _, v := range p.Modules[len(p.Modules)-1].Globals {
		names = append(names, v.Name)
	}
	if got, want := strings.Join(names, " "), "top sizes hits one low"; got != want {
		t.Errorf("values are made in the order %q, want %q", got, want)
	}
}

// TestOrderOfModules holds that a module comes after all that it uses, also those that nobody
// imported.
func TestOrderOfModules(t *testing.T) {
	files := map[string]string{
		"left":  "import base\npub go: () int: return base.one()\n",
		"right": "import base\nimport left\npub go: () int: return left.go() + process.workers()\n",
		"base":  "pub one: () int: return 1\n",
	}
	diags := &diag.List{}
	main := "import right\nmain: () void:\n    assert right.go() > 0 && math.sqrt(4.0) == 2.0\n"
	p := Program(source.NewFile("main.eve", main), func(module string) (*source.File, bool) {
		text, ok := files[module]
		return source.NewFile(module+".eve", text), ok
	}, diags)
	for _, d := range diags.Sorted() {
		t.Errorf("%d: %s: %s", d.Span.Line(), d.Code, d.Message)
	}
	var names []string
	for _, m := range p.Modules {
		names = append(names, m.Name)
	}
	if got, want := strings.Join(names,
		" "), "prelude base left process right math main"; got != want {
		t.Errorf("modules are in the order %q, want %q", got, want)
	}
	if p.Main == nil || p.Main.ID != "main.main" {
		t.Errorf("main is %v", p.Main)
	}
}

// TestGlobalDefaults holds that a module's object starts with the defaults of its type's fields.
func TestGlobalDefaults(t *testing.T) {
	diags := &diag.List{}
	p := Program(source.NewFile("main.eve",
		"type account:\n    cents: int = 5\nfirst: account@\nmain: () void: pass\n"), nil, diags)
	init, ok := p.Modules[len(p.Modules)-1].Globals[0].Init.(*ir.MakeStruct)
	if !ok || len(init.Fields) != 1 {
		t.Fatalf("the object starts as %#v", init)
	}
	if k, ok := init.Fields[0].(*ir.Const); !ok || k.Value != int64(5) {
		t.Errorf("cents starts as %#v, want 5", init.Fields[0])
	}
}

// TestMainNamedLikeStd holds that a main file process.eve is not taken for std's module.
func TestMainNamedLikeStd(t *testing.T) {
	diags := &diag.List{}
	p := Program(source.NewFile("dir/process.eve",
		"exit: () void: process.exit(0)\nmain: () void: exit()\n"), nil, diags)
	if diags.HasErrors() || p.Main == nil || len(p.Modules) != 3 {
		t.Fatalf("got %d modules, main %v, %v", len(p.Modules), p.Main, diags.Sorted())
	}
	seen := map[string]bool{}
	for _, m := range p.Modules {
		for _, f := range m.Funcs {
			if seen[f.ID] {
				t.Errorf("two functions are %s", f.ID)
			}
			seen[f.ID] = true
		}
		id := fmt.Sprintf("%s, std %v", m.Name, m.Std)
		if seen[id] {
			t.Errorf("two modules are %s", id)
		}
		seen[id] = true
	}
}
