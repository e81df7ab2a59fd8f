package lsp

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"interleave/eve/diag"
	"interleave/eve/format"
)

func unmarshal(t testing.TB, content []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(content, v); err != nil {
		t.Fatalf("%s: %v", content, err)
	}
}

func formatted(t testing.TB, text string) string {
	t.Helper()
	var diags diag.List
	out, ok := format.File(newFile("", text), &diags)
	if !ok {
		t.Fatalf("%q cannot be formatted: %+v", text, diags.Sorted())
	}
	return out
}

// shop has most of the language in it. Its markers are places for requests.
const shop = `# A shop.
import util.timeout

# The price of a thing, in cents.
const $1price: int = 250
const rate = 1.5

sold: $2int@

# A thing to sell.
type $3thing:
    name: string    # as the customer sees it
    left: int = 10
    # Takes some away.
    take: [+self] (self, n: int = 1) bool:
        if self.left < n: return false
        self.$4left -= n
        return true

union answer:
    yes(n: int)
    no

pick: <type T> (all: vector<T>, i: int) T?:
    if i < all.size(): return all[i]
    return none

# Sells some.
sell: [+$5t, +sold] (t: thing@, n: int) answer:
    if !t.$6take(n): return answer.no
    $7sold += n
    return answer.$8yes(n = n * price)

main: () void:
    box: thing@ = thing("box")
    $9@ [+box, +sold, +stdout]:
        match sell(box, n = 2):
            yes(cents): print("%d\n", cents)
            no: print("none\n")
`

func TestShopIsRight(t *testing.T) {
	text, _ := marked(shop)
	c := open(t)
	c.didOpen(hello, text)
	for _, d := range c.diagnostics(hello, 1) {
		if d.Severity == severityError {
			t.Errorf("got\n%s", short([]diagnostic{d}))
		}
	}
}

func TestHover(t *testing.T) {
	text, places := marked(shop)
	c := open(t)
	c.didOpen(hello, text)
	for marker, want := range map[string][]string{
		"$1": {"const price: int = 250", "The price of a thing, in cents."},
		"$2": {"\nint\n"},
		"$3": {"type thing:\n    name: string\n    left: int = 10", "A thing to sell."},
		"$4": {"thing.left: int = 10"},
		"$5": {"t: thing@"},
		"$6": {"thing.take: [+self] (self, n: int = 1) bool", "Takes some away."},
		"$7": {"sold: int@", "`+`: this body may read and change it."},
		"$8": {"answer.yes(n: int)"},
	} {
		var h hover
		c.must("textDocument/hover", at(hello, places[marker]), &h)
		for _, w := range want {
			if !strings.Contains(h.Contents.Value, w) {
				t.Errorf("%s: got\n%s\nwant\n%s", marker, h.Contents.Value, w)
			}
		}
	}
	var h *hover
	if c.must("textDocument/hover", at(hello, position{1, 0}), &h); h != nil {
		t.Errorf("a keyword: got %+v", h)
	}
}

// ranges lists places as line:column, in the order given.
func ranges(all []location) string {
	var b strings.Builder
	for _, l := range all {
		fmt.Fprintf(&b, "%s ", l.Range.Start.text())
	}
	return strings.TrimSpace(b.String())
}

// placesOf lists the places of a word in the code of a text as ranges does.
func placesOf(text, word string) string {
	var b strings.Builder
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		for from := 0; ; {
			k := strings.Index(line[from:], word)
			if k < 0 {
				break
			}
			k += from
			from = k + len(word)
			if (k == 0 || !isWordByte(line[k-1])) && (from == len(line) ||
				!isWordByte(line[from])) {
				fmt.Fprintf(&b, "%d:%d ", i, k)
			}
		}
	}
	return strings.TrimSpace(b.String())
}

func TestReferences(t *testing.T) {
	text, places := marked(shop)
	c := open(t)
	c.didOpen(hello, text)
	for marker, word := range map[string]string{
		"$1": "price", "$3": "thing", "$4": "left", "$6": "take", "$7": "sold", "$8": "yes",
	} {
		var l location
		c.must("textDocument/definition", at(hello, places[marker]), &l)
		want := placesOf(text, word)
		if first, _, _ := strings.Cut(want, " "); l.Range.Start.text() != first {
			t.Errorf("%s is declared at %s, got %s", word, first, l.Range.Start.text())
		}
		var all []location
		params := at(hello, places[marker])
		params["context"] = map[string]any{"includeDeclaration": true}
		c.must("textDocument/references", params, &all)
		if got := ranges(all); got != want {
			t.Errorf("uses of %s: got %s, want %s", word, got, want)
		}
		var marks []highlight
		c.must("textDocument/documentHighlight", at(hello, places[marker]), &marks)
		if len(marks) != len(all) {
			t.Errorf("%s: %d highlights, want %d", word, len(marks), len(all))
		}
		params["context"] = map[string]any{"includeDeclaration": false}
		before := len(all)
		if c.must("textDocument/references", params, &all); len(all) != before-1 {
			t.Errorf("%s without its declaration: %d uses, want %d", word, len(all), before-1)
		}
	}
	var marks []highlight
	c.must("textDocument/documentHighlight", at(hello, places["$7"]), &marks)
	kinds := map[int]int{}
	for _, m := range marks {
		kinds[m.Kind]++
	}
	if kinds[highlightWrite] != 2 { // its declaration and the assignment
		t.Errorf("sold is written %d times: %+v", kinds[highlightWrite], marks)
	}
}

