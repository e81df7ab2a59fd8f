package report

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"interleave/internal/manifest"
)

func TestFunction(t *testing.T) {
	const c = `static int add(int a);

/* add( is explained */
static struct x *
find_it(int a, int b)
{
	return add(a);
}

static int add(int a)
{
	if (a) {
		a++;
	}
	return a;
}
`
	const golang = `// Add adds.
func (r *R) Add(b []byte) error {
	return nil
}

func add(a int) int { return a }
`
	tests := []struct{ text, name, begins, ends string }{
		{c, "find_it", "static struct x *\nfind_it(int a", "return add(a);\n}"},
		{c, "add", "static int add(int a)\n{", "return a;\n}"},
		{c, "explained", "", ""}, {c, "it", "", ""}, {"", "add", "", ""},
		{golang, "Add", "func (r *R) Add(", "return nil\n}"},
	}
	for _, tt := range tests {
		got := function(tt.text, tt.name)
		if !strings.HasPrefix(got, tt.begins) || !strings.HasSuffix(got, tt.ends) ||
			(got == "") != (tt.ends == "") {
			t.Errorf("%s: got %q", tt.name, got)
		}
	}
}

func FuzzFunction(f *testing.F) {
	f.Add("static int\nf(void)\n{\n}\n", "f")
	f.Add("func f() {\n}", "f")
	f.Add("f();\n}", "f")
	f.Fuzz(func(t *testing.T, text, name string) {
		got := function(text, name)
		if got != "" && (!strings.Contains(text, got) || !strings.HasSuffix(got, "}")) {
			t.Errorf("function(%q, %q) = %q", text, name, got)
		}
	})
}

// TestStacksAreCompared looks into this checkout: a function of GoNet that has another name must
// get it in the table, too.
func TestStacksAreCompared(t *testing.T) {
	s := &study{Run: Run{Checkout: filepath.Join("..", "..")}, experiments: []*experiment{
		{Experiment: &manifest.Experiment{Source: "gonet.txt, section 4.2"}}}}
	v := s.stacks()
	if v == nil || len(v.Steps) != 4 || len(v.Table.Rows) != 5 {
		t.Fatalf("got %+v", v)
	}
	for i, step := range steps {
		p := step.passages["GoNet"]
		data, err := os.ReadFile(filepath.Join("..", "..", "gonet", p.file))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range p.functions {
			if function(string(data), name) == "" {
				t.Errorf("gonet/%s has no function %s", p.file, name)
			}
		}
		if side := v.Steps[i].Sides[0]; side.Lines == 0 || side.Stack != "GoNet" {
			t.Errorf("%s: %s with %d lines", step.name, side.Stack, side.Lines)
		}
	}
	if n := len(v.Table.Head) - 1 + len(v.Missing); n != len(stackNames) {
		t.Errorf("%d of %d stacks are there or missing", n, len(stackNames))
	}
	if i := slices.Index(v.Table.Head, "lwIP"); i > 0 {
		for _, row := range v.Table.Rows {
			if row[i] == "–" {
				t.Errorf("lwIP's code is here, and nothing of it is found for %q", row[0])
			}
		}
	}
	s.experiments[0].Source = "eve.txt"
	if s.stacks() != nil {
		t.Error("a run without GoNet compares stacks")
	}
	s.experiments[0].Source, s.Checkout = "gonet.txt", t.TempDir()
	if s.stacks() != nil {
		t.Error("stacks are compared though no code is here")
	}
}
