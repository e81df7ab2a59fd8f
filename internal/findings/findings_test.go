package findings

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"interleave/internal/manifest"
	"interleave/internal/report"
	"interleave/internal/stats"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// home is the folder of the committed pages, seen from this one.
const home = "../../docs/findings"

// smallPages are those of the small run, with one paragraph that is true and one that is not.
func smallPages(t *testing.T) (*Figures, map[string]Why, map[string][]byte) {
	t.Helper()
	f := Of(smallRun(t, 1), nil)
	dir := t.TempDir()
	put(t, dir, "eve", "# Why: eve.txt\nmachine: 2 cores of AMD EPYC\n\n"+
		"## E2a\nwritten for: reproduced\nlooked with: strace -c\n\nNode *reads* once.\n\n"+
		"A second paragraph.\n\n## E2b, E8a\nwritten for: inconclusive\n\nIt is open.\n")
	whys, err := ReadWhys(dir, f)
	if err != nil {
		t.Fatal(err)
	}
	pages, err := Pages(Together(f), whys, Summary{}, "../..")
	if err != nil {
		t.Fatal(err)
	}
	return f, whys, pages
}

func put(t *testing.T, dir, source, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, WhyDir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, WhyDir, source+".md"), []byte(text),
		0o644); err != nil {
		t.Fatal(err)
	}
}

func TestGolden(t *testing.T) {
	f, _, pages := smallPages(t)
	other := Of(smallRun(t, 3), nil)
	other.Run, other.Machine.Cores = "20270101T000000Z", 8
	var text bytes.Buffer
	c := Compare(f, other)
	if err := c.Text(&text, 100); err != nil {
		t.Fatal(err)
	}
	pages["compare.txt"] = text.Bytes()
	golden(t, "testdata", pages)
}

// golden holds files against those of a folder.
func golden(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for name, got := range files {
		file := filepath.Join(dir, name)
		if *update {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs: look at it, then: go test ./internal/findings -update\ngot:\n%s",
				file, got)
		}
	}
}

var links = regexp.MustCompile(`\]\(([^)]+)\)`)

// checkLinks looks for what the links of pages lead to: pages, their headings, and files of the
// checkout.
func checkLinks(t *testing.T, pages map[string][]byte) {
	t.Helper()
	n := 0
	for name, text := range pages {
		if filepath.Ext(name) != ".md" {
			continue
		}
		for _, m := range links.FindAllStringSubmatch(string(text), -1) {
			n++
			file, heading, _ := strings.Cut(m[1], "#")
			if strings.Contains(file, "/") && pages[file] == nil {
				if strings.Contains(file, "://") {
					continue
				}
				if _, err := os.Stat(filepath.Join(home, file)); err != nil {
					t.Errorf("%s: %s leads to no file", name, m[1])
				}
				continue
			}
			page := string(pages[file])
			if file == "" {
				page = string(text)
			}
			if page == "" {
				t.Errorf("%s: %s leads to no page", name, m[1])
			}
			if heading != "" && !slices.ContainsFunc(strings.Split(page, "\n"),
				func(l string) bool {
					id, found := strings.CutPrefix(l, "### ")
					return found && anchor(id) == heading
				}) {
				t.Errorf("%s: %s leads to no heading", name, m[1])
			}
		}
	}
	if n == 0 {
		t.Error("the pages have no link")
	}
}

func TestLinksResolve(t *testing.T) {
	_, _, pages := smallPages(t)
	checkLinks(t, pages)
}

// real are the claims of this checkout, as a run that measured nothing has them.
func real(t *testing.T) (*manifest.Tree, *Figures) {
	t.Helper()
	tree, err := manifest.LoadTree("../..")
	if err != nil {
		t.Fatal(err)
	}
	return tree, Of(report.Run{}, tree)
}

func TestEveryClaimHasAPlace(t *testing.T) {
	tree, f := real(t)
	pages, err := Pages(Together(f), nil, Summary{}, "../..")
	if err != nil {
		t.Fatal(err)
	}
	checkLinks(t, pages)
	seen, shown := map[string]bool{}, map[string]string{}
	for _, e := range tree.Experiments {
		for _, c := range e.Claims {
			name := SourceOf(e)
			if rank(name) == len(papers) {
				t.Errorf("%s: %q is no source that has a page: add it to papers", e.Name, name)
			}
			if seen[name+c.ID] {
				t.Errorf("%s: another claim of %s is named %s", e.Name, name, c.ID)
			}
			seen[name+c.ID] = true
			id := f.id(Claim{Source: name, ID: c.ID})
			if other := shown[id]; other != "" {
				t.Errorf("the pages have two claims %s, of %s and of %s", id, other, name)
			}
			shown[id] = name
			if !strings.Contains(string(pages[name+".md"]), "\n### "+id+"\n") {
				t.Errorf("%s: claim %s has no place in %s.md", e.Name, c.ID, name)
			}
			if !strings.Contains(string(pages["README.md"]), "("+name+".md#"+anchor(id)+")") {
				t.Errorf("%s: README.md does not lead to claim %s", e.Name, c.ID)
			}
		}
	}
}

