package packetdrill

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	scripts = flag.String("scripts", "", "the folder gtests/net/tcp of packetdrill")
	update  = flag.Bool("update", false, "rewrite the golden files")
)

const (
	// expected has a line for each public script: its result, its path, and why.
	expected = "testdata/expected.txt"
	// page is the page that says why scripts differ or do not apply.
	page = "../../docs/gonet/packetdrill.md"
)

// TestPublicScripts plays the scripts of packetdrill and compares the results with expected.txt.
func TestPublicScripts(t *testing.T) {
	if *scripts == "" {
		t.Skip("the public scripts are elsewhere: make packetdrill")
	}
	got := map[string]string{}
	root := os.DirFS(*scripts)
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".pkt" {
			return err
		}
		text, err := fs.ReadFile(root, path)
		if err == nil {
			got[path] = line(path, Run(string(text)))
		}
		return err
	})
	if err != nil || len(got) == 0 {
		t.Fatalf("%s: %d scripts, %v", *scripts, len(got), err)
	}
	counts := map[string]int{}
	for _, l := range got {
		result, _, _ := strings.Cut(l, "\t")
		counts[result]++
	}
	t.Logf("%d scripts: %v", len(got), counts)
	if *update {
		var text strings.Builder
		for _, path := range slices.Sorted(maps.Keys(got)) {
			text.WriteString(got[path] + "\n")
		}
		if err := os.WriteFile(expected, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := readExpected(t)
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if got[path] != want[path] {
			t.Errorf("%s: it is\n%s\nand was expected to be\n%s\n"+
				"make packetdrill UPDATE=1 rewrites %s", path, got[path], want[path], expected)
		}
		delete(got, path)
	}
	for path, l := range got {
		t.Errorf("%s: it is not in %s: %s", path, expected, l)
	}
}

// line returns the line of expected.txt for an outcome.
func line(path string, o Outcome) string {
	why := o.Why
	if o.Line > 0 {
		why = fmt.Sprintf("line %d: %s", o.Line, o.Why)
	}
	return strings.TrimRight(fmt.Sprintf("%v\t%s\t%s", o.Result, path, why), "\t")
}

// readExpected returns the lines of expected.txt by path.
func readExpected(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(expected)
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{}
	for l := range strings.Lines(string(text)) {
		l = strings.TrimSuffix(l, "\n")
		fields := strings.Split(l, "\t")
		if len(fields) < 2 {
			t.Fatalf("%s: not a line of it: %q", expected, l)
		}
		lines[fields[1]] = l
	}
	return lines
}

// TestThePageIsTrue holds docs/gonet/packetdrill.md against expected.txt: it counts the results,
// names each script that differs and no other, and each thing for want of which one does not apply.
func TestThePageIsTrue(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, m := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(string(text), -1) {
		named[m[1]] = true
	}
	counts := map[string]int{}
	lines := readExpected(t)
	for path, l := range lines {
		fields := strings.Split(l, "\t")
		counts[fields[0]]++
		switch {
		case named[path] != (fields[0] == "differs"):
			t.Errorf("%s: named on the page: %v; %s", path, named[path], l)
		case fields[0] == "not applicable" && !named[fields[2]]:
			t.Errorf("%s: the page says nothing of %s", path, fields[2])
		case fields[0] == "unread":
			t.Errorf("%s: %s", path, l)
		}
	}
	want := fmt.Sprintf("Of %d scripts %d pass, %d differ, and %d do not apply.", len(lines),
		counts["passed"], counts["differs"], counts["not applicable"])
	if !strings.Contains(string(text), want) {
		t.Errorf("%s: expected the words: %s", page, want)
	}
}
