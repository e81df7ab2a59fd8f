package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// pinging is an experiment on hosts: a sweep of pingers, transfers and bulk beside it.
const pinging = `title    = "Hosts"
source   = "a paper"
question = "How fast are stacks?"
expect   = "fast"
setup    = ["a machine"]
service  = "ping"
models   = ["go-csp-gonet", "c-loop-lwip"]
baseline = "go-csp-gonet"
metrics  = ["latency-p50", "loss", "bit-rate", "cpu-per-gb", "memory-growth"]

[load]
shape    = "ping"
size     = "56 B"
interval = "50ms"

[sweep]
over   = "connections"
label  = "pingers"
values = [1, 1000]

[[point]]
name        = "flood"
shape       = "ping"
connections = 600
interval    = "none"

[[point]]
name        = "transfers"
service     = "transfer"
shape       = "transfer"
connections = 10
size        = "4 kB"

[[point]]
name        = "bulk"
service     = "transfer"
shape       = "bulk"
connections = 10
direction   = "in"

[depth.quick]
rounds = 6
window = "500ms"

[depth.normal]
rounds = 6
window = "500ms"

[depth.full]
rounds = 6
window = "500ms"

[[claim]]
id        = "N1"
kind      = "magnitude"
sentence  = "A claim."
where     = "there"
metric    = "latency-p50"
of        = "go-csp-gonet"
against   = "c-loop-lwip"
published = 3
`

func hostTree() *Tree {
	return &Tree{Services: []*Service{
		{Name: "ping", Protocol: Ping, Hosts: Tap}, {Name: "transfer", Protocol: Transfer,
			Hosts: Tap}, {Name: "echo", Protocol: "echo"},
	}}
}

