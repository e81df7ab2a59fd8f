package compile

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"interleave/eve/diag"
	"interleave/eve/source"
	"interleave/eve/syntax"
)

const examples = "../../docs/eve/examples"

// tenPrograms are those that judge the language: services and tools, tested with real clients.
var tenPrograms = []string{"api", "balance", "follow", "hammer", "jobs", "redis", "shortener",
	"site", "thumbnailer", "webchat"}

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
	mistakes     []mistake
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
				c.mistakes = append(c.mistakes, mistakesWith(string(text), list)...)
			}
			return true
		})
	if diags.HasErrors() {
		t.Fatalf("%s: %v", name, diags.Sorted())
	}
	return c
}

// A mistake is a program with another list in one place.
type mistake struct {
	place string // "line 71: [+a] is [a]"
	text  string
}

// mistakesWith returns the program with mistakes in one of its lists: an object that is read or
// changed is left out, or an object that is changed is asked for to read. In a language with locks
// each would be a data race: the lock is not taken, or only for reading. The self of a method is no
// object that tasks share.
func mistakesWith(text string, list *syntax.Perms) (all []mistake) {
	with := func(change func(e *syntax.Perm) string) {
		for _, wrong := range list.Entries {
			var left []string
			for _, e := range list.Entries {
				said := e.Span.Text()
				if e == wrong {
					said = change(e)
				}
				if said != "" {
					left = append(left, said)
				}
			}
			if len(left) != len(list.Entries) || change(wrong) != wrong.Span.Text() {
				now := "[" + strings.Join(left, ", ") + "]"
				all = append(all, mistake{
					fmt.Sprintf("line %d: %s is %s", list.Span.Line(), list.Span.Text(), now),
					text[:list.Span.Start] + now + text[list.Span.End:]})
			}
		}
	}
	with(func(e *syntax.Perm) string {
		if (e.Sign == '+' || e.Sign == 0) && e.Name != nil && e.Name.Text != "self" {
			return ""
		}
		return e.Span.Text()
	})
	with(func(e *syntax.Perm) string {
		if e.Name != nil && e.Name.Text == "self" {
			return e.Span.Text()
		}
		return strings.TrimPrefix(e.Span.Text(), "+")
	})
	return all
}

// The page's table has the ten programs, and says what is so. Each mistake with their lists is an
// error of compilation.
func TestListsAreCounted(t *testing.T) {
	page := listsPage(t)
	lines, lists, entries, programs, mistakes := 0, 0, 0, 0, 0
	for _, program := range tenPrograms {
		name := program + ".eve"
		c := tally(t, name)
		row := fmt.Sprintf("| [%s](examples/%s) | %d | %d | %d | %d | %d | %d | %d |\n", program,
			name, c.lines, c.lists, c.signs['+'], c.signs[0], c.signs['-'], c.signs['='],
			len(c.mistakes))
		if !strings.Contains(page, row) {
			t.Errorf("docs/eve/lists.md lacks the row\n%s", row)
		}
		for _, m := range c.mistakes {
			_, all := Check(source.NewFile(name, m.text), nil)
			if !slices.ContainsFunc(all,
				func(d diag.Diagnostic) bool { return d.Code.IsError() }) {
				t.Errorf("%s is accepted where %s", name, m.place)
			}
		}
		programs, lines, lists = programs+1, lines+c.lines, lists+c.lists
		mistakes += len(c.mistakes)
		for _, n := range c.signs {
			entries += n
		}
	}
	for _, sum := range []string{
		fmt.Sprintf("In all %d programs there are %d lists with %d entries, in %d lines: a "+
			"list in every %.1f lines, and %.1f entries in a list.", programs, lists, entries,
			lines, float64(lines)/float64(lists), float64(entries)/float64(lists)),
		fmt.Sprintf("All %d are errors of compilation.", mistakes),
	} {
		if !strings.Contains(strings.Join(strings.Fields(page), " "), sum) {
			t.Errorf("docs/eve/lists.md lacks the sum\n%s", sum)
		}
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
