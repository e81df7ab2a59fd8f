package report

// Runs that nobody measured: a seeded generator makes cells for any tree, with rounds that differ,
// voids, failures and skips, so that every branch of a report has something to show.

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"interleave/internal/hist"
	"interleave/internal/load"
	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/sample"
)

// A recipe says what run to make.
type recipe struct {
	seed    uint64
	rounds  int
	depth   string
	losses  float64 // share of cells that are void, and a third as many that fail
	aborted bool
	slower  float64 // factor on every cost; 0 = 1
	absent  []string
	points  int // at most so many of each experiment; 0 = all
}

// costs are of a request in microseconds of CPU, made up after what such servers need.
var costs = map[string]float64{
	"c-epoll": 4.4, "c-epoll-percore": 4.5, "c-libev": 4.3, "c-uring": 4.1, "c-process": 12.2,
	"c-thread":   10.4,
	"rust-async": 5.0, "go-goroutine": 6.4, "erlang-actor": 7.6, "node-loop": 7.2,
	"node-prefork": 8.6,
	"java-thread":  6.6, "java-virtual": 10.2,
}

// synthesize makes a run of all experiments of a tree.
func synthesize(tree *manifest.Tree, r recipe) Run {
	g := &generator{recipe: r, random: rand.New(rand.NewPCG(r.seed, 1)), at: time.Date(2026, 11, 21,
		9, 30, 0, 0, time.UTC)}
	if r.slower == 0 {
		g.slower = 1
	}
	run := Run{Tree: tree, Header: header(r, g.at)}
	for _, e := range tree.Experiments {
		run.Header.Experiments = append(run.Header.Experiments, e.Name)
		depth := e.Normal
		for round := 1; round <= r.rounds; round++ {
			for _, c := range depth.Conditions {
				run.Cells = append(run.Cells, g.round(tree, e, c, round)...)
			}
		}
	}
	if r.aborted {
		run.Cells = run.Cells[:len(run.Cells)*2/5]
	} else {
		end := g.at
		run.Header.Finished = &end
	}
	return run
}

func header(r recipe, at time.Time) record.Header {
	h := record.Header{
		Version: 1, ID: at.Format("20060102T150405Z"), Started: at, Depth: r.depth,
		Seed: 7412996530210394161, Rounds: r.rounds, Hosts: "local",
		Command: []string{"/somewhere/out/bin/interleave", "run", "--" + r.depth},
		CPUs:    map[string][]int{"server": {0}, "load": {1}},
		Machine: record.Machine{
			Cores: 2, CPU: "AMD EPYC", MemBytes: 23 << 30, Kernel: "6.18.5",
			System: "Debian GNU/Linux 12", Virtual: "KVM", Clock: "kvm-clock", Cgroups: "hybrid",
			ToolChains: map[string]string{"cc": "gcc 12.2.0", "go": "1.26.8", "node": "20.19.2",
				"erl": "25", "java": "25.0.1", "cargo": "1.95.0"},
		},
		Calibration: []record.Check{
			{Name: "p95 of a server that stalls 100 ms each second", Unit: "µs", Truth: 50_000,
				Measured: 50_410, Tolerance: 2_000, OK: true},
			{Name: "an injected delay", Unit: "µs", Truth: 1_000, Measured: 1_008, Tolerance: 20,
				OK: true},
			{Name: "a known CPU burn", Unit: "% of a core", Truth: 40, Measured: 40.6,
				Tolerance: 1.2, OK: true},
			{Name: "a known memory size", Unit: "bytes", Truth: 64 << 20,
				Measured: 64.4 * (1 << 20), Tolerance: 1.3 * (1 << 20), OK: true, Note: "PSS"},
		},
		Skipped: []record.Skip{
			{Service: "echo", Model: "c-uring",
				Reason: "needs pkg:liburing: apt-get install liburing-dev"},
			{Service: "counter", Model: "node-prefork",
				Reason: "conformance: pipelined requests, line 14: got 7 bytes, want 8",
				Detail: "> 01 01 01\n< 00 00 00 00 00 00 01"},
		},
	}
	return h
}

