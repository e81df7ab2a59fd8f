package arch

import (
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxColumns is the largest width of a line of code. A tab counts as four.
const maxColumns = 100

// columns is the width of a line.
func columns(line string) int {
	return utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
}

// TestLinesOfGoAreNarrow ignores raw strings, and lines whose only string or directive cannot be
// broken.
func TestLinesOfGoAreNarrow(t *testing.T) {
	for _, f := range tracked(t) {
		if filepath.Ext(f) != ".go" || strings.Contains(f, "/testdata/") {
			continue
		}
		source, err := os.ReadFile(filepath.Join(root, f))
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range wide(source) {
			t.Errorf("%s:%d: more than %d columns", f, i+1, maxColumns)
		}
	}
}

// wide finds the lines of a file, from 0 on, that have too many columns.
func wide(source []byte) (found []int) {
	lines := strings.Split(string(source), "\n")
	if !slices.ContainsFunc(lines, func(l string) bool { return columns(l) > maxColumns }) {
		return nil
	}
	fixed := map[int]bool{}
	set := token.NewFileSet()
	file := set.AddFile("", set.Base(), len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)
	for {
		at, kind, text := s.Scan()
		if kind == token.EOF {
			break
		}
		first := file.Line(at) - 1
		raw := kind == token.STRING && len(text) > maxColumns/2 &&
			(text[0] == '`' || !strings.Contains(text, " "))
		directive := kind == token.COMMENT && (strings.HasPrefix(text, "//nolint") ||
			strings.HasPrefix(text, "//go:") || strings.HasPrefix(text, "//\t"))
		if raw || directive {
			for i := range strings.Count(text, "\n") + 1 {
				fixed[first+i] = true
			}
		}
	}
	for i, l := range lines {
		if columns(l) > maxColumns && !fixed[i] {
			found = append(found, i)
		}
	}
	return found
}

func TestWide(t *testing.T) {
	long := strings.Repeat("x", maxColumns)
	source := "package p\n" +
		"var a = `" + long + "`\n" +
		"var b = \"" + long + "\"\n" +
		"var c = \"one " + long + "\"\n" +
		"// a comment " + long + "\n" +
		"func " + long + "() {}\n"
	if got, want := wide([]byte(source)), []int{3, 4, 5}; !slices.Equal(got, want) {
		t.Errorf("got lines %v, want %v", got, want)
	}
}

// ours are the kinds of files that we write by hand beside Go and Markdown, without manifests, lock
// files, schemas of others, and templates of pages, in which a line break would be seen.
var ours = regexp.MustCompile(
	`\.(c|h|cpp|hpp|css|erl|eve|hrl|hs|java|js|py|rb|rs|sh|sql)$|^\.ci/run$`)

// TestLinesOfOtherLanguagesAreNarrow has no exceptions but what was copied from others.
func TestLinesOfOtherLanguagesAreNarrow(t *testing.T) {
	for _, f := range tracked(t) {
		if !ours.MatchString(f) || strings.Contains(f, "/testdata/") ||
			strings.Contains(f, "/uplot/") {
			continue
		}
		source, err := os.ReadFile(filepath.Join(root, f))
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range strings.Split(string(source), "\n") {
			if columns(l) > maxColumns {
				t.Errorf("%s:%d: more than %d columns", f, i+1, maxColumns)
			}
		}
	}
}

// TestLinesOfProseAreNarrow ignores lines that cannot be broken: tables, code, titles and HTML.
func TestLinesOfProseAreNarrow(t *testing.T) {
	for _, f := range tracked(t) {
		if filepath.Ext(f) != ".md" || strings.Contains(f, "/testdata/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, f))
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range wideProse(string(text)) {
			t.Errorf("%s:%d: more than %d columns", f, i+1, maxColumns)
		}
	}
}

func wideProse(text string) (found []int) {
	code := false
	for i, l := range strings.Split(text, "\n") {
		begins := strings.TrimSpace(l)
		if strings.HasPrefix(begins, "```") {
			code = !code
		}
		if code || columns(l) <= maxColumns || strings.HasPrefix(l, "    ") ||
			begins != "" && strings.Contains("|#<", begins[:1]) {
			continue
		}
		found = append(found, i)
	}
	return found
}

func TestWideProse(t *testing.T) {
	long := strings.Repeat("word ", maxColumns/5) + "word"
	text := "# " + long + "\n\n" + long + "\n- " + long + "\n| " + long + " |\n```\n" + long +
		"\n```\n" + long
	if got, want := wideProse(text), []int{2, 3, 8}; !slices.Equal(got, want) {
		t.Errorf("got lines %v, want %v", got, want)
	}
}
