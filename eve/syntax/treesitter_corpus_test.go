package syntax

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// corpusTest is a test of tree-sitter's form: a title, a text and its tree. The title is followed
// by `:error` if the text is wrong, and then there is no tree.
var corpusTest = regexp.MustCompile(
	`(?s)={80}\n([^\n]+)\n(:error\n)?={80}\n\n(.*?)\n-{80}\n\n(?:(\(.*?\))\n(?:\n|$))?\n*`)

// The texts of the grammar's folder have their trees; -update writes these.
func TestTreeSitterCorpus(t *testing.T) {
	ts := startTreeSitter(t, false)
	names, err := filepath.Glob("../editors/tree-sitter/test/corpus/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, name := range names {
		content := read(t, name)
		rest := content
		var updated strings.Builder
		for _, m := range corpusTest.FindAllStringSubmatch(content, -1) {
			ran++
			title, refused, text, want := m[1], m[2] != "", m[3], m[4]
			got, wrong := ts.show(text)
			rest = strings.Replace(rest, m[0], "", 1)
			if refused {
				got, want = "", ""
			}
			if wrong != refused || !*update && strings.Join(strings.Fields(want), " ") != got {
				t.Errorf("%s, %s: error: %v, the tree is\n%s", filepath.Base(name), title, wrong,
					indented(got))
			}
			head, _, _ := strings.Cut(m[0], "-----")
			updated.WriteString(head + strings.Repeat("-", 80) + "\n\n" + indented(got) + "\n")
		}
		if strings.TrimSpace(rest) != "" {
			t.Errorf("%s: this is no test:\n%s", name, rest)
		}
		if *update && !t.Failed() {
			if err := os.WriteFile(name, []byte(updated.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if ran < 25 {
		t.Errorf("only %d tests ran", ran)
	}
}

// indented breaks an S-expression into lines, one for each node.
func indented(tree string) string {
	var b strings.Builder
	depth, labelled := 0, true
	for _, word := range strings.Fields(tree) {
		if labelled {
			b.WriteString(word)
		} else {
			b.WriteString("\n" + strings.Repeat("  ", depth) + word)
		}
		if labelled = strings.HasSuffix(word, ":"); labelled {
			b.WriteString(" ")
		}
		depth += strings.Count(word, "(") - strings.Count(word, ")")
	}
	if tree == "" {
		return ""
	}
	return b.String() + "\n"
}
