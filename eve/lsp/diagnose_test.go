package lsp

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// short lists diagnostics as line:column code message, the first line of the message only.
func short(all []diagnostic) string {
	var b strings.Builder
	for _, d := range all {
		message, _, _ := strings.Cut(d.Message, "\n")
		line := []string{"", "error", "warning"}[d.Severity]
		b.WriteString(line + " " + d.Code + " at " + d.Range.text() + ": " + message + "\n")
	}
	return b.String()
}

func (s span) text() string { return s.Start.text() + "-" + s.End.text() }

func (p position) text() string { return itoa(p.Line) + ":" + itoa(p.Character) }

func itoa(n int) string { return string(appendInt(nil, n)) }

func appendInt(b []byte, n int) []byte {
	if n >= 10 {
		b = appendInt(b, n/10)
	}
	return append(b, byte('0'+n%10))
}

func TestDiagnosticsAsOneTypes(t *testing.T) {
	c := open(t)
	c.didOpen(hello, "main: [+stdout] () void:\n    print(x)\n")
	want := "error E0202 at 1:10-1:11: unknown name 'x'\n"
	if got := short(c.diagnostics(hello, 1)); got != want {
		t.Errorf("opened: got\n%swant\n%s", got, want)
	}
	// Two changes, and only the second is checked.
	c.didChange(hello, 2, change{&span{position{1, 10}, position{1, 11}}, "yy"})
	c.didChange(hello, 3, change{&span{position{1, 10}, position{1, 12}}, "n"},
		change{&span{position{1, 0}, position{1, 0}}, "    n: int = 7\n"})
	c.tick()
	want = "error E0349 at 2:10-2:11: a format is a string, and this is an int\n"
	if got := short(c.diagnostics(hello, 3)); got != want {
		t.Errorf("after two changes: got\n%swant\n%s", got, want)
	}
	c.didChange(hello, 4, change{nil, "main: [+stdout] () void:\n    print(\"n\")\n"})
	c.tick()
	if got := c.diagnostics(hello, 4); len(got) != 0 {
		t.Errorf("after the last change: got\n%s", short(got))
	}
	select {
	case m := <-c.notes:
		t.Errorf("one more notification: %s", m.Params)
	default:
	}
	c.notify("textDocument/didClose", of(hello))
	if got := c.diagnostics(hello, -1); len(got) != 0 {
		t.Errorf("closed: got\n%s", short(got))
	}
	c.didChange(hello, 5, change{nil, "x"})
	if err := c.call("textDocument/hover", at(hello, position{}), nil); err == nil {
		t.Error("a closed document was hovered over")
	}
	c.expectLog("was changed, and is not open")
}

// expectLog checks what the server has logged, and forgets it.
func (c *client) expectLog(want string) {
	c.t.Helper()
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	if !strings.Contains(c.log.b.String(), want) {
		c.t.Errorf("the log is %q, want %q in it", c.log.b.String(), want)
	}
	c.log.b.Reset()
}

// The message has the label and the fix, the related places are those of the labels.
func TestDiagnosticTellsAll(t *testing.T) {
	c := open(t)
	c.didOpen(hello, "count: int@\nmain: [count] () void:\n    count = 1\n")
	all := c.diagnostics(hello, 1)
	if len(all) != 1 {
		t.Fatalf("got\n%s", short(all))
	}
	d := all[0]
	want := "cannot change 'count' with read permission: this changes it\nfix: write [+count]"
	if d.Message != want || d.Code != "E0402" || d.Source != "eve" {
		t.Errorf("got %q, %s of %s, want %q", d.Message, d.Code, d.Source, want)
	}
	if len(d.Related) != 1 || d.Related[0].Location != (location{hello,
		span{position{1, 7}, position{1, 12}}}) {
		t.Errorf("related: %+v", d.Related)
	}
	// The fix is a code action, and mends the program.
	var actions []codeAction
	c.must("textDocument/codeAction", map[string]any{"textDocument": documentID{hello},
		"range": span{position{2, 6}, position{2, 6}}, "context": map[string]any{
			"diagnostics": []any{}}}, &actions)
	if len(actions) != 1 || actions[0].Title != "Write [+count]" {
		t.Fatalf("actions: %+v", actions)
	}
	text := apply("count: int@\nmain: [count] () void:\n    count = 1\n",
		actions[0].Edit.Changes[hello])
	if want := "count: int@\nmain: [+count] () void:\n    count = 1\n"; text != want {
		t.Errorf("the action makes\n%s", text)
	}
	for only, want := range map[string]int{"quickfix": 1, "refactor": 0, "": 1} {
		c.must("textDocument/codeAction", map[string]any{"textDocument": documentID{hello},
			"range": d.Range, "context": map[string]any{"only": []string{only}}}, &actions)
		if len(actions) != want {
			t.Errorf("only %q: %d actions, want %d", only, len(actions), want)
		}
	}
}

