package lsp

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"interleave/eve/compile"
	"interleave/eve/ir"
)

// rename renames the name at a marker of a program and returns its text, or why not.
func (c *client) rename(uri, text string, p position, to string) (string, string) {
	c.t.Helper()
	edits, why := c.editsOf(uri, p, to)
	if why != "" {
		return "", why
	}
	return apply(text, edits), ""
}

// editsOf returns the edits that rename the name at a place of a program, or why not.
func (c *client) editsOf(uri string, p position, to string) ([]textEdit, string) {
	c.t.Helper()
	params := at(uri, p)
	params["newName"] = to
	var edit workspaceEdit
	if err := c.call("textDocument/rename", params, &edit); err != nil {
		return nil, err.Message
	}
	return edit.Changes[uri], ""
}

func TestRename(t *testing.T) {
	text, places := marked(shop)
	c := open(t)
	c.didOpen(hello, text)
	for marker, word := range map[string]string{
		"$1": "price", "$4": "left", "$5": "t", "$6": "take", "$7": "sold", "$8": "yes",
	} {
		got, why := c.rename(hello, text, places[marker], "other_name")
		if why != "" {
			t.Errorf("%s: %s", word, why)
			continue
		}
		want := placesOf(text, word)
		if n := len(strings.Fields(want)); placesOf(got, word) != "" ||
			len(strings.Fields(placesOf(got, "other_name"))) != n {
			t.Errorf("%s: %s are renamed, want %s", word, placesOf(got, "other_name"), want)
		}
	}
	// Every place that names an event, and the variable of its handler, follow its type.
	emitter, places := marked("type rung:\n    n: int\n\ntype bell: emitter<$1rung>\n" +
		"    ring: [+self] (self) void:\n" +
		"        emit rung(1)\n\nmain: () void:\n    b: bell@\n    on b rung [+stdout]:\n" +
		"        print(\"%d\", rung.n)\n    @ [+b]: b.ring()\n")
	c.didOpen(hello+"2", emitter)
	if d := c.diagnostics(hello+"2", 1); len(d) > 0 {
		t.Fatalf("got\n%s", short(d))
	}
	got, why := c.rename(hello+"2", emitter, places["$1"], "struck")
	if want := strings.ReplaceAll(emitter, "rung", "struck"); got != want {
		t.Errorf("%s\ngot\n%s\nwant\n%s", why, got, want)
	}
}

// A new name that would change the meaning of the program is refused, with the reason.
func TestRenameRefused(t *testing.T) {
	const text = "n: int@\nf: (a: int, b: int) int:\n    c: int = a\n    return c + b\n" +
		"main: [+stdout] () void:\n    x: int = f(1, b = 2)\n    print(\"%d\", x)\n"
	for _, c := range []struct {
		name string
		at   position
		to   string
		want string
	}{
		{"taken in the block", position{1, 4}, "b", "'b' does not fit: line 2: "},
		{"keyword", position{1, 4}, "while", "'while' does not fit: line 2: "},
		{"no name", position{1, 4}, "1a", "'1a' is not a name: letters, digits and _"},
		{"empty", position{1, 4}, "", "'' is not a name: letters, digits and _"},
		{"blank", position{1, 4}, "_", "'_' is not a name: letters, digits and _"},
		{"taken in the module", position{0, 0}, "f", "'f' does not fit: line 2: "},
		{"shadows", position{5, 4}, "print", "'print' does not fit: line 7: "},
		{"captured", position{1, 0}, "print", "'print' "},
		{"a type", position{0, 0}, "int", "'int' does not fit: line 1: "},
		{"main", position{4, 0}, "start", "main is where the program starts"},
		{"of the language", position{2, 8}, "i", "'int' belongs to the language or its library"},
		{"of std", position{6, 4}, "write", "'print' belongs to the language or its library"},
		{"nothing", position{2, 11}, "x", "there is no name here that the compiler knows"},
	} {
		cl := open(t)
		cl.didOpen(hello, text)
		got, why := cl.rename(hello, text, c.at, c.to)
		if !strings.HasPrefix(why, c.want) || got != "" {
			t.Errorf("%s: got %q %s, want %s", c.name, why, got, c.want)
		}
		var prepared *preparedRename
		err := cl.call("textDocument/prepareRename", at(hello, c.at), &prepared)
		if refused := err != nil; refused != (c.name == "main" || c.name == "nothing" ||
			strings.HasPrefix(c.name, "of ")) {
			t.Errorf("%s: prepared %+v, %v", c.name, prepared, err)
		}
	}
	cl := open(t)
	cl.didOpen(hello, text+"    y\n")
	if _, why := cl.rename(hello, text, position{1, 4}, "q"); !strings.HasPrefix(why,
		"the program has errors: line 8: ") {
		t.Errorf("with an error: %s", why)
	}
}

// A method that makes texts keeps its name, and no other one becomes it.
func TestRenameOwnText(t *testing.T) {
	const text = `type a:
    n: int
    text: (self) string: return "a"
    text_of: (self) string: return "b"
type b:
    n: int
    text: (self, m: int) string: return "c"
    label: (self) string: return "d"
`
	for _, c := range []struct {
		at       position
		to, want string
	}{
		{position{2, 4}, "label", "%v and f-strings call 'text' by this name"},
		{position{3, 4}, "label", ""},
		{position{6, 4}, "name", ""},
		{position{7, 4}, "name", ""},
		{position{1, 4}, "m", ""},
	} {
		cl := open(t)
		cl.didOpen(hello, text)
		got, why := cl.rename(hello, text, c.at, c.to)
		if why != c.want || (got == "") != (c.want != "") {
			t.Errorf("%v to %s: got %q %s, want %s", c.at, c.to, got, why, c.want)
		}
	}
	cl := open(t)
	without := strings.Replace(text, "    text: (self, m: int) string: return \"c\"\n", "", 1)
	cl.didOpen(hello, without)
	const want = "'label' would then print the values of its type"
	if got, why := cl.rename(hello, without, position{6, 4}, "text"); got != "" || why != want {
		t.Errorf("label to text: got %q %s, want %s", got, why, want)
	}
}

