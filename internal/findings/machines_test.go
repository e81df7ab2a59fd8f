package findings

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/stats"
)

// xeon is the small run on another machine, where Node answers three times as many requests. Its
// experiment of counters has a claim that the first machine's figures lack.
func xeon(t *testing.T, first *Figures) Other {
	t.Helper()
	run := smallRun(t, 3)
	run.Header.ID, run.Header.Machine.CPU = "20261127T020000Z", "Intel Xeon"
	run.Header.Started = time.Date(2026, 11, 27, 2, 0, 0, 0, time.UTC)
	end := run.Header.Started.Add(time.Hour)
	run.Header.Finished = &end
	kept, left := Of(run, nil).Beside(first, run.Tree)
	if len(left) > 0 {
		t.Errorf("left out: %q", left)
	}
	i := slices.IndexFunc(kept.Claims, func(c Claim) bool { return c.ID == "E8a" })
	more := kept.Claims[i]
	more.ID, more.Says = "E8b", "Go answers less, again."
	kept.Claims = append(kept.Claims, more)
	return Other{"xeon", kept}
}

// twoMachines are the small run and another one beside it.
func twoMachines(t *testing.T) *Set {
	t.Helper()
	first := Of(smallRun(t, 1), nil)
	return Together(first, xeon(t, first))
}

func TestPagesOfTwoMachines(t *testing.T) {
	set := twoMachines(t)
	dir := t.TempDir()
	put(t, dir, "eve", "# Why: eve.txt\nmachine: 2 cores of AMD EPYC\n\n"+
		"## E2a\nwritten for: reproduced\n\nNode reads once.\n\n"+
		"## E8b\nmachine: 2 cores of Intel Xeon\nwritten for: reproduced\n\nGo is slow.\n")
	put(t, dir, "summary", "## In short\n\n- Node is slower ({E2a: machines disagree}), Go, too: "+
		"{E8b figure} ({E8b: reproduced}). Agreed: {count agreed} of {count decided}.\n")
	whys, err := ReadWhys(dir, set.Figures)
	if err != nil {
		t.Fatal(err)
	}
	summary, err := ReadSummary(dir)
	if err != nil {
		t.Fatal(err)
	}
	pages, err := Pages(set, whys, summary, "../..")
	if err != nil {
		t.Fatal(err)
	}
	if warnings := Warnings(set, whys, summary); len(warnings) != 1 {
		t.Errorf("expected one warning, of claims without a paragraph, got %q", warnings)
	}
	checkLinks(t, pages)
	for name, text := range pages {
		for i, l := range strings.Split(string(text), "\n") {
			if strings.HasSuffix(name, ".md") && len([]rune(l)) > columns &&
				!strings.ContainsAny(l[:1], "|#<") {
				t.Errorf("%s:%d: more than %d columns: %s", name, i+1, columns, l)
			}
		}
	}
	if !bytes.Equal(pages[File], encoded(t, set.first)) {
		t.Error("figures.json has more than the first machine's figures")
	}
	delete(pages, File) // it is that of the small run
	golden(t, filepath.Join("testdata", "two"), pages)
}

// TestOutcomes has all pairs of verdicts.
func TestOutcomes(t *testing.T) {
	const yes, no, open, silent, alien = stats.Reproduced, stats.NotReproduced,
		stats.Inconclusive, stats.NotMeasured, stats.NotComparable
	for _, c := range []struct {
		first, other stats.Word
		want         stats.Word
		by, both     bool
		told         Told
	}{
		{yes, yes, yes, false, true, Agree},
		{no, no, no, false, true, Agree},
		{yes, no, Contradicted, false, true, Differ},
		{no, yes, Contradicted, false, true, Differ},
		{yes, open, yes, false, false, OneOnly},
		{yes, silent, yes, false, false, Missing},
		{open, yes, yes, true, false, OneOnly},
		{open, no, no, true, false, OneOnly},
		{open, open, open, false, false, Neither},
		{open, alien, open, false, false, Missing},
		{silent, yes, yes, true, false, OneOnly},
		{silent, open, open, true, false, Neither},
		{alien, open, open, true, false, Neither},
		{silent, alien, silent, false, false, Missing},
	} {
		claim := Claim{Source: "eve", Experiment: "e", ID: "E1", Says: "So.", Word: c.first}
		theirs := claim
		theirs.Word = c.other
		first := &Figures{Claims: []Claim{claim}}
		set := Together(first, Other{"b", &Figures{Claims: []Claim{theirs}}})
		o := set.outcome(claim)
		if o.word != c.want || (o.by != nil) != c.by || o.both != c.both ||
			o.voices[0].told != c.told {
			t.Errorf("%s, %s: got %s, by another %v, both %v, %s; want %+v", c.first, c.other,
				o.word, o.by != nil, o.both, o.voices[0].told, c)
		}
		all := set.agreement(set.Claims)
		if decided := Decided(c.want) || c.want == Contradicted; (all.decided == 1) != decided ||
			(all.both == 1) != c.both || all.both != all.agree+all.differ ||
			(all.alone == 1) != (c.by && decided) || all.machineless != 0 {
			t.Errorf("%s, %s: counted as %+v", c.first, c.other, all)
		}
	}
}

