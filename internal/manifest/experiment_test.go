package manifest

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

const experimentFile = "experiments/growth/experiment.toml"

// goodExperiment has a sweep, a point of another shape and a claim of each kind. The tests of what
// is wrong change one thing in it; the lines are those that messages name.
const goodExperiment = `title    = "Growth"
source   = "a paper, section 1"
question = "How does it grow?"
expect   = "slowly"
setup    = ["a machine"]
service  = "echo"
models   = ["c-epoll", "go-goroutine", "eve-task"]
baseline = "c-epoll"
metrics  = ["throughput", "latency-p99"]

[load]
shape       = "closed"
connections = 150
size        = "16 B"
requests    = 100

[sweep]
over   = "connections"
label  = "open connections"
values = [16, 1, 4, 64]
log    = true

[[point]]
name   = "latency"
shape  = "open"
rate   = "5000/s"
models = ["c-epoll", "go-goroutine"]

[depth.quick]
rounds   = 6
window   = "500ms"
sample   = "50ms"
requests = "none"
models   = ["c-epoll"]
values   = [64, 1]
points   = ["latency"]

[depth.normal]
rounds     = 12
max_rounds = 30
warmup     = "2s"
window     = "2s"
conditions = ["own", "shared"]

[depth.full]
rounds   = 30
window   = "60s"
requests = 10000

[[curve]]
model    = "eve-task"
metric   = "throughput"
label    = "published"
relative = "eve-task"
points   = [[1, 0.5], [64, 2]]

[[claim]]
id       = "G1"
kind     = "direction"
sentence = "Go answers less."
where    = "section 1"
metric   = "throughput"
of       = "go-goroutine"
against  = "c-epoll"
sense    = "less"

[[claim]]
id        = "G2"
kind      = "magnitude"
sentence  = "C has twice Go's tail."
where     = "section 1"
metric    = "latency-p99"
of        = "c-epoll"
against   = "go-goroutine"
published = 2
at        = ["latency"]
margin    = 1.5

[[claim]]
id       = "G3"
kind     = "shape"
shape    = "order"
sentence = "Go, then C, then Eve."
where    = "section 1"
metric   = "throughput"
order    = ["go-goroutine", "c-epoll", "eve-task"]
from     = 4

[[claim]]
id       = "G4"
kind     = "shape"
shape    = "flattens"
sentence = "It flattens after 4."
where    = "section 1"
metric   = "throughput"
of       = "c-epoll"
after    = 4

[[claim]]
id        = "G5"
kind      = "crossover"
sentence  = "They cross at 10."
where     = "section 1"
metric    = "throughput"
of        = "c-epoll"
against   = "go-goroutine"
sense     = "greater"
published = 10

[[claim]]
id       = "G6"
kind     = "equality"
sentence = "Eve at 16 is as C at its latency point."
ours     = true
metric   = "cpu-per-request"
of       = "eve-task"
against  = "c-epoll@latency"
at       = "connections = 16"
condition = "shared"

[[claim]]
id        = "G7"
kind      = "absolute"
sentence  = "C answers 100,000."
where     = "section 1"
metric    = "throughput"
of        = "c-epoll"
published = 100000
at        = "mean"
comparable = "it is another machine"

[[claim]]
id       = "G8"
kind     = "direction"
sentence = "Eve has fewer lines."
where    = "section 1"
metric   = "lines"
of       = "eve-task"
against  = "c-epoll"
sense    = "less"
`

// treeOf has the services that experiments name in these tests.
func treeOf(t *testing.T) *Tree {
	t.Helper()
	return &Tree{Services: []*Service{
		{Name: "counter", Protocol: "counter"},
		{Name: "echo", Protocol: "echo", Models: []*Model{{Name: "c-epoll"},
			{Name: "go-goroutine"}}},
		{Name: "sink", Protocol: "sink"},
	}}
}