// TestCommitted holds the committed folder against what the command would write.
func TestCommitted(t *testing.T) {
	_, claims := real(t)
	if _, err := ReadWhys(home, claims); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(home, File)); os.IsNotExist(err) {
		return // the pages have not been made yet
	}
	set, err := ReadSet(home)
	if err != nil {
		t.Fatal(err)
	}
	whys, err := ReadWhys(home, set.Figures)
	if err != nil {
		t.Fatal(err)
	}
	summary, err := ReadSummary(home)
	if err != nil {
		t.Fatal(err)
	}
	pages, err := Pages(set, whys, summary, "../..")
	if err != nil {
		t.Fatal(err)
	}
	checkLinks(t, pages)
	if found, err := filepath.Glob(filepath.Join(home, "*.md")); err != nil ||
		len(found) != len(set.Sources)+1 {
		t.Errorf("%s has the pages %q, %v: its figures give %d and README.md", home, found, err,
			len(set.Sources))
	}
	for name, want := range pages {
		got, err := os.ReadFile(filepath.Join(home, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what its figures and paragraphs give: run `interleave findings`",
				filepath.Join(home, name))
		}
	}
}

// TestProseIsNarrow holds the pages against the rule of this tree, and looks for lines that became
// markup by being broken.
func TestProseIsNarrow(t *testing.T) {
	w := &writer{}
	w.prose("- ", "%s", strings.Repeat("word - word 1. word # word ", 30))
	lines := strings.Split(strings.TrimSuffix(w.b.String(), "\n"), "\n")
	for i, l := range lines {
		if len(l) > columns || i > 0 && begins.MatchString(strings.TrimSpace(l)) {
			t.Errorf("line %d: %s", i, l)
		}
	}
	if got := strings.Count(w.b.String(), "word"); got != 120 {
		t.Errorf("%d words are left of 120", got)
	}
	_, f := real(t)
	pages, err := Pages(Together(f), nil, Summary{}, "../..")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range pages {
		for i, l := range strings.Split(string(text), "\n") {
			if strings.HasSuffix(name, ".md") && len([]rune(l)) > columns &&
				!strings.ContainsAny(l[:1], "|#<") {
				t.Errorf("%s:%d: more than %d columns: %s", name, i+1, columns, l)
			}
		}
	}
}

func TestAChangedVerdictWarns(t *testing.T) {
	f, whys, pages := smallPages(t)
	page := string(pages["eve.md"])
	all := strings.Join(Warnings(Together(f), whys, Summary{}), "\n")
	for _, want := range []string{"eve.md:12: the paragraph on E8a: it was written for: " +
		"inconclusive; the verdict is now: reproduced", "2 of 5 claims have no paragraph"} {
		if !strings.Contains(all, want) {
			t.Errorf("the warnings are\n%s\nand do not have %q", all, want)
		}
	}
	if !strings.Contains(page, "(read with care: it was written for: inconclusive") {
		t.Error("the page does not say that the verdict has changed")
	}
	if strings.Contains(all, "paragraph on E2a") || strings.Contains(all, "paragraph on E2b") {
		t.Errorf("a paragraph whose verdict stands is warned of:\n%s", all)
	}
	f.Machine.Cores = 32
	if all := strings.Join(Warnings(Together(f), whys, Summary{}), "\n"); !strings.Contains(all,
		"on E2a: it was written on 2 cores of AMD EPYC; this run is of 32 cores of AMD EPYC") {
		t.Errorf("another machine does not warn:\n%s", all)
	}
}

func TestChoicesSayWhatIsLevel(t *testing.T) {
	f := Of(smallRun(t, 1), nil)
	groups := map[string]map[string]Standing{}
	for _, c := range f.Choices {
		groups[c.Need] = map[string]Standing{}
		for _, p := range c.Models {
			groups[c.Need][p.Model] = p.Group
		}
	}
	want := map[string]map[string]Standing{
		"throughput": {"c-uring": Level, "c-epoll": Level, "go-goroutine": Behind,
			"node-loop": Behind},
		"CPU": {"c-uring": Level, "c-epoll": Level, "go-goroutine": Behind,
			"node-loop": Behind},
		"lines": {"node-loop": Level, "go-goroutine": Behind, "c-uring": Behind,
			"c-epoll": Behind},
	}
	for need, models := range want {
		if !maps.Equal(groups[need], models) {
			t.Errorf("%s: got %v, want %v", need, groups[need], models)
		}
	}
	for _, s := range []struct {
		span Span
		want Standing
	}{{Span{1.05, .99, 1.09}, Level}, {Span{1.05, .99, 1.2}, Open}, {Span{1.3, 1.2, 1.4}, Behind},
		{Span{1.05, 1.02, 1.08}, Level}, {Span{2, 1, 3}, Open}, {none, Open}} {
		if got := s.span.standing(); got != s.want {
			t.Errorf("%v is %s, want %s", s.span, got, s.want)
		}
	}
}

