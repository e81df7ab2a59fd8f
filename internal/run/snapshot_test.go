package run

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/record"
)

// TestTheCopyIsTheTree snapshots this checkout: the copy must load to what was copied.
func TestTheCopyIsTheTree(t *testing.T) {
	tree, err := manifest.LoadTree("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := snapshot(tree, tree.Experiments[:1], dir); err != nil {
		t.Fatal(err)
	}
	again, err := manifest.LoadTree(filepath.Join(dir, record.TreeDir))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := again.Experiment(tree.Experiments[0].Name), tree.Experiments[0]; !same(got,
		want) {
		t.Errorf("the experiment became\n%+v\nfrom\n%+v", got, want)
	}
	if len(again.Experiments) != 1 {
		t.Errorf("%d experiments were copied, want the one that is measured",
			len(again.Experiments))
	}
	for _, s := range tree.Services {
		for _, m := range s.Models {
			copied := again.Service(s.Name).Model(m.Name)
			if copied == nil {
				t.Errorf("%s/%s was not copied", s.Name, m.Name)
				continue
			}
			moved := *m
			moved.Dir = copied.Dir
			if !reflect.DeepEqual(copied, &moved) {
				t.Errorf("%s/%s became\n%+v\nfrom\n%+v", s.Name, m.Name, copied, &moved)
			}
			if lines := linesOfBoth(m, copied); lines[0] != lines[1] {
				t.Errorf("%s/%s has %d lines in the copy, %d here", s.Name, m.Name, lines[1],
					lines[0])
			}
		}
	}
}

// linesOfBoth counts the lines of a model and of its copy.
func linesOfBoth(a, b *manifest.Model) (out [2]int) {
	out[0], _ = a.Lines()
	out[1], _ = b.Lines()
	return out
}

// same compares experiments as they print: an empty list is as good as none, and points beside a
// sweep have an X that equals nothing. Manifests read white space as people do.
func same(a, b *manifest.Experiment) bool {
	plain := func(e manifest.Experiment) string {
		e.File, e.Question = "", strings.Join(strings.Fields(e.Question), " ")
		return fmt.Sprintf("%+v", e)
	}
	return plain(*a) == plain(*b)
}

// TestAnExperimentWithoutAFileGetsOne writes experiments as `interleave bench` makes them, and
// reads them back.
func TestAnExperimentWithoutAFileGetsOne(t *testing.T) {
	loads := []struct {
		service string
		load    manifest.Load
	}{
		{"echo", manifest.Load{Shape: manifest.Closed, Connections: 64, SizeBytes: 16,
			Pipeline: 1}},
		{"echo", manifest.Load{Shape: manifest.Open, Connections: 1000, SizeBytes: 1 << 20,
			Pipeline: 1, Rate: 123456.5, Gaps: "constant"}},
		{"echo", manifest.Load{Shape: manifest.Connect, Connections: 1, SizeBytes: 1, Pipeline: 1}},
		{"counter", manifest.Load{Shape: manifest.Closed, Connections: 8, SizeBytes: 1, Pipeline: 1,
			ReadShare: .25}},
		{"counter", manifest.Load{Shape: manifest.Closed, Connections: 8, SizeBytes: 1,
			Pipeline: 1}},
		{"sink", manifest.Load{Shape: manifest.Paced, Connections: 8, SizeBytes: 1250, Pipeline: 1,
			Bits: 1e6}},
	}
	words := []string{
		"./server {port}", `sh -c "exec './x' $1" {port}`, `C:\dir\n`,
		"a\ttab, a\nline, a bell \a, an escape \x1b[1m, DEL \x7f", "ä — 漢字 \U0001F600",
		"<html> & such", "\u2028",
	}
	tree, err := manifest.LoadTree("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range loads {
		part := *tree // an experiment needs the servers of its service only
		part.Services = slices.DeleteFunc(slices.Clone(tree.Services),
			func(s *manifest.Service) bool { return s.Name != l.service })
		for _, command := range words {
			e := benched(l.service, l.load, command)
			dir := t.TempDir()
			if err := snapshot(&part, []*manifest.Experiment{e}, dir); err != nil {
				t.Fatal(err)
			}
			again, err := manifest.LoadTree(filepath.Join(dir, record.TreeDir))
			if err != nil {
				t.Errorf("%s, %q: %v", l.load.Shape, command, err)
				continue
			}
			if got := again.Experiment("bench"); !same(got, e) {
				t.Errorf("%s, %q: became\n%+v\nfrom\n%+v", l.load.Shape, command, got, e)
			}
		}
	}
}