// A tree of files is written below a folder of its own.
func write(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// published waits until the diagnostics of each of the documents have come once.
func (c *client) published(uris ...string) map[string]string {
	c.t.Helper()
	got := map[string]string{}
	for len(got) < len(uris) {
		select {
		case m := <-c.notes:
			var p publishParams
			unmarshal(c.t, m.Params, &p)
			if slices.Contains(uris, p.URI) {
				got[p.URI] = short(p.Diagnostics)
			}
		case <-time.After(limit):
			c.t.Fatalf("diagnostics came only of %v", got)
		}
	}
	return got
}

// The program of a document has the modules beside it: from the editor if they are open, else from
// the disk. A change of one changes the diagnostics of the other.
func TestImports(t *testing.T) {
	const mainText = "import parts.area\n\nmain: [+stdout] () void:\n" +
		"    print(\"%d\", area.of(2))\n"
	const areaText = "import parts.unit\n\npub of: (n: int) int:\n    return n * unit.size\n"
	dir := write(t, map[string]string{
		"main.eve": mainText, "parts/area.eve": areaText,
		"parts/unit.eve": "pub const size: int = 3\n",
	})
	c := open(t, dir)
	mainURI, areaURI := uriOf(filepath.Join(dir, "main.eve")), uriOf(filepath.Join(dir,
		"parts/area.eve"))
	c.didOpen(mainURI, mainText)
	if got := short(c.diagnostics(mainURI, 1)); got != "" {
		t.Errorf("main: got\n%s", got)
	}
	// A module's own imports start at the folder of the program.
	c.didOpen(areaURI, areaText)
	for uri, got := range c.published(mainURI, areaURI) {
		if got != "" {
			t.Errorf("%s: got\n%s", uri, got)
		}
	}
	c.didChange(areaURI, 2, change{nil, "pub of: (n: int) int:\n    return m\n"})
	c.tick()
	want := "error E0202 at 0:7-0:17: " + filepath.Join(dir, "parts/area.eve") +
		":2: unknown name 'm'\n"
	got := c.published(mainURI, areaURI)
	if !strings.HasPrefix(got[mainURI], want[:len(want)-1]) {
		t.Errorf("main: got\n%swant\n%s", got[mainURI], want)
	}
	if !strings.HasPrefix(got[areaURI], "error E0202 at 1:11-1:12: unknown name 'm'") {
		t.Errorf("area: got\n%s", got[areaURI])
	}
	// Closed without saving, the file on the disk counts again.
	c.notify("textDocument/didClose", of(areaURI))
	c.tick()
	if got := short(c.diagnostics(mainURI, 1)); got != "" {
		t.Errorf("main after the close: got\n%s", got)
	}
	if err := os.Remove(filepath.Join(dir, "parts/area.eve")); err != nil {
		t.Fatal(err)
	}
	c.notify("workspace/didChangeWatchedFiles", map[string]any{"changes": []any{}})
	c.tick()
	if got := short(c.diagnostics(mainURI, 1)); !strings.Contains(got, "0:7-0:17") {
		t.Errorf("main without its module: got\n%s", got)
	}
}

func TestFormatting(t *testing.T) {
	c := open(t)
	for i, text := range []string{
		"main: () void:\n    pass\n",
		"main:  ()  void :\n  x:int=1\n  print( \"%d\",x )\n\n\n\n  pass",
		"a: () void:\r\n   pass\r\n\r\n\r\n\r\nb: () void:\r\n   pass\r\n",
		"",
		"# only a comment",
	} {
		uri := hello + itoa(i)
		c.didOpen(uri, text)
		var edits []textEdit
		c.must("textDocument/formatting", of(uri), &edits)
		if got, want := apply(text, edits), formatted(t, text); got != want {
			t.Errorf("%q: got %q, want %q by %+v", text, got, want, edits)
		}
		for _, e := range edits {
			if utf16.part(newFile("", text), e.Range).Text() == e.NewText {
				t.Errorf("%q: an edit that changes nothing: %+v", text, e)
			}
		}
	}
	c.didOpen(hello, "main: (\n")
	var edits []textEdit
	if c.must("textDocument/formatting", of(hello), &edits); len(edits) != 0 {
		t.Errorf("a broken text was formatted: %+v", edits)
	}
}