// TestAMiscountedModelHasNoPlace: the run counted one file of a program that has two.
func TestAMiscountedModelHasNoPlace(t *testing.T) {
	run, now := smallRun(t, 1), smallTree(t, t.TempDir())
	node := now.Service("echo").Model("node-loop")
	for _, c := range []struct {
		source []string
		want   string
	}{
		{node.Source, "node-loop"},
		{[]string{"node-loop.c", "more.c"}, "go-goroutine"},
	} {
		node.Source = c.source
		i := slices.IndexFunc(Of(run, now).Choices, func(choice Choice) bool {
			return choice.Metric == manifest.Lines
		})
		if got := Of(run, now).Choices[i].Models[0].Model; got != c.want {
			t.Errorf("%v: %s has the fewest lines, want %s", c.source, got, c.want)
		}
	}
}

// TestAChoiceSaysOfHowManyModels: the best of two is not the best of seventeen.
func TestAChoiceSaysOfHowManyModels(t *testing.T) {
	c := Choice{Experiment: "eve-echo", Point: "latency", Condition: manifest.Own,
		Models: make([]Place, 2)}
	for models, want := range map[int]string{
		2:  "eve-echo, latency, own cores",
		17: "eve-echo, latency, own cores; only 2 of the 17 models",
	} {
		if got := where(c, models); got != want {
			t.Errorf("%d models: got %q, want %q", models, got, want)
		}
	}
}

func TestTheLimitOfSize(t *testing.T) {
	dir := t.TempDir()
	pages := map[string][]byte{"README.md": []byte("new")}
	if err := Write(dir, pages); err != nil {
		t.Fatal(err)
	}
	pages["README.md"] = []byte("newer")
	pages["eve.md"] = bytes.Repeat([]byte("x"), MaxBytes)
	if err := Write(dir, pages); err == nil || !strings.Contains(err.Error(), "limit") {
		t.Errorf("a megabyte and more: %v", err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "README.md")); string(got) != "new" {
		t.Errorf("the old page is %q, %v: nothing should have been written", got, err)
	}
	put(t, dir, "eve", strings.Repeat("x", MaxBytes+1))
	if err := Write(dir, map[string][]byte{"README.md": nil}); err == nil {
		t.Error("paragraphs are not counted")
	}
}

// TestTheLargestRunFits makes figures with a row for each model at each point of every experiment,
// in all conditions of the full depth and all metrics that the point's load shows.
func TestTheLargestRunFits(t *testing.T) {
	tree, f := real(t)
	rows := 0
	for _, e := range tree.Experiments {
		for _, condition := range e.Full.Conditions {
			for _, m := range metrics(e) {
				for _, p := range e.Points {
					if !p.Load.Shows(m) {
						continue
					}
					table := Table{Experiment: e.Name, Service: p.Service, Point: p.Name,
						Condition: condition, Metric: m, Baseline: e.Baseline}
					models := p.Models
					if len(models) == 0 {
						models = e.Models
					}
					for _, name := range models {
						table.Rows = append(table.Rows, Row{name, 123_400,
							Span{.9876, .9654, .9999}, 30})
					}
					rows += len(table.Rows)
					f.Tables = append(f.Tables, table)
				}
			}
		}
	}
	for i := range f.Claims {
		c := &f.Claims[i]
		c.Sentence = strings.Repeat("x", 300)
		for range 7 {
			c.Parts = append(c.Parts, Part{"connections = 1000", "ratio", stats.Inconclusive,
				Span{.9876, .9654, .9999}, Range{1.234, 1.234},
				Range{.8, 1.25}, 30, 2})
		}
	}
	whys, err := ReadWhys(home, f)
	if err != nil {
		t.Fatal(err)
	}
	pages, err := Pages(Together(f), whys, Summary{}, "../..")
	if err != nil {
		t.Fatal(err)
	}
	size, err := paragraphs(home)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range pages {
		size += int64(len(text))
	}
	if size > MaxBytes {
		t.Errorf("%d rows of the largest run take %d bytes, %d is the limit", rows, size, MaxBytes)
	}
	t.Logf("%d rows, %d bytes", rows, size)
}

func TestWordsOfClaims(t *testing.T) {
	f := Of(smallRun(t, 1), nil)
	want := map[string]stats.Word{"E2a": stats.Reproduced, "E2b": stats.Inconclusive,
		"E1c": stats.NotComparable, "E4a": stats.Reproduced, "E8a": stats.Reproduced}
	for _, c := range f.Claims {
		if c.Word != want[c.ID] {
			t.Errorf("%s is %s, want %s", c.ID, c.Word, want[c.ID])
		}
	}
	if f.Cells != (Counts{120, 117, 3, 0}) {
		t.Errorf("cells: %+v", f.Cells)
	}
}