// A name of a module is renamed in all programs that import it, open or not.
func TestRenameAcrossFiles(t *testing.T) {
	files := map[string]string{
		"parts/area.eve": "pub of: (n: int) int:\n    return n\n",
		"one.eve": "import parts.area\nmain: [+stdout] () void:\n" +
			"    print(\"%d\", area.of(1))\n",
		"two.eve":   "import parts.area.*\nmain: [+stdout] () void:\n    print(\"%d\", of(2))\n",
		"three.eve": "main: [+stdout] () void:\n    of: int = 3\n    print(\"%d\", of)\n",
	}
	dir := write(t, files)
	uri := func(name string) string { return uriOf(filepath.Join(dir, name)) }
	c := open(t, dir)
	c.didOpen(uri("parts/area.eve"), files["parts/area.eve"])
	c.didOpen(uri("two.eve"), files["two.eve"])
	params := at(uri("parts/area.eve"), position{0, 5})
	params["newName"] = "size"
	var edit workspaceEdit
	c.must("textDocument/rename", params, &edit)
	if len(edit.Changes) != 3 {
		t.Errorf("%d files are changed, want 3: %+v", len(edit.Changes), edit.Changes)
	}
	for name, word := range map[string]string{"parts/area.eve": "of", "one.eve": "of",
		"two.eve": "of"} {
		got := apply(files[name], edit.Changes[uri(name)])
		if want := strings.ReplaceAll(files[name], word+":", "size:"); name == "parts/area.eve" &&
			got != want {
			t.Errorf("%s: got\n%s", name, got)
		}
		if strings.Contains(got, "of(") || !strings.Contains(got, "size") {
			t.Errorf("%s: got\n%s", name, got)
		}
	}
	var all []location
	params["context"] = map[string]any{"includeDeclaration": true}
	if c.must("textDocument/references", params, &all); len(all) != 3 {
		t.Errorf("uses: %+v, want 3", all)
	}
	// A program that it would break refuses it.
	params["newName"] = "print"
	if err := c.call("textDocument/rename", params, nil); err == nil {
		t.Error("two.eve would print by another print")
	}
}

// A name that nobody has can be given to everything that a program declares, and the program that
// the compiler makes is the same but for the names. All names of a program are renamed in one text,
// each to another one: the compiler looks at it once. It looks alone at a renaming that changes
// places which another one has changed, as of two methods of one interface.
func TestRenameKeepsPrograms(t *testing.T) {
	renamed := 0
	for _, text := range corpus(t) {
		p := &program{main: newFile(pathOf(hello), text)}
		p.ir, p.index, p.diags = compile.Index(p.main, nil)
		if len(p.diags) > 0 {
			continue
		}
		decls := map[int]place{}
		for _, n := range p.names() {
			if p.renamable(n) == nil && n.at == n.use.Decl {
				decls[n.at.Start] = n
			}
		}
		before := ir.Dump(p.ir)
		var all []renaming
		changed := map[position]bool{}
		c := open(t)
		c.didOpen(hello, text)
		for _, start := range slices.Sorted(maps.Keys(decls)) {
			if start%5 != 0 { // every fifth takes long enough
				continue
			}
			r := renaming{from: decls[start].at.Text(), to: fmt.Sprintf("a_new_name_%d_", start)}
			var why string
			r.edits, why = c.editsOf(hello, utf16.position(p.main, start), r.to)
			if strings.Contains(why, "it has no method '"+r.to+"'") ||
				strings.Contains(why, "has no function '"+r.from+"'") ||
				strings.Contains(why, "which has no function "+r.from) ||
				strings.Contains(why, "a loop cannot run over") && r.from == "next" {
				continue // a constraint, a generic, a loop or a reader asks for this name
			}
			if why != "" || len(r.edits) == 0 {
				t.Errorf("'%s' in %.60q: %d edits: %s", r.from, text, len(r.edits), why)
				continue
			}
			renamed++
			if slices.ContainsFunc(r.edits, func(e textEdit) bool {
				return changed[e.Range.Start]
			}) {
				if !keeps(text, before, r) {
					t.Errorf("'%s' in %.60q: the program is another one", r.from, text)
				}
				continue
			}
			for _, e := range r.edits {
				changed[e.Range.Start] = true
			}
			all = append(all, r)
		}
		if keeps(text, before, all...) {
			continue
		}
		t.Errorf("%.60q with %d new names: the program is another one", text, len(all))
		for _, r := range all {
			if !keeps(text, before, r) {
				t.Errorf("'%s' in %.60q: the program is another one", r.from, text)
			}
		}
	}
	if renamed < 100 {
		t.Errorf("only %d names were renamed", renamed)
	}
}

// A renaming gives a name another text.
type renaming struct {
	from, to string
	edits    []textEdit
}

// keeps says whether the compiler makes the program that was dumped before, but for the names, of
// the text with these renamings.
func keeps(text, before string, renamings ...renaming) bool {
	var edits []textEdit
	var back []string
	for _, r := range renamings {
		edits, back = append(edits, r.edits...), append(back, r.to, r.from)
	}
	after, _ := compile.Check(newFile(pathOf(hello), apply(text, edits)), nil)
	return strings.NewReplacer(back...).Replace(ir.Dump(after)) == before
}