// TestOtherClaimsAreNotHeard: another margin, other words or another experiment make another claim.
func TestOtherClaimsAreNotHeard(t *testing.T) {
	claim := Claim{Source: "eve", Experiment: "e", ID: "E1", Says: "So.", Margin: 1.05,
		Metric: manifest.Throughput, Word: stats.Reproduced}
	for name, change := range map[string]func(*Claim){
		"margin":     func(c *Claim) { c.Margin = 1.1 },
		"words":      func(c *Claim) { c.Says = "Not so." },
		"metric":     func(c *Claim) { c.Metric = manifest.CPU },
		"experiment": func(c *Claim) { c.Experiment = "f" },
	} {
		theirs := claim
		theirs.Word = stats.NotReproduced
		change(&theirs)
		set := Together(&Figures{Claims: []Claim{claim}},
			Other{"b", &Figures{Claims: []Claim{theirs}}})
		o := set.outcome(claim)
		if o.word != stats.Reproduced || o.both || o.voices[0].told != Changed {
			t.Errorf("%s: got %s, both %v, %s", name, o.word, o.both, o.voices[0].told)
		}
		w := &writer{Set: set}
		if text := w.voiceLine(claim, &o.voices[0]); !strings.Contains(text, "does not count") {
			t.Errorf("%s: the page says %q", name, text)
		}
	}
}

// TestNoMachineNoReplication: lines of code and builds are the same on every machine.
func TestNoMachineNoReplication(t *testing.T) {
	for _, claim := range []Claim{{Metric: manifest.Lines}, {Kind: manifest.KindBuilds}} {
		claim.Source, claim.Experiment, claim.ID = "eve", "e", "E4"
		claim.Word = stats.Reproduced
		for _, word := range []stats.Word{stats.Reproduced, stats.NotReproduced} {
			theirs := claim
			theirs.Word = word
			set := Together(&Figures{Claims: []Claim{claim}},
				Other{"b", &Figures{Claims: []Claim{theirs}}})
			if o := set.outcome(claim); o.word != stats.Reproduced || len(o.voices) > 0 {
				t.Errorf("%+v, there %s: got %s of %d voices", claim, word, o.word, len(o.voices))
			}
			if a := set.agreement(set.Claims); a != (agreement{claims: 1, decided: 1,
				machineless: 1}) {
				t.Errorf("%+v, there %s: counted as %+v", claim, word, a)
			}
		}
		mine := claim
		mine.Word = stats.Inconclusive
		set := Together(&Figures{Claims: []Claim{mine}},
			Other{"b", &Figures{Claims: []Claim{claim}}})
		if o := set.outcome(mine); o.word != stats.Reproduced || o.by == nil || o.both {
			t.Errorf("%+v: what the first left open is %s", claim, o.word)
		}
	}
}

// TestThreeMachines: two others may disagree where the first has not measured.
func TestThreeMachines(t *testing.T) {
	of := func(word stats.Word) *Figures {
		return &Figures{Claims: []Claim{{Source: "eve", Experiment: "e", ID: "E1", Word: word}},
			Machine: record.Machine{Cores: 2, CPU: "X"}}
	}
	set := Together(of(stats.NotMeasured), Other{"c", of(stats.NotReproduced)},
		Other{"b", of(stats.Reproduced)})
	o := set.outcome(set.Claims[0])
	w := &writer{Set: set}
	if got := w.sides(set.Claims[0], o); o.word != Contradicted ||
		got != "reproduced on 2 cores of X (b), not reproduced on 2 cores of X (c)" {
		t.Errorf("got %s: %s", o.word, got)
	}
	if a := set.agreement(set.Claims); a.differ != 1 || a.decided != 1 || a.alone != 0 {
		t.Errorf("counted as %+v", a)
	}
}