func good(t *testing.T) *Experiment {
	t.Helper()
	e, err := parseExperiment(experimentFile, []byte(goodExperiment), treeOf(t))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestExperimentPoints(t *testing.T) {
	e := good(t)
	closed := Load{Shape: Closed, Requests: 100, SizeBytes: 16, Pipeline: 1}
	at := func(n int) Load { l := closed; l.Connections = n; return l }
	want := []Point{
		{"connections = 1", 1, "echo", at(1), nil, ""},
		{"connections = 4", 4, "echo", at(4), nil, ""},
		{"connections = 16", 16, "echo", at(16), nil, ""},
		{"connections = 64", 64, "echo", at(64), nil, ""},
		{"latency", math.NaN(), "echo", Load{Shape: Open, Connections: 150, SizeBytes: 16,
			Pipeline: 1, Rate: 5000, Gaps: "constant"}, []string{"c-epoll", "go-goroutine"}, ""},
	}
	if len(e.Points) != len(want) {
		t.Fatalf("got %d points, want %d", len(e.Points), len(want))
	}
	for i, w := range want {
		g := e.Points[i]
		sameX := g.X == w.X || math.IsNaN(g.X) && math.IsNaN(w.X)
		if g.Name != w.Name || !sameX || g.Service != w.Service || g.Load != w.Load ||
			!slices.Equal(g.Models, w.Models) {
			t.Errorf("point %d: got %+v, want %+v", i, g, w)
		}
	}
	if len(e.Sweep()) != 4 || e.Axis != (Axis{"connections", "open connections", true}) {
		t.Errorf("got a sweep of %d over %+v", len(e.Sweep()), e.Axis)
	}
}

func TestExperimentDepths(t *testing.T) {
	e := good(t)
	quick, err := e.Depth("quick")
	if err != nil {
		t.Fatal(err)
	}
	if quick.Requests != AllInWindow || quick.MaxRounds != 6 || quick.WarmUp != time.Second ||
		!slices.Equal(quick.Conditions, []Condition{Own}) {
		t.Errorf("quick: got %+v", quick)
	}
	var has []string
	for _, p := range e.Points {
		if quick.Has(p) {
			has = append(has, p.Name)
		}
	}
	if want := []string{"connections = 1", "connections = 64", "latency"}; !slices.Equal(has,
		want) {
		t.Errorf("quick has %q, want %q", has, want)
	}
	normal, _ := e.Depth("normal")
	if normal.MaxRounds != 30 || normal.WarmUp != 2*time.Second ||
		normal.Sample != 100*time.Millisecond || len(normal.Conditions) != 2 {
		t.Errorf("normal: got %+v", normal)
	}
	if full, _ := e.Depth("full"); full.Requests != 10000 {
		t.Errorf("full: got %+v", full)
	}
	_, err = e.Depth("ful")
	checkError(t, err,
		`depth "ful" is not known: did you mean "full"? (known: quick, normal, full)`)
}

func TestExperimentClaims(t *testing.T) {
	e := good(t)
	margins := map[string]float64{"G1": 1.05, "G2": 1.5, "G3": 1.05, "G4": 1.25, "G5": 1.25,
		"G6": 1.10, "G7": 1.25, "G8": 1.05}
	points := map[string]int{"G1": 4, "G2": 1, "G3": 3, "G4": 4, "G5": 4, "G6": 1, "G7": 4, "G8": 0}
	for _, c := range e.Claims {
		if c.Margin != margins[c.ID] {
			t.Errorf("%s: margin %v, want %v", c.ID, c.Margin, margins[c.ID])
		}
		if got := len(e.ClaimPoints(c)); got != points[c.ID] {
			t.Errorf("%s is about %d points, want %d", c.ID, got, points[c.ID])
		}
	}
	if first, ours := e.Claims[0], e.Claims[5]; first.Ours || first.Where != "section 1" ||
		!ours.Ours || ours.Where == "" {
		t.Errorf("whose they are: got %+v and %+v", first, ours)
	}
	if got := e.Claims[5].Against; got != (Term{"c-epoll", "latency"}) ||
		got.String() != "c-epoll@latency" {
		t.Errorf("got %+v", got)
	}
}

func TestExperimentMissing(t *testing.T) {
	if got, want := good(t).Missing(treeOf(t)), []string{"echo/eve-task"}; !slices.Equal(got,
		want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A point alone needs no sweep, and a claim about the only point need not name it.
func TestExperimentOnePoint(t *testing.T) {
	text := cut(goodExperiment, "[sweep]", "[[point]]")
	text = cut(text, "[[curve]]", "[[claim]]")
	text = text[:strings.Index(text, "[[claim]]\nid        = \"G2\"")]
	text = strings.Replace(text, "values   = [64, 1]\n", "", 1)
	e, err := parseExperiment(experimentFile, []byte(text), treeOf(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Points) != 1 || !slices.Equal(e.Claims[0].At, []string{"latency"}) {
		t.Errorf("got points %+v, claim at %q", e.Points, e.Claims[0].At)
	}
}

// cut removes what stands from one mark up to another.
func cut(s, from, to string) string {
	i := strings.Index(s, from)
	return s[:i] + s[i+strings.Index(s[i:], to):]
}

func TestSweepNames(t *testing.T) {
	tests := []struct{ load, over, values, want string }{
		{"", "size", `["16 B", "1 KiB"]`, "size = 1024 B"},
		{"", "connections", `[1, 1000]`, "connections = 1000"},
		{"rate = 5\n", "rate", `["100/s", "2 k/s"]`, "rate = 2000/s"},
	}
	for _, tt := range tests {
		text := cut(goodExperiment, "[[claim]]\nid       = \"G1\"", "[[claim]]\nid       = \"G8\"")
		text = strings.Replace(text, "values   = [64, 1]\n", "", 1)
		text = strings.Replace(text, `over   = "connections"`, `over = "`+tt.over+`"`, 1)
		text = strings.Replace(text, "values = [16, 1, 4, 64]", "values = "+tt.values, 1)
		if tt.over == "rate" {
			text = strings.Replace(text, "shape       = \"closed\"", "shape = \"open\"", 1)
			text = strings.Replace(text, "requests    = 100\n", tt.load, 1)
		}
		e, err := parseExperiment(experimentFile, []byte(text), treeOf(t))
		if err != nil {
			t.Errorf("%s: %v", tt.over, err)
			continue
		}
		if got := e.Sweep()[1].Name; got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestExperimentWrong(t *testing.T) {
	for _, tt := range wrongExperiments {
		t.Run(tt.name, func(t *testing.T) {
			if n := strings.Count(goodExperiment, tt.old); n == 0 {
				t.Fatalf("the good experiment has no %q", tt.old)
			}
			_, err := parseExperiment(experimentFile,
				[]byte(strings.Replace(goodExperiment, tt.old, tt.new, 1)), treeOf(t))
			checkError(t, trimFile(err), tt.want)
		})
	}
}

// trimFile leaves line and message of each error.
func trimFile(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(strings.ReplaceAll(err.Error(), experimentFile+":", ""))
}
