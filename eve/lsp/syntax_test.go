package lsp

import (
	"fmt"
	"strings"
	"testing"
)

func (s symbol) tree(indent string) string {
	text := fmt.Sprintf("%s%d %s", indent, s.Kind, s.Name)
	if s.Detail != "" {
		text += " | " + s.Detail
	}
	text += "\n"
	for _, c := range s.Children {
		text += c.tree(indent + "    ")
	}
	return text
}

func TestDocumentSymbols(t *testing.T) {
	text, _ := marked(shop)
	c := open(t)
	c.didOpen(hello, text+"\ntest \"it sells\":\n    pass\n\nbroken: (\n")
	var all []symbol
	c.must("textDocument/documentSymbol", of(hello), &all)
	got := ""
	for _, s := range all {
		got += s.tree("")
	}
	want := `14 price | int
14 rate
13 sold | int@
23 thing
    8 name | string
    8 left | int
    6 take | [+self] (self, n: int = 1) bool
10 answer
    22 yes
    22 no
12 pick | <type T> (all: vector<T>, i: int) T?
12 sell | [+t, +sold] (t: thing@, n: int) answer
12 main | () void
12 test "it sells"
`
	if !strings.HasPrefix(got, want) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for _, s := range all {
		if s.SelectionRange.Start.Line < s.Range.Start.Line ||
			s.SelectionRange.End.Line > s.Range.End.Line {
			t.Errorf("%s: the name %v is outside of %v", s.Name, s.SelectionRange, s.Range)
		}
	}
}

// A client that knows no hierarchy gets a list.
func TestFlatSymbols(t *testing.T) {
	text, _ := marked(shop)
	c := open(t)
	c.server.flat = true
	c.didOpen(hello, text)
	var all []symbolInformation
	c.must("textDocument/documentSymbol", of(hello), &all)
	for _, s := range all {
		if s.Name == "take" && s.Container == "thing" && s.Location.URI == hello {
			return
		}
	}
	t.Errorf("no take of thing in %+v", all)
}

func TestWorkspaceSymbols(t *testing.T) {
	dir := write(t, map[string]string{
		"a.eve":              "type counter:\n    n: int\n    next: [+self] (self) int: return 1\n",
		"b/c.eve":            "count: () int: return 1\n",
		".hidden/d.eve":      "counted: () int: return 1\n",
		"node_modules/e.eve": "counting: () int: return 1\n",
		"f.txt":              "counts: () int: return 1\n",
	})
	c := open(t, dir)
	for query, want := range map[string]string{
		"cnt": "counter in a, count in c", "NEXT": "next in counter", "zz": "",
		"": "counter in a, n in counter, next in counter, count in c",
	} {
		for range 2 { // the second answer uses the trees of the first
			var all []symbolInformation
			c.must("workspace/symbol", map[string]any{"query": query}, &all)
			var got []string
			for _, s := range all {
				got = append(got, s.Name+" in "+s.Container)
			}
			if strings.Join(got, ", ") != want {
				t.Errorf("%q: got %q, want %s", query, got, want)
			}
		}
	}
}

// colorsOf decodes semantic tokens: one line for each, word and type.
func colorsOf(t *testing.T, text string, data []int) string {
	t.Helper()
	f := newFile("", text)
	var b strings.Builder
	at := position{}
	for i := 0; i+5 <= len(data); i += 5 {
		if data[i] > 0 {
			at = position{at.Line + data[i], 0}
		}
		at.Character += data[i+1]
		end := position{at.Line, at.Character + data[i+2]}
		word := utf16.part(f, span{at, end}).Text()
		fmt.Fprintf(&b, "%s %s", word, tokenTypes[data[i+3]])
		for bit, name := range tokenModifiers {
			if data[i+4]&(1<<bit) != 0 {
				b.WriteString(" " + name)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestSemanticTokens(t *testing.T) {
	c := open(t)
	const text = "const k: int = 1 # é\nn: int@\n" +
		"f: <type T> (a: T) void:\n    x: float<32> = 1.5\n    print(f\"{x} of {k}\")\n"
	c.didOpen(hello, text)
	var tokens semanticTokens
	c.must("textDocument/semanticTokens/full", of(hello), &tokens)
	want := `const keyword
k variable declaration readonly
int type defaultLibrary
1 number
# é comment
n variable declaration static
int type defaultLibrary
f function declaration
type keyword
T typeParameter declaration
a parameter declaration
T typeParameter
void type defaultLibrary
x variable declaration
float type defaultLibrary
32 number
1.5 number
print function defaultLibrary
f"{ string
x variable
} of { string
k variable readonly
}" string
`
	if got := colorsOf(t, text, tokens.Data); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	c.must("textDocument/semanticTokens/range", map[string]any{"textDocument": documentID{hello},
		"range": span{position{1, 0}, position{2, 0}}}, &tokens)
	if got := colorsOf(t, text, tokens.Data); got != "n variable declaration static\n"+
		"int type defaultLibrary\n" {
		t.Errorf("one line: got\n%s", got)
	}
}

func TestInlayHints(t *testing.T) {
	const text = `import io.socket.*

const rate = 1.5

main: () void:
    server: tcp_socket@! = none
    for (i in 0..9):
        pass
    p: int? = 7
    match p:
        some(v): pass
        none: pass

serve: [+stdout] (listener: tcp_socket@) void:
    on listener error []: pass
    on listener connection:
        c: socket@ = connection()
        on c line [+stdout]:
            print("%s", line.text)
        on c close [c]: pass
    s <- tcp_socket.connect("host", 1)
    pass
`
	c := open(t)
	c.didOpen(hello, strings.Replace(text, "    server: tcp_socket@! = none\n", "", 1))
	var all []inlayHint
	c.must("textDocument/inlayHint", map[string]any{"textDocument": documentID{hello},
		"range": span{position{0, 0}, position{99, 0}}}, &all)
	var edits []textEdit
	for _, h := range all {
		edits = append(edits, textEdit{span{h.Position, h.Position}, "«" + h.Label + "»"})
	}
	got := apply(strings.Replace(text, "    server: tcp_socket@! = none\n", "", 1), edits)
	for _, want := range []string{
		"const rate«: float» = 1.5", "for (i«: int» in 0..9)", "some(v«: int»)",
		"on listener error [«+listener»]:", "on listener connection«[+listener]»:",
		"on c line [«+c, »+stdout]:", "on c close [c]:", "    s«: socket@!» <- tcp_socket",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

func TestFolding(t *testing.T) {
	const text = `# One
# two.
import io.socket
import util.timeout

type p:
    x: int
    # Three
    # four.
    f: (self) int:
        return 1

main: () void:
    if true:
        pass
    else:
        pass
    for (i in 0..9): pass
    match 1:
        1: pass
        else: pass
# five
`
	c := open(t)
	c.didOpen(hello, text)
	var all []foldingRange
	c.must("textDocument/foldingRange", of(hello), &all)
	got := map[string]bool{}
	for _, f := range all {
		got[fmt.Sprintf("%d-%d %s", f.StartLine, f.EndLine, f.Kind)] = true
	}
	want := []string{"0-1 comment", "2-3 imports", "5-10 ", "7-8 comment", "9-10 ", "12-20 ",
		"13-14 ", "15-16 ", "18-20 "}
	for _, w := range want {
		if !got[w] {
			t.Errorf("no %q in %v", w, got)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %v, want %q", got, want)
	}
}