func TestHostExperiment(t *testing.T) {
	e, err := parseExperiment("experiments/hosts/experiment.toml", []byte(pinging), hostTree())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Load{
		"connections = 1000": {Shape: Pings, Connections: 1000, SizeBytes: 56, Pipeline: 1,
			Interval: 50 * time.Millisecond},
		"flood":     {Shape: Pings, Connections: 600, SizeBytes: 56, Pipeline: 1},
		"transfers": {Shape: Transfers, Connections: 10, SizeBytes: 4000, Pipeline: 1},
		"bulk":      {Shape: Bulk, Connections: 10, Pipeline: 1, Direction: "in"},
	}
	for name, load := range want {
		if p, ok := e.Point(name); !ok || p.Load != load {
			t.Errorf("%s: got %+v, want %+v", name, p.Load, load)
		}
	}
	if p, _ := e.Point("flood"); p.Load.Timed() {
		t.Error("a flood has no schedule")
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"a point's hosts", `direction   = "in"`, "direction   = \"in\"\nhosts = \"local\"",
			`hosts: "local" is not known: expected one of netns`},
		{"two hosts of a host", `direction   = "in"`, "direction   = \"in\"\nhosts = \"netns\"",
			"hosts: means nothing for services/transfer"},
		{"no size", "size     = \"56 B\"\n", "", "the load of the sweep has no size"},
		{"a bulk's size", `direction   = "in"`, "direction   = \"in\"\nsize = \"1 B\"",
			`size: means nothing for shape "bulk"`},
		{"no direction", "direction   = \"in\"\n", "",
			`has no direction: expected "in" to the server or "out" of it`},
		{"a wrong direction", `direction   = "in"`, `direction   = "into"`,
			`direction: "into" is not known`},
		{"an interval of nothing", `interval = "50ms"`, `interval = "0s"`, "interval: "},
		{"pings to a server", "service     = \"transfer\"\nshape       = \"transfer\"",
			"service = \"echo\"\nshape = \"transfer\"", "do not go together"},
		{"bulk to a host that is pinged", "service     = \"transfer\"\nshape       = \"bulk\"",
			"shape = \"bulk\"", "do not go together"},
		{"a closed load", "service     = \"transfer\"\nshape       = \"transfer\"",
			"service = \"transfer\"\nshape = \"closed\"", "do not go together"},
		{"latency of a flood", "published = 3", "published = 3\nat = [\"flood\"]",
			`"flood" is "ping", and latency-p50 needs`},
		{"loss of transfers", "metric    = \"latency-p50\"",
			"metric = \"loss\"\nat = [\"transfers\"]", `loss needs a point of shape "ping"`},
		{"a bit rate of pings", "metric    = \"latency-p50\"", "metric = \"bit-rate\"",
			`bit-rate needs a point of shape "transfer" or "bulk"`},
		{"requests of bulk", "metric    = \"latency-p50\"",
			"metric = \"throughput\"\nat = [\"bulk\"]",
			"throughput needs a point of another shape"},
		{"answers of pings", "values = [1, 1000]", "values = [1, 1000]\nanswers = [\"1\", \"2\"]",
			"only problems have answers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(pinging, c.old, c.new, 1)
			if text == pinging {
				t.Fatalf("%q is not in the experiment", c.old)
			}
			if _, err := parseExperiment("experiments/hosts/experiment.toml", []byte(text),
				hostTree()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestSweepAnswers is a sweep of a problem whose answer depends on how many work at it.
func TestSweepAnswers(t *testing.T) {
	text := strings.Replace(solving, "[[point]]\nname = \"fib\"\n",
		"[sweep]\nover = \"workers\"\nlabel = \"workers\"\nvalues = [1, 4]\nanswers = [\"10\", "+
			"\"40\"]\n", 1)
	text = strings.Replace(text, "answer  = \"832040\"\n", "", 1)
	tree := &Tree{Services: []*Service{{Name: "forkjoin", Protocol: Program}}}
	e, err := parseExperiment("experiments/tasks/experiment.toml", []byte(text), tree)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := e.Points[0].Load, e.Points[1].Load; a.Answer != "10" || b.Answer != "40" ||
		b.Workers != 4 {
		t.Errorf("got %+v and %+v", a, b)
	}
	short := strings.Replace(text, `["10", "40"]`, `["10"]`, 1)
	if _, err := parseExperiment("experiments/tasks/experiment.toml", []byte(short),
		tree); err == nil || !strings.Contains(err.Error(),
		"expected one for each of the 2 values, got 1") {
		t.Errorf("got %v", err)
	}
}

// TestSourceOfAnotherService is a model that is built from what lies in another's folder.
func TestSourceOfAnotherService(t *testing.T) {
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
	write("services/transfer/go-csp/transfer.go", "package main\n")
	s := &Service{Name: "loopback", Protocol: Program}
	for _, c := range []struct{ source, want string }{
		{"../../transfer/go-csp/transfer.go", ""},
		{"../../transfer/go-csp/none.go",
			"model.toml:5: source: \"../../transfer/go-csp/none.go\": no such file"},
		{"../../../../outside.go", "is not in this tree"},
	} {
		write("services/loopback/go-csp/model.toml",
			"language = \"go\"\nmodel = \"csp\"\nsummary = \"s\"\nuses = "+
				"[\"../../nothing-of-a-record\"]\nsource = [\""+c.source+
				"\"]\nrun = [\"{out}/{kernel}\"]\n")
		m, err := s.LoadModel(root, "services/loopback/go-csp/model.toml")
		if c.want == "" && (err != nil || len(m.Source) != 1) || c.want != "" && (err == nil ||
			!strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", c.source, err, c.want)
		}
	}
}

// TestPointOverTwoHosts reads a point that asks for two hosts, beside one that does not.
func TestPointOverTwoHosts(t *testing.T) {
	text := strings.Replace(goodExperiment, `name   = "latency"`,
		"name = \"latency\"\nhosts = \"netns\"", 1)
	e, err := parseExperiment(experimentFile, []byte(text), treeOf(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]Hosts{"latency": NetNS, "connections = 4": ""} {
		if p, ok := e.Point(name); !ok || p.Hosts != want {
			t.Errorf("%s: got %q, want %q", name, p.Hosts, want)
		}
	}
}
