package format

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"interleave/eve/diag"
	"interleave/eve/source"
	"interleave/eve/syntax"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// eveFiles lists all .eve files of the language.
func eveFiles(t testing.TB) []string {
	var names []string
	err := filepath.WalkDir("..", func(name string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".eve") {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func read(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// meaning is the tree of a text and its comments; false when it has errors.
func meaning(text string) (string, bool) {
	var diags diag.List
	f := syntax.Parse(source.NewFile("a.eve", untab(text)), &diags)
	if diags.HasErrors() {
		return "", false
	}
	var comments strings.Builder
	for _, tok := range f.Tokens {
		for _, line := range strings.Split(tok.Lead, "\n") {
			if i := strings.IndexByte(line, '#'); i >= 0 {
				comments.WriteString(strings.TrimSpace(line[i:]) + "\n")
			}
		}
	}
	return syntax.Dump(f) + comments.String(), true
}

// formatText formats the text of a module. Text with errors is returned as it is, and the error
// says how many there are; only tabs in the indentation are replaced.
func formatText(text string) (string, error) {
	var diags diag.List
	out, ok := File(source.NewFile("text", text), &diags)
	if !ok {
		first := diags.Sorted()[0]
		return text, fmt.Errorf("line %d: %s", first.Span.Line(), first.Message)
	}
	return out, nil
}

// checkFormat formats a text without errors and compares the parts that must not change.
func checkFormat(t *testing.T, name, text string) string {
	t.Helper()
	want, ok := meaning(text)
	if !ok {
		return text
	}
	once, err := formatText(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	got, ok := meaning(once)
	if !ok || got != want {
		t.Errorf("%s: the meaning changes: got\n%s\nwant\n%s\nprinted\n%s", name, got, want, once)
	}
	twice, err := formatText(once)
	if err != nil || twice != once {
		t.Errorf("%s: printing again gives (%v)\n%s\nwant\n%s", name, err, twice, once)
	}
	for n, line := range strings.Split(once, "\n") {
		if strings.TrimRight(line, " \t\r") != line {
			t.Errorf("%s:%d: spaces at the end of %q", name, n+1, line)
		}
	}
	if strings.Contains(once, "\n\n\n") || once != "" && (!strings.HasSuffix(once, "\n") ||
		strings.HasSuffix(once, "\n\n") || once[0] == '\n') {
		t.Errorf("%s: empty lines in\n%s", name, once)
	}
	return once
}

func TestAllFilesKeepTheirMeaning(t *testing.T) {
	names := eveFiles(t)
	if len(names) < 8 {
		t.Fatalf("only %d files are found", len(names))
	}
	for _, name := range names {
		checkFormat(t, name, read(t, name))
	}
}

// The modules of std are in the formatter's style.
func TestStdIsFormatted(t *testing.T) {
	for _, name := range eveFiles(t) {
		if !strings.HasPrefix(name, filepath.Join("..", "std")) {
			continue
		}
		if text := read(t, name); checkFormat(t, name, text) != text {
			t.Errorf("%s is not formatted", name)
		}
	}
}

func TestGolden(t *testing.T) {
	names, err := filepath.Glob("../testdata/fmt/*.eve")
	if err != nil || len(names) == 0 {
		t.Fatalf("no file in testdata/fmt (%v)", err)
	}
	for _, name := range names {
		text := read(t, name)
		got, err := formatText(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		checkFormat(t, name, text)
		path := strings.TrimSuffix(name, ".eve") + ".golden"
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if want := read(t, path); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

// One edit at a time, from a text that uses everything: a text that still parses keeps its
// meaning.
func TestSlips(t *testing.T) {
	text := read(t, "../syntax/testdata/everything.eve")
	var diags diag.List
	f := syntax.Parse(source.NewFile("a.eve", text), &diags)
	formatted := 0
	for i, tok := range f.Tokens {
		if tok.Span.Start == tok.Span.End {
			continue
		}
		for _, with := range []string{"", " ", "\n", "\n\n\n# x\n", "(", "  # y\n      ", "\t"} {
			changed := text[:tok.Span.Start] + with + text[tok.Span.Start:]
			if with == "" {
				changed = text[:tok.Span.Start] + text[tok.Span.End:]
			}
			if _, ok := meaning(changed); ok {
				checkFormat(t, tok.Text(), changed)
				formatted++
			}
		}
		if t.Failed() {
			t.Fatalf("at token %d", i)
		}
	}
	if formatted < 500 {
		t.Errorf("only %d texts could be formatted", formatted)
	}
}

func TestErrorsLeaveTheText(t *testing.T) {
	text := "f: () void:\n  x  =  1 +\n"
	got, err := formatText(text)
	if got != text || err == nil ||
		err.Error() != "line 2: expected an expression, found the end of the line" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestSmall(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"empty", "", ""},
		{"blank", "\n\n  \n", ""},
		{"comment", "  # a  ", "# a\n"},
		{"tabs", "f: () void:\n\tif a:\n\t\tpass\n", "f: () void:\n    if a:\n        pass\n"},
		{"windows", "f: () void:\r\n  pass # x\r\n\r\n", "f: () void:\n    pass  # x\n"},
		{"mark", "\ufeffx: int@\n", "x: int@\n"},
		{"no end", "x: int@", "x: int@\n"},
		{"columns", "a: int@    # one\nbb: int@   # two\n", "a: int@    # one\nbb: int@   # two\n"},
		{"columns move", "t: () void:\n  a()    # one\n  bb()   # two\n",
			"t: () void:\n    a()    # one\n    bb()   # two\n"},
		{"minus", "const x = a - -b - --c\n", "const x = a - -b - --c\n"},
		{"less than minus", "const x = a <-1\n", "const x = a < -1\n"},
		{"shift", "const x = a<<1>>2\n", "const x = a << 1 >> 2\n"},
		{"types", "x: map<string,vector<int>>@=f<a,b>(c<d)\n",
			"x: map<string, vector<int>>@ = f<a, b>(c < d)\n"},
	}
	for _, test := range tests {
		if got := checkFormat(t, test.name, test.text); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func FuzzFormat(f *testing.F) {
	for _, name := range eveFiles(f) {
		f.Add(read(f, name))
	}
	f.Fuzz(func(t *testing.T, text string) { checkFormat(t, "fuzz.eve", text) })
}