// TestStaleOnTwoMachines: a paragraph is held against the machine on which it was written.
func TestStaleOnTwoMachines(t *testing.T) {
	set := twoMachines(t)
	const amd, intel = "2 cores of AMD EPYC", "2 cores of Intel Xeon"
	for _, c := range []struct {
		id, machine string
		words       []stats.Word
		want        string
	}{
		{"E2a", amd, []stats.Word{stats.Reproduced}, ""},
		{"E2a", intel, []stats.Word{stats.NotReproduced}, ""},
		{"E2a", intel, []stats.Word{stats.Reproduced},
			"it was written for: reproduced; the verdict is now: not reproduced"},
		{"E8b", intel, []stats.Word{stats.Reproduced}, ""},
		{"E8b", amd, []stats.Word{stats.NotMeasured}, "it was written for: not measured; the " +
			"verdict of 2 cores of Intel Xeon is: reproduced"},
		{"E8b", amd, []stats.Word{stats.NotMeasured, stats.Reproduced}, ""},
		{"E2a", "1 core of Z80", []stats.Word{stats.Reproduced}, "it was written on 1 core of " +
			"Z80; these runs are of 2 cores of AMD EPYC and 2 cores of Intel Xeon"},
	} {
		claim, found := set.claim("eve", c.id)
		if got := set.stale(Why{Machine: c.machine, Words: c.words}, claim); !found ||
			got != c.want {
			t.Errorf("%s, written on %s for %v: got %q, want %q", c.id, c.machine, c.words, got,
				c.want)
		}
	}
}

// TestBeside: a second machine's file has what comparisons and pages need of it.
func TestBeside(t *testing.T) {
	first := Of(smallRun(t, 1), nil)
	run := smallRun(t, 3)
	all := Of(run, nil)
	checkout := &manifest.Tree{Experiments: run.Tree.Experiments[:1]}
	kept, left := all.Beside(first, checkout)
	if !slices.Equal(left, []string{"eve-counter"}) {
		t.Errorf("left out: %q", left)
	}
	if len(kept.Claims) != 3 || len(kept.Tables) != 2 || len(kept.Choices) > 0 ||
		len(kept.Sources) != 1 || len(kept.Sources[0].Experiments) != 1 ||
		len(kept.Sources[0].Experiments[0].Setup) > 0 {
		t.Errorf("kept %d claims, %d tables, %d choices, sources %+v", len(kept.Claims),
			len(kept.Tables), len(kept.Choices), kept.Sources)
	}
	if len(all.Claims) != 5 || len(all.Sources[0].Experiments) != 2 ||
		len(all.Sources[0].Experiments[0].Setup) != 1 {
		t.Error("the run's own figures have changed")
	}
	if _, err := Decode(encoded(t, kept)); err != nil {
		t.Error(err)
	}
	if kept, left := all.Beside(first, &manifest.Tree{}); len(kept.Tables) > 0 || len(left) != 2 {
		t.Errorf("of a checkout without experiments: %d tables, left out %q", len(kept.Tables),
			left)
	}
}

func TestReadSet(t *testing.T) {
	first := Of(smallRun(t, 1), nil)
	other := xeon(t, first)
	text := string(encoded(t, other.Figures))
	write := func(dir, name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ name, text, want string }{
		{"machines/xeon.json", text, ""},
		{"machines/README.md", "not one of them", ""},
		{"machines/xeon.json", strings.Replace(text, `"version": 3`, `"version": 2`, 1),
			"xeon.json: these findings have version 2, this program reads version 3"},
		{"machines/xeon.json", strings.Replace(text, `"version": 3`, `"version": 4`, 1),
			"have version 4"},
		{"machines/xeon.json", text[:len(text)/2], "xeon.json: not a file of findings"},
		{"machines/xeon.json", "", "xeon.json: not a file of findings"},
		{"machines/Xeon 2.json", text, `"Xeon 2" cannot be the name of a machine`},
		{"machines/first.json", text, `"first" is the name of the machine of figures.json`},
		{"machines/xeon.json", strings.Replace(text, "Intel Xeon", "AMD EPYC", 1),
			"figures.json and machines/xeon.json are of one machine, 2 cores of AMD EPYC"},
		{"machines/b.json", text, "machines/b.json and machines/xeon.json are of one machine"},
	} {
		dir := t.TempDir()
		write(dir, File, string(encoded(t, first)))
		if c.name == "machines/b.json" {
			write(dir, "machines/xeon.json", text)
		}
		write(dir, c.name, c.text)
		set, err := ReadSet(dir)
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil ||
			!strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		case c.want == "" && c.text == text && set.Others[0].Name != "xeon":
			t.Errorf("%s is not read", c.name)
		}
		if _, err := ReadOthers(dir, "xeon"); err != nil && c.name == "machines/xeon.json" {
			t.Errorf("the file that is to be replaced is read: %v", err)
		}
	}
}