func TestTypeDefinition(t *testing.T) {
	text, places := marked(shop)
	c := open(t)
	c.didOpen(hello, text)
	for marker, want := range map[string]string{"$5": "$3", "$6": "", "$7": ""} {
		var l *location
		c.must("textDocument/typeDefinition", at(hello, places[marker]), &l)
		switch {
		case want == "" && l != nil:
			t.Errorf("%s: got %+v, want none", marker, l)
		case want != "" && (l == nil || l.Range.Start != places[want]):
			t.Errorf("%s: got %+v, want %s", marker, l, places[want].text())
		}
	}
	text, places = marked("main: () void:\n    $1t: timer@ = timer.every(1s)\n" +
		"    all: vector<timer@>\n    $2all.push(t)\n")
	c.didOpen(hello+"2", text)
	for _, marker := range []string{"$1", "$2"} {
		var l location
		c.must("textDocument/typeDefinition", at(hello+"2", places[marker]), &l)
		f, ok := (&view{}).read(pathOf(l.URI), map[string]bool{})
		if !ok || !strings.HasPrefix(f.Text[utf16.offset(f, l.Range.Start):], "timer: emitter") {
			t.Errorf("%s: %+v is not the declaration of timer", marker, l)
		}
	}
}

// The parts around a place grow from its name to the whole file.
func TestSelectionRange(t *testing.T) {
	text, places := marked(shop)
	f := newFile("", text)
	c := open(t)
	c.didOpen(hello, text)
	var all []*selectionRange
	c.must("textDocument/selectionRange", map[string]any{"textDocument": documentID{hello},
		"positions": []position{places["$4"], {0, 0}}}, &all)
	if len(all) != 2 || all[0] == nil || all[1] == nil {
		t.Fatalf("got %+v", all)
	}
	var got []string
	for s := all[0]; s != nil; s = s.Parent {
		part := utf16.part(f, s.Range)
		if s.Parent != nil {
			if p := utf16.part(f, s.Parent.Range); p.Start > part.Start || p.End < part.End ||
				p == part {
				t.Errorf("%q is not in %q", part.Text(), p.Text())
			}
		}
		first, _, _ := strings.Cut(part.Text(), "\n")
		got = append(got, first)
	}
	want := []string{"left", "self.left", "self.left -= n", "if self.left < n: return false",
		"take: [+self] (self, n: int = 1) bool:", "type thing:", "# A shop."}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// A module that is not imported is offered, and its import is written with it.
func TestCompletionImports(t *testing.T) {
	for text, want := range map[string]string{
		"# Runs.\nmain: () void:\n    fet$1\n": "import io.fetch\n\n" +
			"# Runs.\nmain: () void:\n    fet\n",
		"import util.json\nmain: () void: fet$1\n": "import io.fetch\nimport util.json\n" +
			"main: () void: fet\n",
	} {
		items := completed(t, text)
		i := slices.IndexFunc(items, func(i completion) bool { return i.Label == "fetch" })
		if i < 0 {
			t.Fatalf("%q: got %+v", text, items)
		}
		text, _ = marked(text)
		if got := apply(text, items[i].AdditionalTextEdits); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A declaration in std is shown from the cache.
func TestDefinitionInStd(t *testing.T) {
	c := open(t)
	text, places := marked("main: () void:\n    v: vector<int>\n    v.$1push(1)\n")
	c.didOpen(hello, text)
	var l location
	c.must("textDocument/definition", at(hello, places["$1"]), &l)
	path := pathOf(l.URI)
	if filepath.Base(path) != "prelude.eve" || !onDisk(path) {
		t.Fatalf("got %+v", l)
	}
	f, ok := (&view{}).read(path, map[string]bool{})
	if !ok || !strings.HasPrefix(f.Text[utf16.offset(f, l.Range.Start):], "push: [+self]") {
		t.Errorf("%+v is not the declaration of push", l)
	}
	c.didOpen(l.URI, f.Text)
	if d := c.diagnostics(l.URI, 1); len(d) > 0 {
		t.Errorf("the module that is shown has the errors\n%s", short(d))
	}
	c.everything(l.URI, l.Range.Start)
	c.checkTokens(l.URI, f.Text)
}

func TestCompletion(t *testing.T) {
	for _, c := range []struct {
		name, text    string
		want, without string // words
	}{
		{"members", "main: () void:\n    v: vector<int>\n    v.$1\n", "push pop size copy", "main"},
		{"begun", "main: () void:\n    v: vector<int>\n    v.pu$1\n", "push", "pop size"},
		{"in a call", "main: () void:\n    v: vector<int>\n    print(\"%d\", v.s$1\n", "size sort",
			"push"},
		{"in a condition", "main: () void:\n    v: vector<int>\n    if v.em$1\n        pass\n",
			"empty", "push"},
		{"fields", "type p:\n    xx: int\n    of: () int: return 1\n" +
			"    on: (self) int: return 1\n" +
			"f: (a: p) int:\n    return a.$1\n", "xx on", "of"},
		{"statics", "type p:\n    xx: int\n    of: () int: return 1\nf: () void:\n    p.$1\n",
			"of", "xx"},
		{"cases", "union u:\n    one\n    two(n: int)\nf: () void:\n    x: u = u.$1\n",
			"one two", "print"},
		{"module", "import io.socket\nf: () void:\n    socket.$1\n", "tcp_socket", "f"},
		{"import", "import io.$1\n", "socket", "math"},
		{"import all", "import $1\n", "io util", "main"},
		{"events", "import io.socket.*\nf: (s: socket@) void:\n    on s $1\n", "data line close",
			"write"},
		{"scope", "type p:\n    xx: int\nf: (first: int) void:\n    second: int = 1\n    $1\n" +
			"    third: int = 1\n", "first second f p print vector int process while return",
			"third xx"},
		{"inner scope", "f: () void:\n    for (i in 0..9):\n        here: int = i\n        $1\n",
			"i here", "xx"},
		{"list", "n: int@\nf: (p: int@) void:\n    x: int@\n    @ [+$1]: pass\n", "n p x",
			"f while int"},
		{"arguments", "f: (width: int, height: int) void: pass\ng: () void:\n    f($1)\n",
			"width\u00a0= height\u00a0=", ""},
		{"second argument", "f: (width: int, height: int) void: pass\ng: () void:\n    f(1, h$1\n",
			"", "width\u00a0="},
		{"comment", "f: () void:\n    pass # f$1\n", "", "f"},
		{"string", "f: () void:\n    print(\"f$1\")\n", "", "f"},
		{"format string", "f: () void:\n    here: int = 1\n    print(f\"{he$1}\")\n", "here", ""},
		{"number", "f: () void:\n    x: int = 1$1\n", "", "f"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, i := range completed(t, c.text) {
				got = append(got, i.Label)
			}
			for _, w := range strings.Split(c.want, " ") {
				w = strings.ReplaceAll(w, "\u00a0", " ")
				if w != "" && !slices.Contains(got, w) {
					t.Errorf("no %q in %q", w, got)
				}
			}
			for _, w := range strings.Split(c.without, " ") {
				w = strings.ReplaceAll(w, "\u00a0", " ")
				if w != "" && slices.Contains(got, w) {
					t.Errorf("%q in %q", w, got)
				}
			}
		})
	}
}

func TestSignature(t *testing.T) {
	const f = "# Adds.\nf: [+a] (a: int@, b: int, c: int = 3) int:\n    a += b + c\n    return b\n"
	for _, c := range []struct {
		name, text, label string
		active            int
	}{
		{"first", "g: (x: int@) void:\n    f($1\n", "f: [+a] (a: int@, b: int, c: int = 3) int", 0},
		{"second", "g: (x: int@) void:\n    f(x, $1)\n",
			"f: [+a] (a: int@, b: int, c: int = 3) int", 1},
		{"nested", "g: (x: int@) void:\n    print(\"%d\", f(x, (1 + 2), $1\n",
			"f: [+a] (a: int@, b: int, c: int = 3) int", 2},
		{"by name", "g: (x: int@) void:\n    f(x, c = $1, b = 2)\n",
			"f: [+a] (a: int@, b: int, c: int = 3) int", 2},
		{"method", "g: (v: vector<int>&) void:\n    v.insert(1, $1)\n",
			"vector.insert: [+self] (at: int, =x: T) void", 1},
		{"type", "type p:\n    x: int\n    y: float\ng: () void:\n    q: p = p(1, $1)\n",
			"p(x: int, y: float)", 1},
		{"closure", "g: (h: <(int, string) bool>) bool:\n    return h($1)\n",
			"h(int, string) bool", 0},
		{"type arguments", "id: <type T> (x: T) T: return x\ng: () int:\n    return id<int>($1)\n",
			"id: (x: T) T", 0},
	} {
		cl := open(t)
		text, places := marked(f + c.text)
		cl.didOpen(hello, text)
		var help signatureHelp
		cl.must("textDocument/signatureHelp", at(hello, places["$1"]), &help)
		if len(help.Signatures) != 1 || help.Signatures[0].Label != c.label ||
			help.ActiveParameter != c.active {
			t.Errorf("%s: got %+v, want %s, %d", c.name, help, c.label, c.active)
		}
		if doc := help.Signatures; c.name == "first" && len(doc) == 1 &&
			(doc[0].Documentation == nil || doc[0].Documentation.Value != "Adds.") {
			t.Errorf("the documentation is %+v", doc[0].Documentation)
		}
	}
	cl := open(t)
	cl.didOpen(hello, f)
	var none *signatureHelp
	if cl.must("textDocument/signatureHelp", at(hello, position{2, 4}), &none); none != nil {
		t.Errorf("outside of a call: got %+v", none)
	}
}
