package compile

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"interleave/eve/diag"
	"interleave/eve/source"
	"interleave/eve/syntax"
)

const examples = "../../docs/eve/examples"

// listsPage is the page that counts the lists of the examples.
func listsPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/eve/lists.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A tallied program: its lines with code, its lists, and their entries by sign.
type tallied struct {
	lines, lists int
	signs        map[byte]int
}

func tally(t *testing.T, name string) tallied {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(examples, name))
	if err != nil {
		t.Fatal(err)
	}
	c := tallied{signs: map[byte]int{}}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			c.lines++
		}
	}
	var diags diag.List
	syntax.Walk(syntax.Parse(source.NewFile(name, string(text)), &diags),
		func(n syntax.Node) bool {
			if list, ok := n.(*syntax.Perms); ok {
				c.lists++
				for _, e := range list.Entries {
					c.signs[e.Sign]++
				}
			}
			return true
		})
	if diags.HasErrors() {
		t.Fatalf("%s: %v", name, diags.Sorted())
	}
	return c
}

// The page's table has every long example, and says what is so.
func TestListsAreCounted(t *testing.T) {
	page := listsPage(t)
	files, err := filepath.Glob(filepath.Join(examples, "*.eve"))
	if err != nil {
		t.Fatal(err)
	}
	lines, lists, entries, programs := 0, 0, 0, 0
	for _, file := range files {
		name := filepath.Base(file)
		c := tally(t, name)
		if c.lines <= 100 {
			continue
		}
		row := fmt.Sprintf("| [%s](examples/%s) | %d | %d | %d | %d | %d | %d |\n",
			strings.TrimSuffix(name, ".eve"), name, c.lines, c.lists, c.signs['+'], c.signs[0],
			c.signs['-'], c.signs['='])
		if !strings.Contains(page, row) {
			t.Errorf("docs/eve/lists.md lacks the row\n%s", row)
		}
		programs, lines, lists = programs+1, lines+c.lines, lists+c.lists
		for _, n := range c.signs {
			entries += n
		}
	}
	sum := fmt.Sprintf("In all %d programs there are %d lists with %d entries, in %d lines: a "+
		"list in every %.1f lines, and %.1f entries in a list.", programs, lists, entries, lines,
		float64(lines)/float64(lists), float64(entries)/float64(lists))
	if !strings.Contains(strings.Join(strings.Fields(page), " "), sum) {
		t.Errorf("docs/eve/lists.md lacks the sum\n%s", sum)
	}
}

// Each mistake of the page is an error of compilation, with the text that the page shows, and the
// program without it has no diagnostic.
func TestMistakesWithLists(t *testing.T) {
	parts := strings.Split(listsPage(t), "```mistake ")[1:]
	if len(parts) != 3 {
		t.Fatalf("the page has %d mistakes, want 3", len(parts))
	}
	for _, part := range parts {
		name, rest, _ := strings.Cut(part, "\n")
		change, rest, _ := strings.Cut(rest, "```\n")
		from, to, _ := strings.Cut(change, "---\n")
		_, want, _ := strings.Cut(rest, "```error\n")
		want, _, _ = strings.Cut(want, "\n")
		text, err := os.ReadFile(filepath.Join(examples, name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(text), from) != 1 {
			t.Fatalf("%s has no %q, or more than one", name, from)
		}
		diagnostics := func(text string) (said []string) {
			_, all := Check(source.NewFile(name, text), nil)
			for _, d := range all {
				kind := "error"
				if strings.HasPrefix(string(d.Code), "W") {
					kind = "warning"
				}
				said = append(said, fmt.Sprintf("%s[%s]: %s", kind, d.Code, d.Message))
			}
			return said
		}
		if said := diagnostics(string(text)); len(said) > 0 {
			t.Errorf("%s as it is: %q", name, said)
		}
		said := diagnostics(strings.Replace(string(text), from, to, 1))
		if len(said) != 1 || said[0] != want {
			t.Errorf("%s with the mistake: %q, want %q", name, said, want)
		}
	}
}

// Each program of the page in Go compiles, passes go vet, and races.
func TestMistakesInGo(t *testing.T) {
	parts := strings.Split(listsPage(t), "```go\n")[1:]
	if len(parts) != 3 {
		t.Fatalf("the page has %d programs in Go, want 3", len(parts))
	}
	for i, part := range parts {
		text, _, _ := strings.Cut(part, "```\n")
		dir := t.TempDir()
		for name, text := range map[string]string{"main.go": text,
			"go.mod": "module mistake\n\ngo 1.26\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		run := func(words ...string) (string, error) {
			cmd := exec.CommandContext(t.Context(), "go", words...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "GOFLAGS=-mod=mod", "GOWORK=off")
			out, err := cmd.CombinedOutput()
			return string(out), err
		}
		if out, err := run("vet", "."); err != nil {
			t.Errorf("program %d: go vet: %v\n%s", i+1, err, out)
		}
		if out, err := run("run", "-race", "."); err == nil ||
			!bytes.Contains([]byte(out), []byte("WARNING: DATA RACE")) {
			t.Errorf("program %d does not race: %v\n%s", i+1, err, out)
		}
	}
}
