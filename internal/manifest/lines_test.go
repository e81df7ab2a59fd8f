package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCodeLines(t *testing.T) {
	tests := []struct {
		name, ext, text string
		want            int
	}{
		{"empty", ".c", "", 0},
		{"blank and comments", ".c", "\n  \t\n// one\n/* two\n three */\n", 0},
		{"code beside comments", ".c",
			"int a; // one\n/* two */ int b;\nint c; /* three\n*/ int d;\n", 4},
		{"comment in a string", ".c", "puts(\"/*\");\nint a;\nputs(\"// no\");\n", 3},
		{"quote in a character", ".c", "c = '\"';\n/* a\n b */\n", 1},
		{"escaped quote", ".c", "puts(\"\\\"/*\");\nint a;\n", 2},
		{"no newline at the end", ".c", "int a;", 1},
		{"carriage returns", ".c", "int a;\r\n\r\n// b\r\n", 1},
		{"raw string over lines", ".go", "s := `a\n// in the string\n\n/* too */\n`\n// out\n", 4},
		{"template", ".js", "f(`// text`);\n// a\n", 1},
		{"glob in quotes", ".js", "glob('src/*');\nrun();\n", 2},
		{"lifetimes", ".rs", "fn a<'a>(s: &'a str) {\n    let q = '\"';\n    // b\n}\n", 3},
		{"escaped character", ".rs", "let q = '\\'';\nlet s = \"x\";\n/* c */\n", 2},
		{"percent", ".erl", "%% head\nf() -> % tail\n  $\".\n%% foot\n", 2},
		{"hash", ".py", "# head\nprint('#')\n", 1},
		{"nested marks", ".hs", "{- a\n b -}\nmain = x -- c\n-- d\n", 1},
		{"unknown language", ".zig", "// perhaps a comment\n\nconst a = 1;\n", 2},
	}
	for _, tt := range tests {
		if got := codeLines([]byte(tt.text), notations[tt.ext]); got != tt.want {
			t.Errorf("%s: got %d lines, want %d", tt.name, got, tt.want)
		}
	}
}

func TestModelLines(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"echo.c": "int a;\n// b\n",
		"loop.c": "int c;\nint d;\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m := Model{Name: "c-epoll", Dir: dir, Source: []string{"echo.c", "loop.c"}}
	if got, err := m.Lines(); got != 3 || err != nil {
		t.Errorf("got %d, %v; want 3", got, err)
	}
	m.Source = append(m.Source, "gone.c")
	if _, err := m.Lines(); err == nil ||
		!strings.Contains(err.Error(), "counting lines of c-epoll") {
		t.Errorf("a source that is gone: got %v", err)
	}
}

func TestWhole(t *testing.T) {
	for _, tt := range []struct {
		language, source string
		want             bool
	}{
		{"c", "echo.c", true},
		{"go", "../go-goroutine/images.go", true},
		{"c", "../../transfer/c-loop-lwip/transfer.c", true},
		{"c", "chat.sh", false}, // of a package of the system
		{"go", "../../../papaya/server/deal.go", false},
	} {
		m := Model{Language: tt.language, Source: []string{tt.source}}
		if got := m.Whole(); got != tt.want {
			t.Errorf("%s in %s: got %v", tt.source, tt.language, got)
		}
	}
}

func FuzzCodeLines(f *testing.F) {
	f.Add("int a; /* b\n */ '\"' `\n", ".go")
	f.Add("f() -> $\\", ".erl")
	f.Fuzz(func(t *testing.T, text, ext string) {
		got, most := codeLines([]byte(text), notations[ext]), strings.Count(text, "\n")+1
		if got < 0 || got > most {
			t.Errorf("%d lines of code in %d lines", got, most)
		}
	})
}