type generator struct {
	recipe
	random *rand.Rand
	at     time.Time
}

// round makes the cells of one round, in a shuffled order, the baseline twice.
func (g *generator) round(tree *manifest.Tree, e *manifest.Experiment, c manifest.Condition,
	round int) []record.Cell {
	var cells []record.Cell
	for i, p := range e.Points {
		if g.points > 0 && i >= g.points && !math.IsNaN(p.X) {
			continue
		}
		models := p.Models
		if len(models) == 0 {
			models = e.Models
		}
		drift := math.Exp(.03 * g.random.NormFloat64())
		var block []record.Cell
		for _, m := range append(slices.Clone(models), e.Baseline) {
			if slices.Contains(g.absent, m) || !has(tree, p.Service, m) {
				continue
			}
			twin := m == e.Baseline &&
				slices.ContainsFunc(block, func(c record.Cell) bool { return c.Model == m })
			block = append(block, g.cell(e, p, c, m, twin, round, drift))
		}
		g.random.Shuffle(len(block), func(i, j int) { block[i], block[j] = block[j], block[i] })
		for i := range block {
			block[i].Order = i + 1
		}
		cells = append(cells, block...)
	}
	return cells
}

func has(tree *manifest.Tree, service, model string) bool {
	return slices.ContainsFunc(tree.Services, func(s *manifest.Service) bool {
		return s.Name == service &&
			slices.ContainsFunc(s.Models, func(m *manifest.Model) bool { return m.Name == model })
	})
}

func (g *generator) cell(e *manifest.Experiment, p manifest.Point, condition manifest.Condition,
	model string, twin bool, round int, drift float64) record.Cell {
	c := record.Cell{
		Experiment: e.Name, Point: p.Name, Service: p.Service, Model: model, Twin: twin,
		Condition: condition, Round: round,
		Started: g.at, Took: 1500 * time.Millisecond, StartUp: 20 * time.Millisecond,
		Status: record.Measured, Load: p.Load,
	}
	g.at = g.at.Add(c.Took + 300*time.Millisecond)
	switch u := g.random.Float64(); {
	case u < g.losses/3:
		c.Status, c.Tail = record.Broken,
			"listening on 4000\npanic: runtime error: index out of range [3] with length 3"
		c.Reasons = []record.Reason{{Gate: "died",
			Text: "the server died 1.2 s into its window with exit status 2"}}
		return c
	case u < g.losses*4/3:
		c.Status = record.Void
		c.Reasons = []record.Reason{
			{Gate: "foreign-cpu", Text: "other processes took 8.1 % of a core, 5 % is the limit",
				Value: 8.1, Limit: 5},
			{Gate: "late", Text: "sends were 420 µs late at p99, 250 µs is the limit", Value: 420,
				Limit: 250},
		}[:1+g.random.IntN(2)]
	}
	noise := drift * math.Exp(.025*g.random.NormFloat64())
	if g.random.Float64() < .1 {
		noise *= 1.15 // a disturbed round is always slower
	}
	g.measure(&c, noise*g.slower)
	if c.Load.Shape == manifest.Closed && costs[model] < 4.45 && condition == manifest.Own {
		c.Labels = []string{record.GeneratorBound}
	}
	return c
}