// benched is an experiment as the command line makes it.
func benched(service string, l manifest.Load, command string) *manifest.Experiment {
	depth := manifest.Depth{
		Rounds: 6, MaxRounds: 6, WarmUp: time.Second / 2, Window: 1500 * time.Millisecond,
		Sample:     75 * time.Millisecond,
		Conditions: []manifest.Condition{manifest.Shared},
	}
	return &manifest.Experiment{
		Name: "bench", Title: "Your server beside ours", Source: "interleave bench",
		Question: "How does `" + command + "` stand?",
		Expect:   "nothing: it is measured for the first time", Setup: []string{}, Service: service,
		Models: []string{"c-epoll", "go-goroutine", "own-server"}, Baseline: "c-epoll",
		Metrics: []manifest.Metric{manifest.CPUPerRequest, manifest.PSS}, Load: l,
		Points: []manifest.Point{{Name: "64 connections", X: math.NaN(), Service: service,
			Load: l}},
		Quick: depth, Normal: depth, Full: depth,
	}
}

func TestAddOwn(t *testing.T) {
	tree := madeTree()
	AddOwn(tree, nil)
	own := &record.Own{Service: "echo", Name: "mine", Summary: "your own",
		Command: []string{"./x", "{port}"}, Dir: "/somewhere"}
	AddOwn(tree, own)
	AddOwn(tree, own)
	AddOwn(tree, &record.Own{Service: "none", Name: "mine"})
	models := tree.Services[0].Models
	if len(models) != 4 {
		t.Fatalf("%d models, want 4", len(models))
	}
	m := models[3]
	if m.Name != "mine" || m.Ready != manifest.ReadyConnect || m.Dir != "/somewhere" ||
		!reflect.DeepEqual(m.Run, own.Command) {
		t.Errorf("the server became %+v", m)
	}
}

// TestARunGoesOnWithWhatItBeganWith changes a checkout under an interrupted run.
func TestARunGoesOnWithWhatItBeganWith(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	model := "language = \"c\"\nmodel = \"loop\"\nsummary = \"one loop for all.\"\nneeds = " +
		"[\"cc\"]\nrun = [\"{out}/echo\", \"{port}\"]\n"
	write("services/echo/service.toml",
		"title = \"Echo\"\nsummary = \"what comes goes back.\"\nprotocol = \"echo\"\n")
	for _, name := range []string{"c-epoll", "c-libev"} {
		write("services/echo/"+name+"/model.toml", model)
		write("services/echo/"+name+"/echo.c", "int main(void) { return 0; }\n")
	}
	load := func() (*manifest.Tree, []*manifest.Model) {
		t.Helper()
		tree, err := manifest.LoadTree(root)
		if err != nil {
			t.Fatal(err)
		}
		return tree, tree.Service("echo").Models
	}
	tree, models := load()
	dir := t.TempDir()
	if err := snapshot(tree, nil, dir); err != nil {
		t.Fatal(err)
	}
	if err := unchanged(tree, nil, models, dir); err != nil {
		t.Errorf("nothing changed: %v", err)
	}
	write("services/echo/c-libev/echo.c", "int main(void) { return 1; }\n")
	if err := unchanged(tree, nil, models[:1], dir); err != nil {
		t.Errorf("a model that is not measured changed: %v", err)
	}
	err := unchanged(tree, nil, models, dir)
	if err == nil || !strings.Contains(err.Error(), "services/echo/c-libev/echo.c has changed") {
		t.Errorf("got %v, want the name of the changed file", err)
	}
	write("services/echo/c-libev-percore/model.toml", model)
	write("services/echo/c-libev-percore/echo.c", "int main(void) { return 0; }\n")
	tree, models = load()
	err = unchanged(tree, nil, models[2:], dir)
	if err == nil || !strings.Contains(err.Error(),
		"services/echo/c-libev-percore/model.toml is new") {
		t.Errorf("got %v, want the name of the new file", err)
	}
}
