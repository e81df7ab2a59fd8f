package diag

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"interleave/eve/source"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with a file of testdata, or writes it with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\n%s\nwant:\n%s", name, got, want)
	}
}

// at returns the span of the nth text (from 0) in f.
func at(f *source.File, text string, nth int) source.Span {
	start := 0
	for ; nth >= 0; nth-- {
		i := strings.Index(f.Text[start:], text)
		if i < 0 {
			panic(text + " is not in " + f.Name)
		}
		start += i
		if nth > 0 {
			start += len(text)
		}
	}
	return source.Span{File: f, Start: start, End: start + len(text)}
}

var counter = source.NewFile("counter.eve", `counter: int@ = 0
serve: (client: socket@) void:
    on client data:
        ops: bytes = client.read_buffer()
        for (op: char in ops):
            if op == 1:
                @ [counter, +client]:
                    counter += 1
                    client.write("%d\n", counter)
`)

func readOnly() Diagnostic {
	list := at(counter, "[counter, +client]", 0)
	return Diagnostic{
		Code: "E0402", Span: at(counter, "counter", 2),
		Message: "cannot change 'counter' with read permission",
		Label:   "this changes it",
		Also:    []Label{{at(counter, "counter", 1), "this asks to read counter here"}},
		Fix: &Fix{
			Text: "write [+counter, +client]",
			Note: "tasks that only read counter still run in parallel",
			Span: list, New: "[+counter, +client]",
		},
	}
}

func render(diags []Diagnostic, opts Options) string {
	var b strings.Builder
	if err := Render(&b, diags, opts); err != nil {
		panic(err)
	}
	return b.String()
}

func TestRender(t *testing.T) {
	transfer := source.NewFile("transfer.eve",
		"main: () void:\n    x: account@\n    transfer(x, x, 5)\n\n    # a\n    # b\n    # c\n"+
			"\tname: string = \"日本語\" + wörld  \n")
	tests := map[string][]Diagnostic{
		"list": {readOnly()},
		"nofix": {{Code: "E0210", Span: at(counter, "counter: int@ = 0", 0),
			Message: "a global is shared or constant"}},
		"nospan": {{Code: "E0201", Message: "there is no main"}},
		"warning": {{Code: "W0402", Span: at(counter, "+client", 0),
			Message: "'client' is never changed under this permission",
			Label:   "[client] would do", Fix: &Fix{Text: "write client",
				Span: at(counter, "+client",
					0), New: "client"}}},
		"sameline": {{Code: "E0406", Span: at(transfer, "x", 2), Message: "'x' is lent twice",
			Label: "and lent again here",
			Also: []Label{{at(transfer, "x", 1), "lent here first"}, {at(transfer, "transfer", 0),
				"by this call"}}}},
		"wide": {{Code: "E0302", Span: at(transfer, "wörld", 0), Message: "there is no 'wörld'",
			Label: "not declared",
			Also: []Label{{at(transfer, "日本語", 0), "wide letters"},
				{at(transfer, "x", 0), "three lines are left out"}}}},
		"files": {{Code: "E0409", Span: at(transfer, "transfer", 0),
			Message: "transfer needs more than this body holds", Label: "needs +a",
			Also: []Label{{at(counter, "serve", 0), "declared here"}}}},
		"point": {{Code: "E0104", Span: source.Span{File: transfer, Start: 14, End: 14},
			Message: "a ':' belongs here",
			Fix: &Fix{Text: "write ':'", Span: source.Span{File: transfer, Start: 14, End: 14},
				New: ":"}}},
		"insert": {{Code: "E0601", Span: at(transfer, "x: account@", 0),
			Message: "a line is missing",
			Fix: &Fix{Text: "add two lines", Span: source.Span{File: transfer, Start: 15, End: 15},
				New: "    a: int = 1\n    b: int = 2\n"}}},
		"delete": {{Code: "W0401", Span: at(counter, ", +client", 0),
			Message: "'client' is not used",
			Fix:     &Fix{Text: "leave it out", Span: at(counter, ", +client", 0), New: ""}}},
	}
	for name, diags := range tests {
		golden(t, name+".txt", render(diags, Options{}))
	}
	golden(t, "color.txt", render([]Diagnostic{readOnly()}, Options{Color: true}))
}

func TestRenderNarrow(t *testing.T) {
	long := source.NewFile("long.eve", "x: string = \""+strings.Repeat("abcdefghi ", 20)+
		"\" + y + \""+strings.Repeat("0123456789", 9)+"\"\n")
	d := Diagnostic{
		Code: "E0301", Span: at(long, " y ", 0),
		Message: "there is no variable 'y' in this function, nor in the module, nor in any " +
			"module that it imports",
		Label: "this name is not declared anywhere that can be seen from here, so it means " +
			"nothing",
		Fix: &Fix{Text: "declare it in a line of its own before the line that uses it for the " +
			"first time", Span: at(long, " y ", 0), New: " (y) "},
	}
	golden(t, "narrow.txt", render([]Diagnostic{d}, Options{Width: 60}))
	for _, line := range strings.Split(render([]Diagnostic{d}, Options{Width: 60}), "\n") {
		if w := textWidth(line); w > 60 {
			t.Errorf("a line of %d columns: %s", w, line)
		}
	}
}

func TestRenderLimit(t *testing.T) {
	var diags []Diagnostic
	for range 23 {
		diags = append(diags, Diagnostic{Code: "E0201", Message: "no such name"})
	}
	diags = append(diags, Diagnostic{Code: "W0401", Message: "unused"})
	out := render(diags, Options{})
	if got := strings.Count(out, "error[E0201]"); got != 20 {
		t.Errorf("%d diagnostics are shown, want 20", got)
	}
	if want := "\nand 4 more\n23 errors and 1 warning\n"; !strings.HasSuffix(out, want) {
		t.Errorf("the output ends in %q, want %q", out[len(out)-50:], want)
	}
	if render(nil, Options{}) != "" {
		t.Error("something is written for no diagnostics")
	}
}

// The text of a program must not reach the terminal as an escape sequence.
func TestRenderControl(t *testing.T) {
	f := source.NewFile("evil\x1b.eve", "x\x1b[31m\x07y\n")
	out := render([]Diagnostic{{Code: "E0112", Span: at(f, "y", 0), Message: "\x1b]0;t\x07",
		Label: "a\nb"}}, Options{})
	if strings.ContainsAny(out, "\x1b\x07") {
		t.Errorf("%q", out)
	}
}

func TestJSON(t *testing.T) {
	var b strings.Builder
	if err := JSON(&b, []Diagnostic{readOnly(),
		{Code: "W0401", Message: "unused <T>"}}); err != nil {
		t.Fatal(err)
	}
	golden(t, "list.json", b.String())
}

func TestExplain(t *testing.T) {
	all := Codes()
	if len(all) < 22 {
		t.Errorf("%d codes have a page", len(all))
	}
	for _, c := range all {
		if text, ok := Explain(strings.ToLower(c)); !ok || !strings.HasPrefix(text, "# "+c+": ") {
			t.Errorf("%s: %.20q, %v", c, text, ok)
		}
	}
	if _, ok := Explain("../explain/E0101"); ok {
		t.Error("a path is taken for a code")
	}
}
