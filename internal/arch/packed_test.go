package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	packer   = regexp.MustCompile(`(?ms)^pages\(\) \{.*?^\}\n`)
	mdLink   = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	mdCode   = regexp.MustCompile("(?s)`[^`]*`")
	mdIndent = regexp.MustCompile(`(?m)^(\t|    ).*$`)
	heading  = regexp.MustCompile(`(?m)^#+ +(.*)$`)
)

// packedPages returns the pages that release.sh puts beside papaya, by their names. The Debian
// package has the licence, the unit and the manual in other places.
func packedPages(t *testing.T) map[string]string {
	t.Helper()
	script, err := os.ReadFile(filepath.Join(root, "release.sh"))
	if err != nil {
		t.Fatal(err)
	}
	function := packer.FindString(string(script))
	if function == "" {
		t.Fatal("release.sh has no function pages")
	}
	dir := filepath.Join(t.TempDir(), "papaya")
	c := exec.Command("bash", "-c", "set -euo pipefail\n"+function+`pages papaya "$1"`, "bash", dir)
	c.Dir = root
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("pages papaya: %v\n%s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil || len(files) < 10 {
		t.Fatalf("there are %d pages, %v", len(files), err)
	}
	pages := map[string]string{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		pages[filepath.Base(f)] = string(text)
	}
	return pages
}

// anchors returns what links of a page may name: its headings, as GitHub makes them.
func anchors(page string) map[string]bool {
	all := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		all[strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, m[1])] = true
	}
	return all
}

// deadLinks returns the links of pages that lead to nothing of them: neither to one of the pages,
// nor to a heading there, nor into the web.
func deadLinks(pages map[string]string) (dead []string) {
	for name, page := range pages {
		page = mdCode.ReplaceAllString(mdIndent.ReplaceAllString(page, ""), "")
		for _, m := range mdLink.FindAllStringSubmatch(page, -1) {
			target, anchor, some := strings.Cut(m[1], "#")
			if strings.HasPrefix(target, "https://") {
				continue
			}
			if target == "" {
				target = name
			}
			to, there := pages[target]
			if !there || some && !anchors(to)[anchor] {
				dead = append(dead, name+": "+m[1])
			}
		}
	}
	return dead
}

// TestPackedPages: the pages of Papaya stand alone in its packages, with its own list of changes.
func TestPackedPages(t *testing.T) {
	pages := packedPages(t)
	for _, dead := range deadLinks(pages) {
		t.Errorf("%s leads to nothing in the package", dead)
	}
	changes := pages["CHANGES.md"]
	if !strings.HasPrefix(changes, "# ") || !strings.Contains(changes, "\n## ") ||
		!strings.Contains(changes, "\n- Papaya") || strings.Contains(changes, "\n- Eve") {
		t.Errorf("the changes begin with %.200q", changes)
	}
}

// TestDeadLinks: each kind of link that leads to nothing is found, and no other.
func TestDeadLinks(t *testing.T) {
	pages := map[string]string{"a.md": "# A page\n[b](b.md), [c](b.md#two-words), [d](#a-page), " +
		"[e](https://example.org/x.md), `[code](gone.md)`\n\n    [code](gone.md)\n",
		"b.md": "## Two `words`\n"}
	if dead := deadLinks(pages); dead != nil {
		t.Errorf("found are %q", dead)
	}
	for _, link := range []string{"gone.md", "../b.md", "b.md#three", "#b", "man/papaya.1"} {
		pages["a.md"] = "[over two\nlines](" + link + ")"
		if dead := deadLinks(pages); len(dead) != 1 || dead[0] != "a.md: "+link {
			t.Errorf("%s: found are %q", link, dead)
		}
	}
}
