package compile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"interleave/eve/diag"
	"interleave/eve/source"
)

// Every explanation has a wrong program, which must get its code, and a right one, which must get
// no diagnostic.
func TestExplanations(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join("..", "diag", "explain", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	for _, page := range pages {
		code := diag.Code(strings.TrimSuffix(filepath.Base(page), ".md"))
		t.Run(string(code), func(t *testing.T) {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(text), "# "+string(code)+": ") {
				t.Errorf("the page does not begin with %q", "# "+string(code)+": ")
			}
			wrong, right := blocks(string(text), "wrong"), blocks(string(text), "right")
			if len(wrong) == 0 || len(right) == 0 {
				t.Fatal("a page has a wrong program and a right one")
			}
			for _, p := range wrong {
				if !slices.ContainsFunc(checked(p),
					func(d diag.Diagnostic) bool { return d.Code == code }) {
					t.Errorf("no %s, but %v, in\n%s", code, found(checked(p)), p)
				}
			}
			for _, p := range right {
				if got := checked(p); len(got) > 0 {
					t.Errorf("%v: %s\nin\n%s", found(got), got[0].Message, p)
				}
			}
		})
	}
}

// checked checks a program of a page. A line "# name.eve" starts another module of it.
func checked(text string) []diag.Diagnostic {
	files := map[string]*source.File{}
	name := "page"
	var lines []string
	flush := func() {
		files[name] = source.NewFile(name+".eve", strings.Join(lines, "\n")+"\n")
		lines = nil
	}
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if next, ok := strings.CutPrefix(line, "# "); ok && strings.HasSuffix(next, ".eve") {
			flush()
			name = strings.TrimSuffix(next, ".eve")
			continue
		}
		lines = append(lines, line)
	}
	flush()
	_, diags := Check(files["page"], func(module string) (*source.File, bool) {
		f, ok := files[module]
		return f, ok
	})
	return diags
}

// blocks returns the programs in the fenced blocks "```eve kind".
func blocks(text, kind string) []string {
	var all []string
	for _, part := range strings.Split(text, "```eve "+kind+"\n")[1:] {
		program, _, _ := strings.Cut(part, "```")
		all = append(all, program)
	}
	return all
}