func TestNamesOfMachines(t *testing.T) {
	for _, name := range []string{"xeon", "2-cores", "a", strings.Repeat("x", 40)} {
		if err := CheckName(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"", "first", "a/b", "../a", ".", "A", "a b", "-a", "a.json",
		"ä", "a\n", strings.Repeat("x", 41)} {
		if CheckName(name) == nil {
			t.Errorf("%q is taken as a name", name)
		}
	}
}

func TestNearestMachine(t *testing.T) {
	of := func(cores int, cpu string, memory int64) *Figures {
		return &Figures{Machine: record.Machine{Cores: cores, CPU: cpu, MemBytes: memory << 30}}
	}
	set := Together(of(2, "AMD", 16), Other{"intel-2", of(2, "Intel", 16)},
		Other{"intel-8", of(8, "Intel", 16)}, Other{"intel-2-large", of(2, "Intel", 64)})
	for _, c := range []struct {
		m    *Figures
		want string
	}{
		{of(2, "AMD", 64), First},
		{of(2, "ARM", 16), First},
		{of(8, "Intel", 16), "intel-8"},
		{of(2, "Intel", 64), "intel-2-large"},
		{of(2, "Intel", 32), "intel-2"},
		{of(4, "Intel", 16), "intel-2"},
	} {
		if got := set.Nearest(c.m.Machine).Name; got != c.want {
			t.Errorf("%+v: got %s, want %s", c.m.Machine, got, c.want)
		}
	}
	if _, err := set.Named("arm"); err == nil || !strings.Contains(err.Error(),
		"expected first, intel-2, intel-2-large, intel-8") {
		t.Errorf("an unknown name: %v", err)
	}
}

func TestOwner(t *testing.T) {
	file := filepath.Join(t.TempDir(), File)
	if m, err := Owner(file); m != nil || err != nil {
		t.Errorf("no file: %v, %v", m, err)
	}
	for text, want := range map[string]string{
		`{"version": 1, "machine": {"cores": 2, "cpu": "Z80"}}`: "",
		`{"version": 3}`:                   `it has no "machine"`,
		`{"version": 3, "machine": {}}`:    `it has no "machine"`,
		`{"version": 3, "machine": {"cp`:   "unexpected end",
		`{"version": 3, "machine": "Z80"}`: "cannot unmarshal",
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		m, err := Owner(file)
		switch {
		case want == "" && (err != nil || m.CPU != "Z80"):
			t.Errorf("%s: got %v, %v", text, m, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func TestEmptyRuns(t *testing.T) {
	built := []Claim{{Kind: manifest.KindBuilds, Word: stats.Reproduced}}
	for _, c := range []struct {
		f    Figures
		want bool
	}{
		{Figures{}, true},
		{Figures{Claims: []Claim{{Metric: manifest.Lines, Word: stats.Reproduced}}}, true},
		{Figures{Claims: built}, false},
		{Figures{Cells: Counts{All: 1, Void: 1}}, false},
	} {
		if got := c.f.Empty(); got != c.want {
			t.Errorf("%+v: got %v", c.f, got)
		}
	}
}

// TestFiguresComeFirst: when a page cannot be written, the figures are there to make it from.
func TestFiguresComeFirst(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "README.md"), "in-the-way",
		"A page cannot take the place of a folder.")
	pages := map[string][]byte{"README.md": []byte("page"), File: []byte("{}"),
		"machines/z.json": []byte("{}")}
	if err := Write(dir, pages); err == nil || !strings.Contains(err.Error(), "README.md") {
		t.Fatalf("a folder was replaced by a page: %v", err)
	}
	for _, name := range []string{File, "machines/z.json"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); string(got) != "{}" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