// measure fills in what the load and the sampler saw.
func (g *generator) measure(c *record.Cell, noise float64) {
	window := 2 * time.Second
	cost := costs[c.Model]
	if cost == 0 {
		cost = 6
	}
	cost *= noise
	var requests, percent float64
	switch c.Load.Shape {
	case manifest.Paced:
		window = 4500 * time.Millisecond
		n := float64(c.Load.Connections)
		requests = 100 * n * window.Seconds()
		percent = .3*cost/3 + .028*cost*math.Pow(n, .93)
		if c.Model == "c-process" {
			percent = (.4 + .22*n/(1+n/90)) * noise
		}
	case manifest.Open:
		requests = c.Load.Rate * window.Seconds()
		percent = requests * cost * 1.6 / 1e4 / window.Seconds()
	default:
		share := 1 + .1*c.Load.ReadShare
		requests = share * 1e6 / (cost + 1.2) * window.Seconds()
		percent = requests * cost / 1e4 / window.Seconds()
	}
	c.Result = &load.Result{Window: window, Threads: 1, Slices: []int64{int64(requests)}}
	switch c.Load.Shape {
	case manifest.Paced:
		c.Result.Part = &load.Messages{Sent: int64(requests), Total: int64(1.4 * requests)}
	default:
		part := &load.Requests{Answered: int64(requests), Total: int64(1.4 * requests)}
		if c.Load.Shape == manifest.Open {
			part.Latency = g.latency(cost, requests)
		}
		c.Result.Part = part
	}
	c.Server = g.series(c, window, percent)
}

// latency is a distribution with a tail, of about as many requests as were answered.
func (g *generator) latency(cost, requests float64) *hist.Histogram {
	h := &hist.Histogram{}
	for i := range 2000 {
		q := (float64(i) + .5) / 2000
		us := (20 + 3*cost) * math.Exp(.22*math.Sqrt2*math.Erfinv(2*q-1))
		if q > .98 {
			us *= 1 + (q-.98)*60*cost
		}
		h.RecordN(int64(us*1e3), uint64(requests/2000))
	}
	return h
}

func (g *generator) series(c *record.Cell, window time.Duration, percent float64) *sample.Series {
	every := window / 18
	s := &sample.Series{Source: "cgroup2+proc", Every: every}
	var cpu time.Duration
	add := func(at time.Duration, mark string) {
		s.Samples = append(s.Samples, sample.Sample{
			At: at, User: cpu * 2 / 5, System: cpu * 3 / 5, RSS: 3 << 20, Processes: 1,
			Threads:   1 + c.Load.Connections%7,
			Voluntary: int64(at / (40 * time.Microsecond)), Mark: mark,
		})
		if mark != "" {
			s.Samples[len(s.Samples)-1].PSS = int64(2e6 * costs[c.Model])
		}
	}
	add(0, sample.MarkIdle)
	warm := 500 * time.Millisecond
	cpu += time.Duration(percent / 100 * float64(warm))
	add(warm, sample.MarkOpen)
	for i := range 18 {
		cpu += time.Duration(percent / 100 * float64(every) * math.Exp(.09*g.random.NormFloat64()))
		mark := ""
		if i == 17 {
			mark = sample.MarkClosed
		}
		add(warm+time.Duration(i+1)*every, mark)
	}
	return s
}

// tree is a small house: three experiments and thirteen models, sources in dir.
func syntheticTree(dir string) *manifest.Tree {
	t := &manifest.Tree{Root: dir}
	for _, service := range []string{"counter", "echo", "sink"} {
		s := &manifest.Service{Name: service, Protocol: service, Dir: dir}
		for _, m := range [][3]string{
			{"c-epoll", "loop", "cc"}, {"c-epoll-percore", "prefork", "cc"},
			{"c-libev", "loop", "cc"}, {"c-process", "process", "cc"},
			{"c-thread", "thread", "cc"}, {"c-uring", "prefork", "cc"},
			{"erlang-actor", "actor", "erl"}, {"go-goroutine", "goroutine", "go"},
			{"java-thread", "thread", "java >= 25"}, {"java-virtual", "virtual", "java >= 25"},
			{"node-loop", "loop", "node"},
			{"node-prefork", "prefork", "node"}, {"rust-async", "async", "cargo"},
		} {
			s.Models = append(s.Models, &manifest.Model{
				Name: m[0], Service: service, Dir: dir, Model: m[1], Needs: []string{m[2]},
				Summary: "one of thirteen: " + m[1] + ".", Source: []string{m[0] + ".c"},
			})
		}
		t.Services = append(t.Services, s)
	}
	t.Experiments = []*manifest.Experiment{cpuExperiment(), echoExperiment(), counterExperiment()}
	return t
}

