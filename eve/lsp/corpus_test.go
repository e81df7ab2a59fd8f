package lsp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// corpus returns the programs of the tree: right ones, wrong ones, and std.
func corpus(t testing.TB) []string {
	t.Helper()
	var all []string
	for _, glob := range []string{"../std/*.eve", "../std/*/*.eve", "../testdata/*/*.eve",
		"../syntax/testdata/*.eve", "../check/testdata/*.eve", "../../docs/eve/examples/*.eve"} {
		files, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(text))
		}
	}
	if len(all) < 100 {
		t.Fatalf("only %d programs", len(all))
	}
	return all
}

// everything asks all that can be asked about a document and a place in it, and returns the
// answers. No answer may be a failure of the server.
func (c *client) everything(uri string, p position) []byte {
	c.t.Helper()
	whole := map[string]any{"textDocument": documentID{uri}, "range": span{position{},
		position{1 << 30, 0}}, "context": map[string]any{}}
	references := at(uri, p)
	references["context"] = map[string]any{"includeDeclaration": true}
	rename := at(uri, p)
	rename["newName"] = "a_new_name"
	var all bytes.Buffer
	for _, q := range []struct {
		method string
		params any
	}{
		{"textDocument/hover", at(uri, p)}, {"textDocument/definition", at(uri, p)},
		{"textDocument/references", references}, {"textDocument/documentHighlight", at(uri, p)},
		{"textDocument/completion", at(uri, p)}, {"textDocument/signatureHelp", at(uri, p)},
		{"textDocument/typeDefinition", at(uri, p)},
		{"textDocument/prepareCallHierarchy", at(uri, p)},
		{"textDocument/selectionRange", map[string]any{"textDocument": documentID{uri},
			"positions": []position{p, {}}}},
		{"textDocument/prepareRename", at(uri, p)}, {"textDocument/rename", rename},
		{"textDocument/codeAction", whole}, {"textDocument/inlayHint", whole},
		{"textDocument/semanticTokens/full", of(uri)}, {"textDocument/foldingRange", of(uri)},
		{"textDocument/documentSymbol", of(uri)}, {"textDocument/formatting", of(uri)},
	} {
		m := c.receive(c.send(q.method, q.params))
		if m.Error != nil && m.Error.Code != requestFailed {
			c.t.Fatalf("%s at %v: %d %s", q.method, p, m.Error.Code, m.Error.Message)
		}
		content, err := json.Marshal([]any{q.method, m.Result, m.Error})
		if err != nil {
			c.t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s\n", content)
	}
	return bytes.ReplaceAll(all.Bytes(), []byte(c.cache), []byte("the cache"))
}

// All requests are answered in every program, of which every second one is only begun, and tokens
// are in order.
func TestCorpus(t *testing.T) {
	c := open(t)
	for i, text := range corpus(t) {
		if i%2 == 1 {
			text = strings.ToValidUTF8(text[:len(text)*(i%7+1)/8], "")
		}
		uri := hello + fmt.Sprint(i)
		c.didOpen(uri, text)
		f := newFile("", text)
		line := i % f.Lines()
		if i%2 == 1 {
			line = f.Lines() - 1 // where the text ends
		}
		c.everything(uri, position{line, len(f.Line(line + 1))})
		c.checkTokens(uri, text)
		c.notify("textDocument/didClose", of(uri))
	}
}

// checkTokens checks that no token is empty, crosses a line or overlaps the one before.
func (c *client) checkTokens(uri, text string) {
	c.t.Helper()
	var tokens semanticTokens
	c.must("textDocument/semanticTokens/full", of(uri), &tokens)
	f := newFile("", text)
	at, end := position{}, 0
	for i := 0; i+5 <= len(tokens.Data); i += 5 {
		d := tokens.Data[i : i+5]
		if d[0] > 0 {
			at, end = position{at.Line + d[0], 0}, 0
		}
		at.Character += d[1]
		if d[0] < 0 || d[1] < 0 || d[2] <= 0 || at.Character < end ||
			at.Character+d[2] > utf16.units(f.Line(at.Line+1)) {
			c.t.Errorf("%s: token %v at %v", uri, d, at)
			return
		}
		end = at.Character + d[2]
	}
}

// FuzzChange makes random edits of a program. The server answers everything after each, and at the
// end its answers and diagnostics are those of a server that opens the last text.
func FuzzChange(f *testing.F) {
	programs := corpus(f)
	for i := range programs {
		if i%10 == 0 {
			f.Add(uint16(i), []byte{byte(i), 3, 7, 200, 5, 1, 0, 44, 9, 90, 2, 6})
		}
	}
	f.Fuzz(func(t *testing.T, program uint16, edits []byte) {
		text := programs[int(program)%len(programs)]
		c := open(t)
		c.didOpen(hello, text)
		version := 1
		for ; len(edits) >= 4 && version < 6; edits = edits[4:] {
			version++
			change := randomChange(text, edits)
			text = apply(text, []textEdit{{*change.Range, change.Text}})
			c.didChange(hello, version, change)
			c.everything(hello, change.Range.Start)
		}
		p := position{len(edits), 4}
		answers := c.everything(hello, p)
		if version > 1 {
			c.tick()
		}
		diagnostics := short(c.diagnostics(hello, version))

		fresh := open(t)
		fresh.didOpen(hello, text)
		if got := short(fresh.diagnostics(hello, 1)); got != diagnostics {
			t.Errorf("after the edits the diagnostics are\n%s\nafresh\n%s", diagnostics, got)
		}
		if got := fresh.everything(hello, p); !bytes.Equal(got, answers) {
			t.Errorf("after the edits the answers are\n%s\nafresh\n%s", answers, got)
		}
		c.checkTokens(hello, text)
	})
}

// pieces are texts that people type, delete and leave half done.
var pieces = []string{"", "(", ")", "[", "]", ".", ":", "\n", "    ", "x", " = ", "@", "\"", "f\"{",
	"# ", "if ", "on s data ", "x.", "é😀", "\r\n", "\t", "<", "type a:\n", "match x:\n", "import ",
	" <- ", "finish:\n", "self."}

// randomChange is an edit that four bytes choose.
func randomChange(text string, b []byte) change {
	f := newFile("", text)
	line := (int(b[0])<<8 + int(b[1])) % f.Lines()
	length := utf16.units(f.Line(line + 1))
	start := position{line, int(b[2]) % (length + 1)}
	end := start
	switch b[3] % 4 {
	case 0: // to the end of the line, or over it
		end = position{line + int(b[2])%2, 0}
		if end.Line == line {
			end.Character = length
		}
	case 1:
		end.Character = min(length, start.Character+int(b[3]/4)%8)
	}
	return change{&span{start, end}, pieces[int(b[3]/4)%len(pieces)]}
}

// large returns a program of about n lines with every kind of statement: copies of the shop.
func large(t testing.TB, n int) string {
	t.Helper()
	text, _ := marked(shop)
	head, body, ok := strings.Cut(text, "import util.timeout\n")
	if !ok {
		t.Fatal("the shop has another head")
	}
	var b strings.Builder
	b.WriteString(head + "import util.timeout\n")
	names := []string{"price", "rate", "sold", "thing", "answer", "pick", "sell", "main"}
	for i := 0; strings.Count(b.String(), "\n") < n; i++ {
		copied := body
		for _, name := range names {
			if i > 0 || name != "main" {
				copied = replaceWord(copied, name, fmt.Sprintf("%s%d", name, i))
			}
		}
		b.WriteString(copied)
	}
	return b.String()
}

func replaceWord(text, word, by string) string {
	var b strings.Builder
	for from := 0; ; {
		k := strings.Index(text[from:], word)
		if k < 0 {
			b.WriteString(text[from:])
			return b.String()
		}
		k += from
		end := k + len(word)
		b.WriteString(text[from:k])
		if k > 0 && isWordByte(text[k-1]) || end < len(text) && isWordByte(text[end]) {
			b.WriteString(word)
		} else {
			b.WriteString(by)
		}
		from = end
	}
}

// BenchmarkAnswers measures each request in a program of 2,000 lines: directly after a change, so
// that the program has to be checked first.
func BenchmarkAnswers(b *testing.B) {
	text := large(b, 2000)
	c := open(b)
	c.didOpen(hello, text)
	if d := c.diagnostics(hello, 1); slices.ContainsFunc(d, func(d diagnostic) bool {
		return d.Severity == severityError
	}) {
		b.Fatalf("got\n%s", short(d))
	}
	line := strings.Count(text, "\n") - 3
	place := position{line, 20} // in a call of sell
	whole := map[string]any{"textDocument": documentID{hello}, "context": map[string]any{},
		"range": span{position{}, position{1 << 30, 0}}}
	references := at(hello, place)
	references["context"] = map[string]any{"includeDeclaration": true}
	rename := at(hello, place)
	rename["newName"] = "a_new_name"
	version := 1
	for _, q := range []struct {
		method string
		params any
	}{
		{"textDocument/hover", at(hello, place)},
		{"textDocument/definition", at(hello, place)},
		{"textDocument/references", references},
		{"textDocument/completion", at(hello, place)},
		{"textDocument/signatureHelp", at(hello, position{line, 24})},
		{"textDocument/rename", rename},
		{"textDocument/selectionRange", map[string]any{"textDocument": documentID{hello},
			"positions": []position{place}}},
		{"textDocument/semanticTokens/full", of(hello)},
		{"textDocument/inlayHint", whole},
		{"textDocument/codeAction", whole},
		{"textDocument/documentSymbol", of(hello)},
		{"textDocument/foldingRange", of(hello)},
		{"textDocument/formatting", of(hello)},
	} {
		b.Run(strings.TrimPrefix(q.method, "textDocument/"), func(b *testing.B) {
			for b.Loop() {
				version++
				c.didChange(hello, version, change{&span{position{1, 0}, position{1, 0}}, ""})
				c.must(q.method, q.params, nil)
			}
		})
	}
}
