package gonet

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// readFiles returns the text of the files that match a pattern.
func readFiles(t *testing.T, pattern string) (text string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no files, %v", pattern, err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text += string(b)
	}
	return text
}

// TestThePageOfGVisorIsTrue holds that each block of Go on the page is in a file that is compiled:
// an example of GoNet, or a server on gVisor.
func TestThePageOfGVisorIsTrue(t *testing.T) {
	checkBlocks(t, "../docs/gonet/gvisor.md", 6, readFiles(t, "example_gvisor_test.go")+
		readFiles(t, "../services/transfer/go-goroutine-gvisor/*.go"))
}

// TestTheReadmesAreTrue holds the same of the README files of GoNet's modules that this module can
// see. That of gonet/wireguard has a test there.
func TestTheReadmesAreTrue(t *testing.T) {
	checkBlocks(t, "README.md", 1, readFiles(t, "example_test.go"))
	checkBlocks(t, "wintun/README.md", 1, readFiles(t, "wintun/example_windows_test.go"))
}

// checkBlocks holds that each block of Go on a page is in a text that is compiled, as it stands or
// with the indentation of a function.
func checkBlocks(t *testing.T, page string, least int, compiled string) {
	t.Helper()
	text := readFiles(t, page)
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(text, -1)
	for _, block := range blocks {
		lines := strings.Split(strings.TrimSuffix(block[1], "\n"), "\n")
		if !strings.Contains(compiled, block[1]) &&
			!strings.Contains(compiled, "\t"+strings.Join(lines, "\n\t")+"\n") {
			t.Errorf("%s: no file has this:\n%s", page, block[1])
		}
	}
	if len(blocks) < least {
		t.Errorf("%s has %d blocks", page, len(blocks))
	}
}

// TestThePageOfCostsIsTrue holds that each benchmark of cost_test.go is on the page, and that each
// test and benchmark on the page exists.
func TestThePageOfCostsIsTrue(t *testing.T) {
	page := readFiles(t, "../docs/gonet/cost.md")
	declared := map[string]bool{}
	name := regexp.MustCompile(`(?m)^func (\w+)\(\w+ \*testing`)
	for _, m := range name.FindAllStringSubmatch(readFiles(t, "*_test.go")+
		readFiles(t, "tcp/*_test.go"), -1) {
		declared[m[1]] = true
	}
	named := regexp.MustCompile("`((Test|Benchmark)\\w+)`")
	for _, n := range named.FindAllStringSubmatch(page, -1) {
		if n[1] != "TestAttack" && !declared[n[1]] {
			t.Errorf("the page names %s, which does not exist", n[1])
		}
	}
	for _, m := range name.FindAllStringSubmatch(readFiles(t, "cost_test.go"), -1) {
		if strings.HasPrefix(m[1], "Benchmark") && !strings.Contains(page, "`"+m[1]+"`") {
			t.Errorf("the page does not name %s", m[1])
		}
	}
}
