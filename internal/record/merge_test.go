package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// mergeable is a run on disk with a tree of one service and its experiments.
func mergeable(t *testing.T, id string, change func(h *Header), experiments ...string) *Run {
	t.Helper()
	h := Header{ID: id, Depth: "quick", Hosts: "local", Experiments: experiments,
		Machine: Machine{Cores: 2, CPU: "a processor", MemBytes: 8 << 30},
		Budgets: []Budget{{For: time.Minute}}}
	if change != nil {
		change(&h)
	}
	r := &Run{Dir: t.TempDir(), Header: h}
	tree(t, r, "services/echo/service.toml", "title = \"Echo\"\nsummary = \"bytes come back\"\n"+
		"protocol = \"echo\"\n")
	for _, m := range []string{"c-epoll", "c-uring"} {
		tree(t, r, "services/echo/"+m+"/model.toml", "language = \"c\"\nmodel = \"loop\"\n"+
			"summary = \"a loop\"\nbuild = [\"cc\", \"-o\", \"{out}/echo\", \"echo.c\"]\n"+
			"run = [\"{out}/echo\", \"{port}\"]\nsource = [\"echo.c\"]\n")
		tree(t, r, "services/echo/"+m+"/echo.c", "int main;")
	}
	for _, e := range experiments {
		tree(t, r, "experiments/"+e+"/experiment.toml", mergeableExperiment)
		for round := 1; round <= 2; round++ {
			r.Cells = append(r.Cells, Cell{Experiment: e, Point: "alone", Service: "echo",
				Model: "c-epoll", Round: round, Status: Measured})
		}
	}
	return r
}

const mergeableExperiment = `title = "Echo"
source = "a paper, section 1"
question = "How fast?"
expect = "fast"
setup = ["a machine"]
service = "echo"
models = ["c-epoll"]
baseline = "c-epoll"
metrics = ["throughput"]

[load]
shape = "closed"
connections = 1
size = "16 B"

[[point]]
name = "alone"

[depth.quick]
rounds = 6
window = "500ms"

[depth.normal]
rounds = 12
window = "1s"

[depth.full]
rounds = 30
window = "10s"
`

