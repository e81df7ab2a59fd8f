package netstack

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// wireguardFolder returns where the go command keeps wireguard-go.
func wireguardFolder(t *testing.T) string {
	t.Helper()
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.zx2c4.com/wireguard")
	module, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(module))
}

// TestTheReadmeIsTrue holds that its blocks of Go are in an example, where they are indented.
func TestTheReadmeIsTrue(t *testing.T) {
	page, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	for _, block := range blocks {
		lines := strings.Split(strings.TrimSuffix(block[1], "\n"), "\n")
		if !strings.Contains(string(compiled), "\t"+strings.Join(lines, "\n\t")+"\n") {
			t.Errorf("no example has this:\n%s", block[1])
		}
	}
	if len(blocks) == 0 {
		t.Error("the page has no Go")
	}
}

// TestTheirTestsUseNoStack holds what the README says of wireguard-go's own tests: none of them
// imports its package netstack, so there is none to be run with ours.
func TestTheirTestsUseNoStack(t *testing.T) {
	module, tests := wireguardFolder(t), 0
	err := filepath.WalkDir(module, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		tests++
		text, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(text), "wireguard/tun/netstack") {
			t.Errorf("%s uses the stack: run it with ours, and say so in the README", path)
		}
		return err
	})
	if err != nil || tests < 10 {
		t.Errorf("%d tests, %v", tests, err)
	}
}
