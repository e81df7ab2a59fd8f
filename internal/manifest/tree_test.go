package manifest

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Each archive in testdata is a checkout; its section "want" is what loading it says.
func TestLoadTree(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives in testdata: %v", err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			root, tree, want := unpack(t, name)
			got := strings.ReplaceAll(describe(LoadTree(root)), root, "ROOT")
			if got == want {
				return
			}
			if !*update {
				t.Fatalf("got\n%s\nwant\n%s\nif that is right: go test ./internal/manifest -update",
					got, want)
			}
			if err := os.WriteFile(name, []byte(tree+wantMark+got), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// wantMark divides an archive: the files of a checkout, each after a line "-- name --", and what is
// wanted. It is the notation of txtar, without that package: it would bring golang.org/x/tools.
const wantMark = "-- want --\n"

// unpack writes an archive's files to a folder, root; it returns the archive in two parts too.
func unpack(t *testing.T, archive string) (root, tree, want string) {
	t.Helper()
	data, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	tree, want, ok := strings.Cut(string(data), wantMark)
	if !ok {
		t.Fatalf("%s has no line %q", archive, wantMark)
	}
	root = t.TempDir()
	files := strings.Split("\n"+tree, "\n-- ")
	for _, f := range files[1:] { // what stands before the first file is a comment
		name, text, _ := strings.Cut(f, " --\n")
		path := filepath.Join(root, filepath.FromSlash(strings.TrimSuffix(name, " --")))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root, tree, want
}

// describe is the error, or the names of what was loaded.
func describe(tree *Tree, err error) string {
	if err != nil {
		return err.Error() + "\n"
	}
	var b strings.Builder
	for _, s := range tree.Services {
		for _, m := range s.Models {
			b.WriteString(s.Name + "/" + m.Name + " " + strings.Join(m.Source, " ") + "\n")
		}
	}
	for _, e := range tree.Experiments {
		b.WriteString(e.Name + ", missing: " + strings.Join(e.Missing(tree), " ") + "\n")
	}
	return b.String()
}

// Every error that Load joins names a file and, where there is one, a line of it.
func TestLoadTreeErrorsAreTyped(t *testing.T) {
	root, _, _ := unpack(t, "testdata/many-mistakes.txtar")
	_, err := LoadTree(root)
	count := 0
	eachError(err, func(err error) {
		count++
		if e := (*Error)(nil); !errors.As(err, &e) || e.File == "" || filepath.IsAbs(e.File) {
			t.Errorf("%v is no *Error with a file of the tree", err)
		}
	})
	if count < 3 {
		t.Errorf("got %d errors, want all of them", count)
	}
}

// eachError visits the leaves of joined errors.
func eachError(err error, visit func(error)) {
	if err == nil {
		return
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			eachError(e, visit)
		}
		return
	}
	visit(err)
}

func TestLoadTreeNotThere(t *testing.T) {
	if _, err := LoadTree(filepath.Join(t.TempDir(), "gone")); err == nil ||
		!strings.Contains(err.Error(), "services: no service in it") {
		t.Errorf("got %v", err)
	}
}

func TestLoadTreeTooLarge(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "services", "echo")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "service.toml"), make([]byte, largest+1),
		0o644); err != nil {
		t.Fatal(err)
	}
	_, err := LoadTree(root)
	checkError(t, err,
		"services/echo/service.toml: has 1048577 bytes: a manifest has at most 1048576")
}

// The checkout itself loads, its experiments' claims are about something, and the three services
// have the protocols that they are named after.
func TestThisTree(t *testing.T) {
	tree, err := LoadTree("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"echo", "counter", "sink"} {
		if s := tree.Service(name); s == nil || s.Protocol != name ||
			s.Model("go-goroutine") == nil {
			t.Errorf("service %s: got %+v", name, s)
		}
	}
	for _, name := range []string{"papayachat-cpu", "eve-echo", "eve-counter"} {
		e := tree.Experiment(name)
		if e == nil || len(e.Claims) == 0 || len(e.Setup) == 0 {
			t.Errorf("experiment %s: got %+v", name, e)
			continue
		}
		for _, m := range e.Missing(tree) {
			if !strings.HasSuffix(m, "/eve-task") {
				t.Errorf("%s waits for %s: only Eve is to come", name, m)
			}
		}
	}
	if tree.Service("ecko") != nil || tree.Experiment("eve") != nil ||
		tree.Service("echo").Model("c") != nil {
		t.Error("something was found that is not there")
	}
	for _, s := range tree.Services {
		for _, m := range s.Models {
			if n, err := m.Lines(); n == 0 || err != nil {
				t.Errorf("%s/%s has %d lines, %v", s.Name, m.Name, n, err)
			}
		}
	}
}

// docs/models.md has a row for each word and for no other.
func TestWordsAreExplained(t *testing.T) {
	page, err := os.ReadFile("../../docs/models.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(string(page)) {
		if cell, ok := strings.CutPrefix(line, "| `"); ok {
			word, _, _ := strings.Cut(cell, "`")
			rows = append(rows, word)
		}
	}
	if got, want := strings.Join(rows, " "), strings.Join(Words, " "); got != want {
		t.Errorf("docs/models.md explains %s, the words are %s", got, want)
	}
}

// TestEveryModelIsMeasured: a server that no experiment names would be built and tested in vain.
func TestEveryModelIsMeasured(t *testing.T) {
	tree, err := LoadTree("../..")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, e := range tree.Experiments {
		for _, m := range e.Models {
			named[e.Service+"/"+m] = true
		}
		for _, p := range e.Points {
			for _, m := range e.ModelsAt(p) {
				named[p.Service+"/"+m] = true
			}
		}
	}
	models := 0
	for _, s := range tree.Services {
		for _, m := range s.Models {
			models++
			if !named[s.Name+"/"+m.Name] {
				t.Errorf("no experiment names %s/%s", s.Name, m.Name)
			}
		}
	}
	if models < 100 {
		t.Errorf("the tree has %d models, of which it has more", models)
	}
}

// TestEachSourceHasAHeadline holds that a budget knows which claim of each source comes first.
func TestEachSourceHasAHeadline(t *testing.T) {
	tree, err := LoadTree("../..")
	if err != nil {
		t.Fatal(err)
	}
	headlines := map[string][]string{}
	for _, e := range tree.Experiments {
		for _, c := range e.Claims {
			if c.Headline {
				headlines[e.Paper()] = append(headlines[e.Paper()], c.ID)
			}
		}
	}
	for _, source := range []string{"papayachat.txt", "go-c10k.txt", "eve.txt", "gonet.txt",
		"threads-fibers.txt"} {
		if n := len(headlines[source]); n != 1 {
			t.Errorf("%s has the headlines %q, want one", source, headlines[source])
		}
		delete(headlines, source)
	}
	for source, claims := range headlines {
		t.Errorf("%s, which is no source, has the headlines %q", source, claims)
	}
}
