package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxColumnsOfC is how wide a line of C is at most, a tab taken as eight.
const maxColumnsOfC = 100

var (
	indented = regexp.MustCompile(`^\t*(    | )?(\S|$)`) // a continuation; a comment's asterisk
	trailing = regexp.MustCompile(`[ \t]$`)
	named    = regexp.MustCompile(`^[a-z_].*[ *]\w+\(.*\)$`) // type and name of a function at once
)

// TestLayoutOfC holds the servers in C to OpenBSD's style(9) as far as a line shows it: tabs for
// blocks, four blanks for what goes on from the line before, and a function's name in column 0.
func TestLayoutOfC(t *testing.T) {
	for _, f := range tracked(t) {
		c := filepath.Ext(f) == ".c" || filepath.Ext(f) == ".h"
		if !c || !strings.HasPrefix(f, "services/") {
			continue
		}
		source, err := os.ReadFile(filepath.Join(root, f))
		if err != nil {
			t.Fatal(err)
		}
		for line, wrong := range layout(string(source)) {
			t.Errorf("%s:%d: %s", f, line, wrong)
		}
	}
}

// layout returns what is wrong, by line.
func layout(source string) map[int]string {
	wrong := map[int]string{}
	lines := strings.Split(source, "\n")
	for i, l := range lines {
		switch {
		case len([]rune(l))+7*strings.Count(l, "\t") > maxColumnsOfC:
			wrong[i+1] = "more than 100 columns"
		case trailing.MatchString(l):
			wrong[i+1] = "blanks at the end of the line"
		case !indented.MatchString(l):
			wrong[i+1] = "expected tabs, and four blanks where a line goes on"
		case named.MatchString(l) && i+1 < len(lines) && lines[i+1] == "{":
			wrong[i+1] = "expected the function's name in column 0, below its type"
		case strings.HasPrefix(strings.TrimSpace(l), "//"):
			wrong[i+1] = "expected a comment between /* and */"
		}
	}
	return wrong
}

func TestLayout(t *testing.T) {
	for _, c := range []struct {
		name, source string
		line         int
	}{
		{"right", "/*\n * A file.\n */\nint\nmain(void)\n{\n\treturn 0 +\n\t    1;\n}\n", 0},
		{"wide", "int\tx;\n/* " + strings.Repeat("w ", 50) + "*/\n", 2},
		{"trailing", "int x; \n", 1},
		{"blanks", "{\n        return;\n}\n", 2},
		{"aligned", "{\n\tcall(a,\n\t     b);\n}\n", 3},
		{"column", "static int main(void)\n{\n}\n", 1},
		{"slashes", "\t// no\n", 1},
	} {
		got := layout(c.source)
		if c.line == 0 && len(got) > 0 || c.line > 0 && (len(got) != 1 || got[c.line] == "") {
			t.Errorf("%s: got %v, want one in line %d, or none for 0", c.name, got, c.line)
		}
	}
}