var allModels = []string{
	"go-goroutine", "c-process", "c-thread", "c-epoll", "c-epoll-percore", "c-libev", "c-uring",
	"rust-async",
	"erlang-actor", "node-loop", "node-prefork", "java-thread", "java-virtual",
}

func both(d manifest.Depth, e *manifest.Experiment) {
	e.Quick, e.Normal, e.Full = d, d, d
}

func cpuExperiment() *manifest.Experiment {
	e := &manifest.Experiment{
		Name: "papayachat-cpu", Title: "Processes against goroutines at a fixed load",
		Source: "papayachat.txt, sections V and VI",
		Question: "Do kernel processes cost more CPU than goroutines when each client sends the " +
			"same stream?", Expect: "Less for one client; with many the difference shrinks.",
		Setup: []string{"FreeBSD 13.0, 1 virtual CPU", "GCC 10.4, Go 1.18.2"}, Service: "sink",
		Models: allModels, Baseline: "go-goroutine",
		Metrics: []manifest.Metric{manifest.CPU, manifest.CPUVariation},
		Axis:    manifest.Axis{Over: "connections", Label: "open connections", Log: true},
	}
	for _, n := range []int{1, 4, 16, 64} {
		e.Points = append(e.Points, manifest.Point{Name: fmt.Sprintf("connections = %d", n),
			X: float64(n), Service: "sink",
			Load: manifest.Load{Shape: manifest.Paced, Connections: n, SizeBytes: 1250, Pipeline: 1,
				Bits: 1e6}})
	}
	e.Curves = []manifest.Curve{{Model: "go-goroutine", Metric: manifest.CPU,
		Label: "Go in the paper", Points: [][2]float64{{1, .8}, {16, 6}, {64, 14}}}}
	of, against := manifest.Term{Model: "c-process"}, manifest.Term{Model: "go-goroutine"}
	e.Claims = []manifest.Claim{
		{ID: "P1", Kind: "direction",
			Sentence: "The process server uses less CPU at every number of connections.",
			Where:    "section VI A", Metric: manifest.CPU, Of: of, Against: against, Sense: "less",
			At: []string{"every"}, Margin: 1.05},
		{ID: "P2", Kind: "shape", Shape: "linear",
			Sentence: "Go's CPU grows almost linearly with connections.", Where: "section VI A",
			Metric: manifest.CPU, Of: against, Published: 1, Margin: 1.25},
		{ID: "P3", Kind: "shape", Shape: "flattens", After: 16,
			Sentence: "The process server's growth drops after 16 connections.",
			Where:    "section VI A", Metric: manifest.CPU, Of: of, Margin: 1.25},
		{ID: "P4", Kind: "direction",
			Sentence: "At higher loads the process server's CPU is steadier.",
			Where:    "section VI B", Metric: manifest.CPUVariation, Of: of, Against: against,
			Sense: "less", From: 16, Margin: 1.05},
	}
	both(manifest.Depth{Rounds: 12, WarmUp: time.Second, Window: 4500 * time.Millisecond,
		Sample: 500 * time.Millisecond, Conditions: []manifest.Condition{manifest.Own}}, e)
	return e
}