func tree(t *testing.T, r *Run, name, text string) {
	t.Helper()
	file := filepath.Join(r.Dir, TreeDir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestMerge(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	first := mergeable(t, "A", func(h *Header) {
		h.Finished = &now
		h.Skipped = []Skip{{Service: "echo", Model: "gone"}, {Service: "echo", Model: "late"}}
		h.Builds = []Build{{Experiment: "p", Target: "x"}}
	}, "one", "two")
	second := mergeable(t, "B", func(h *Header) {
		h.Wakings = []Waking{{Cost: 5000, Measured: true}}
		h.Skipped = []Skip{{Service: "echo", Model: "gone"}}
		h.Builds = []Build{{Experiment: "p", Target: "x"}, {Experiment: "p", Target: "y"}}
	}, "two", "three")
	m, err := Merge([]*Run{first, second})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range m.Cells {
		got = append(got, c.Experiment+string(rune('0'+c.Round)))
	}
	if s := strings.Join(got, " "); s != "one1 one2 two1 two2 two3 two4 three1 three2" {
		t.Errorf("the cells are %s", s)
	}
	h := m.Header
	if h.WakeCost() != 5000 || len(h.Wakings) != 1 {
		t.Errorf("the wakings are %+v, want those of the run that measured them", h.Wakings)
	}
	if h.ID != "A+B" || strings.Join(h.Experiments, " ") != "one two three" || h.Finished != nil ||
		len(h.Skipped) != 1 || h.Skipped[0].Model != "gone" || len(h.Builds) != 2 ||
		len(h.Budgets) != 2 {
		t.Errorf("the header is %+v", h)
	}
	if len(first.Cells) != 4 || first.Cells[3].Round != 2 || second.Cells[0].Round != 1 ||
		len(first.Header.Experiments) != 2 {
		t.Error("the merged runs have changed")
	}
}

func TestMergeRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		change     func(h *Header)
		file, text string
	}{
		{name: "another processor", want: "their machines differ: one has a processor, the other B",
			change: func(h *Header) { h.Machine.CPU = "B" }},
		{name: "more cores", want: "one has 2 cores, the other 4",
			change: func(h *Header) { h.Machine.Cores = 4 }},
		{name: "more memory", want: "one has 8192 MiB of memory, the other 9216",
			change: func(h *Header) { h.Machine.MemBytes = 9 << 30 }},
		{name: "other windows", want: "the other a budget with the windows of normal",
			change: func(h *Header) { h.Depth = "normal" }},
		{name: "a depth", want: "the other the depth quick",
			change: func(h *Header) { h.Budgets = nil }},
		{name: "other hosts", want: "one has --hosts local, the other netns",
			change: func(h *Header) { h.Hosts = "netns" }},
		{name: "other cores of the roles", want: "the cores map[], the other map[server:[0]]",
			change: func(h *Header) { h.CPUs = map[string][]int{"server": {0}} }},
		{name: "a server of one's own", want: "in runs of its own",
			change: func(h *Header) { h.Own = &Own{} }},
		{name: "another source", want: "their trees differ in services/echo/c-epoll/echo.c",
			file: "services/echo/c-epoll/echo.c", text: "int other;"},
		{name: "other windows of the depth",
			want: "experiments/one/experiment.toml has other windows",
			file: "experiments/one/experiment.toml",
			text: strings.Replace(mergeableExperiment, "500ms", "400ms", 1)},
		{name: "other windows of a deeper depth, which a budget may use",
			want: "experiments/one/experiment.toml has other windows",
			file: "experiments/one/experiment.toml",
			text: strings.Replace(mergeableExperiment, "10s", "20s", 1)},
		{name: "another baseline", want: "experiments/one/experiment.toml has other windows",
			file: "experiments/one/experiment.toml",
			text: strings.NewReplacer(`["c-epoll"]`, `["c-epoll", "c-uring"]`,
				`baseline = "c-epoll"`, `baseline = "c-uring"`).Replace(mergeableExperiment)},
		{name: "the same run", want: "run B is there twice",
			change: func(h *Header) { h.ID = "B" }},
	} {
		a := mergeable(t, "A", nil, "one")
		if tt.name == "the same run" {
			a.Header.ID = "B"
		}
		b := mergeable(t, "B", tt.change, "one")
		if tt.file != "" {
			tree(t, b, tt.file, tt.text)
		}
		if _, err := Merge([]*Run{a, b}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
	a, b := mergeable(t, "A", nil, "one"), mergeable(t, "B", nil, "one")
	b.Cells[1].Load.Connections = 2
	if _, err := Merge([]*Run{a, b}); err == nil ||
		!strings.Contains(err.Error(), "the load of one, alone differs") {
		t.Errorf("another load: got %v", err)
	}
}

// What only one of two runs has measured, and what is not measured at all, keeps no two apart.
func TestMergeAllows(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, a, b *Run){
		"a kernel that keeps a little more for itself": func(_ *testing.T, _, b *Run) {
			b.Header.Machine.MemBytes -= 1 << 20
		},
		"a model more, which the experiment names": func(t *testing.T, _, b *Run) {
			tree(t, b, "services/echo/c-uring/echo.c", "int other;")
			tree(t, b, "experiments/one/experiment.toml", strings.Replace(mergeableExperiment,
				`["c-epoll"]`, `["c-epoll", "c-uring"]`, 1))
			b.Cells[1].Model = "c-uring"
		},
		"words": func(t *testing.T, _, b *Run) {
			tree(t, b, "experiments/one/experiment.toml", strings.Replace(mergeableExperiment,
				"How fast?", "How fast is it?", 1))
		},
		"windows of a depth that was not measured": func(t *testing.T, a, b *Run) {
			a.Header.Budgets, b.Header.Budgets = nil, nil
			tree(t, b, "experiments/one/experiment.toml", strings.Replace(mergeableExperiment,
				"10s", "20s", 1))
		},
		"an experiment of which the other has no cell": func(t *testing.T, _, b *Run) {
			tree(t, b, "experiments/two/experiment.toml", strings.Replace(mergeableExperiment,
				"500ms", "400ms", 1))
		},
	} {
		a, b := mergeable(t, "A", nil, "one"), mergeable(t, "B", nil, "one")
		a.Header.Experiments = append(a.Header.Experiments, "two")
		tree(t, a, "experiments/two/experiment.toml", mergeableExperiment)
		change(t, a, b)
		if _, err := Merge([]*Run{a, b}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
