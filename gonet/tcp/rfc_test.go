package tcp

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// rfcPage is the page that names a test for each requirement.
const rfcPage = "../../docs/gonet/rfc.md"

// lastMust is the highest number of a MUST of RFC 9293.
const lastMust = 69

func TestThePageOfRFCsIsTrue(t *testing.T) {
	text, err := os.ReadFile(rfcPage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	tests := testNames(t)
	named := map[string]bool{}
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(page, -1) {
		name := m[1]
		named[name] = true
		switch {
		case strings.HasSuffix(name, ".pkt"):
			if _, err := os.Stat(filepath.Join("testdata", name)); err != nil {
				t.Errorf("%s names %s: %v", rfcPage, name, err)
			}
		case strings.HasPrefix(name, "Test"), strings.HasPrefix(name, "Fuzz"):
			if !tests[name] {
				t.Errorf("%s names %s, which no test of gonet is called", rfcPage, name)
			}
		}
	}
	files, err := filepath.Glob("testdata/*.pkt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		if !named[filepath.Base(file)] {
			t.Errorf("%s is named nowhere in %s", file, rfcPage)
		}
	}
	musts := map[int]bool{}
	for i, line := range strings.Split(page, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			continue
		}
		if strings.TrimSpace(cells[3]) == "" {
			t.Errorf("%s:%d: nothing is said of what holds it", rfcPage, i+1)
		}
		if list, ok := strings.CutPrefix(strings.TrimSpace(cells[1]), "MUST-"); ok {
			for _, number := range strings.Split(list, ", ") {
				n, err := strconv.Atoi(number)
				if err != nil {
					t.Errorf("%s:%d: %v", rfcPage, i+1, err)
				}
				musts[n] = true
			}
		}
	}
	for n := 1; n <= lastMust; n++ {
		if !musts[n] {
			t.Errorf("%s says nothing of MUST-%d", rfcPage, n)
		}
	}
}

// testNames returns the names of all tests and fuzz targets of gonet.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	for _, pattern := range []string{"../*_test.go", "../*/*_test.go", "../*/*/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(fmt.Errorf("reading tests: %w", err))
			}
			for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
				names[m[1]] = true
			}
		}
	}
	return names
}