func echoExperiment() *manifest.Experiment {
	e := &manifest.Experiment{
		Name: "eve-echo", Title: "Echo under 150 clients", Source: "eve.txt, section 4.1",
		Question: "How many requests a second does each model answer?",
		Setup:    []string{"2 x Xeon E5-2650, 32 hardware threads"}, Service: "echo",
		Models: allModels, Baseline: "c-epoll",
		Metrics: []manifest.Metric{manifest.Throughput, manifest.CPUPerRequest, manifest.LatencyP99,
			manifest.PSS},
		Points: []manifest.Point{
			{Name: "echo", X: math.NaN(), Service: "echo",
				Load: manifest.Load{Shape: manifest.Closed, Connections: 150, Requests: 10_000,
					SizeBytes: 16, Pipeline: 1}},
			{Name: "latency", X: math.NaN(), Service: "echo",
				Load: manifest.Load{Shape: manifest.Open, Connections: 150, SizeBytes: 16,
					Pipeline: 1, Rate: 5000, Gaps: "exponential"},
				Models: []string{"c-epoll", "go-goroutine", "erlang-actor", "node-prefork"}},
		},
		Claims: []manifest.Claim{
			{ID: "E2b", Kind: "magnitude",
				Sentence: "libev answers 3.88 times as many requests a second as Node.",
				Where:    "section 4.1", Metric: manifest.Throughput,
				Of: manifest.Term{Model: "c-libev"}, Against: manifest.Term{Model: "node-loop"},
				Published: 3.88, At: []string{"echo"}, Margin: 1.25,
				Transfer: "Fourteen years of V8 lie between."},
			{ID: "E1c", Kind: "magnitude",
				Sentence: "Between two hosts Eve answers 3 % more than Erlang.",
				Where:    "section 4.1", Metric: manifest.Throughput,
				Of: manifest.Term{Model: "eve-task"}, Against: manifest.Term{Model: "erlang-actor"},
				Published: 1.03, Margin: 1.1, Comparable: "it needs two hosts joined by a cable"},
			{ID: "E3", Kind: "direction", Sentence: "Erlang's 99th percentile lies above a loop's.",
				Where: "figure 2", Metric: manifest.LatencyP99,
				Of: manifest.Term{Model: "erlang-actor"}, Against: manifest.Term{Model: "c-epoll"},
				Sense: "greater", At: []string{"latency"}, Margin: 1.05},
		},
	}
	both(manifest.Depth{Rounds: 12, WarmUp: time.Second, Window: 2 * time.Second,
		Sample: 100 * time.Millisecond, Conditions: []manifest.Condition{manifest.Own,
			manifest.Shared}}, e)
	return e
}

func counterExperiment() *manifest.Experiment {
	e := &manifest.Experiment{
		Name: "eve-counter", Title: "A shared counter", Source: "eve.txt, section 4.2",
		Question: "What does one piece of shared state cost?",
		Service:  "counter", Models: allModels, Baseline: "c-epoll",
		Metrics: []manifest.Metric{manifest.Throughput},
		Axis:    manifest.Axis{Over: "read_share", Label: "share of reads"},
	}
	for _, share := range []float64{0, .5, 1} {
		e.Points = append(e.Points, manifest.Point{Name: fmt.Sprintf("read_share = %g", share),
			X: share, Service: "counter",
			Load: manifest.Load{Shape: manifest.Closed, Connections: 150, SizeBytes: 1, Pipeline: 1,
				ReadShare: share}})
	}
	e.Claims = []manifest.Claim{
		{ID: "E8a", Kind: "shape", Shape: "flat",
			Sentence: "Erlang's rate hardly depends on the share of reads.", Where: "section 4.2",
			Metric: manifest.Throughput, Of: manifest.Term{Model: "erlang-actor"}, Margin: 1.25},
		{ID: "P1", Kind: "magnitude",
			Sentence: "With nothing but reads Erlang answers 74 % of a loop's requests.",
			Where:    "section 4.2", Metric: manifest.Throughput,
			Of: manifest.Term{Model: "erlang-actor"}, Against: manifest.Term{Model: "c-epoll"},
			Published: .74, At: []string{"read_share = 1"}, Margin: 1.25},
	}
	both(manifest.Depth{Rounds: 12, WarmUp: time.Second, Window: 2 * time.Second,
		Sample: 100 * time.Millisecond, Conditions: []manifest.Condition{manifest.Shared}}, e)
	return e
}
