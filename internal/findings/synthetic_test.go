package findings

// Runs that nobody measured: one experiment of a paper, a question of our own, and cells with known
// ratios.

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"interleave/internal/load"
	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/report"
	"interleave/internal/sample"
)

// rates are requests a second that the models answer.
var rates = map[string]float64{"c-epoll": 200_000, "c-uring": 201_000, "go-goroutine": 120_000,
	"node-loop": 90_000}

func closed(connections int) manifest.Load {
	return manifest.Load{Shape: manifest.Closed, Connections: connections, SizeBytes: 16,
		Pipeline: 1}
}

// smallTree has sources in dir: node's is the shortest.
func smallTree(t *testing.T, dir string) *manifest.Tree {
	t.Helper()
	s := &manifest.Service{Name: "echo", Protocol: "echo", Dir: dir}
	for i, name := range []string{"c-epoll", "c-uring", "go-goroutine", "node-loop"} {
		file := name + ".c"
		text := ""
		for range 40 - 10*i {
			text += "int x;\n"
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		s.Models = append(s.Models, &manifest.Model{Name: name, Service: "echo", Dir: dir,
			Language: "c", Source: []string{file}})
	}
	models := []string{"c-epoll", "c-uring", "go-goroutine", "node-loop"}
	of := func(name string) manifest.Term { return manifest.Term{Model: name} }
	e := &manifest.Experiment{Name: "eve-echo", Title: "Echo", Source: "eve.txt, section 4.1",
		Question: "How many requests a second?", Setup: []string{"32 hardware threads"},
		Service: "echo", Models: models, Baseline: "c-epoll",
		Metrics: []manifest.Metric{manifest.Throughput, manifest.CPUPerRequest},
		Points: []manifest.Point{{Name: "echo", X: math.NaN(), Service: "echo",
			Load: closed(150)}},
		Claims: []manifest.Claim{
			{ID: "E2a", Kind: "direction", Sentence: "Node answers less than C.", Where: "figure 2",
				Metric: manifest.Throughput, Of: of("node-loop"), Against: of("c-epoll"),
				Sense: "less", At: []string{"echo"}, Margin: 1.05},
			{ID: "E2b", Kind: "magnitude", Sentence: "C answers 3.88 times as much as Node.",
				Metric: manifest.Throughput, Of: of("c-epoll"), Against: of("node-loop"),
				Published: 3.88, At: []string{"echo"}, Margin: 1.25,
				Transfer: "c-epoll stands for libev."},
			{ID: "E1c", Kind: "magnitude", Sentence: "Between two hosts | it is <3 %>.",
				Metric: manifest.Throughput, Of: of("c-uring"), Against: of("c-epoll"),
				Published: 1.03, Margin: 1.1, Comparable: "it needs two hosts"},
			{ID: "E4a", Kind: "direction", Sentence: "Ours: Node's has fewer lines.", Ours: true,
				Metric: manifest.Lines, Of: of("node-loop"), Against: of("c-epoll"),
				Sense: "less", Margin: 1.05},
		}}
	counter := &manifest.Experiment{Name: "eve-counter", Title: "A counter",
		Source: "eve.txt, section 4.2", Question: "What does it cost?", Service: "echo",
		Models: models, Baseline: "c-epoll", Metrics: []manifest.Metric{manifest.Throughput},
		Axis: manifest.Axis{Over: "connections", Label: "connections"},
		Claims: []manifest.Claim{{ID: "E8a", Kind: "direction", Sentence: "Go answers less.",
			Metric: manifest.Throughput, Of: of("go-goroutine"), Against: of("c-epoll"),
			Sense: "less", Margin: 1.05}}}
	for _, n := range []int{1, 64} {
		counter.Points = append(counter.Points, manifest.Point{
			Name: fmt.Sprintf("connections = %d", n), X: float64(n), Service: "echo",
			Load: closed(n)})
	}
	own := &manifest.Experiment{Name: "own", Title: "Ours", Source: "a question of our own",
		Service: "echo", Models: models, Baseline: "c-epoll"}
	for _, x := range []*manifest.Experiment{e, counter, own} {
		x.Normal = manifest.Depth{Rounds: 8, Conditions: []manifest.Condition{manifest.Own}}
		x.Quick, x.Full = x.Normal, x.Normal
	}
	return &manifest.Tree{Root: dir, Services: []*manifest.Service{s},
		Experiments: []*manifest.Experiment{e, counter, own}}
}

// smallRun measures eve-echo and eve-counter in eight rounds; factor is on Node's rate.
func smallRun(t *testing.T, factor float64) report.Run {
	t.Helper()
	tree := smallTree(t, t.TempDir())
	random := rand.New(rand.NewPCG(7, 7))
	at := time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)
	run := report.Run{Tree: tree, Header: record.Header{Version: record.Version, Depth: "normal",
		ID: "20261121T093000Z", Started: at, Hosts: "local",
		Experiments: []string{"eve-echo", "eve-counter"},
		Machine: record.Machine{Cores: 2, CPU: "AMD EPYC", MemBytes: 23 << 30, Kernel: "6.18.5",
			System: "Debian GNU/Linux 12", Clock: "tsc", Cgroups: "v2",
			ToolChains: map[string]string{"cc": "12.2.0", "go": "1.26.8"}},
		Calibration: []record.Check{{Name: "a known burn", OK: true}},
		Skipped: []record.Skip{{Service: "echo", Model: "erlang-actor",
			Reason: "needs erl: apt-get install erlang-base", Detail: "long"}}}}
	for _, e := range tree.Experiments[:2] {
		for round := 1; round <= 8; round++ {
			drift := math.Exp(.05 * random.NormFloat64())
			for _, p := range e.Points {
				for _, m := range append(e.Models[:4:4], e.Baseline) {
					rate := rates[m] * drift * math.Exp(.004*random.NormFloat64())
					if m == "node-loop" {
						rate *= factor
					}
					c := smallCell(e.Name, p, m, round, rate, at)
					c.Twin = len(run.Cells) > 0 && m == e.Baseline &&
						run.Cells[len(run.Cells)-1].Model == "node-loop"
					if round == 3 && m == "c-uring" {
						c.Status = record.Void
						c.Reasons = []record.Reason{{Gate: "steal", Text: "the host took 2 %"}}
					}
					run.Cells = append(run.Cells, c)
				}
			}
		}
	}
	end := at.Add(time.Hour)
	run.Header.Finished = &end
	return run
}

func smallCell(experiment string, p manifest.Point, model string, round int, rate float64,
	at time.Time) record.Cell {
	window := 2 * time.Second
	requests := int64(rate * window.Seconds())
	c := record.Cell{Experiment: experiment, Point: p.Name, Service: "echo", Model: model,
		Condition: manifest.Own, Round: round, Started: at, Took: 3 * time.Second,
		Status: record.Measured, Load: p.Load}
	c.Result = &load.Result{Window: window, Threads: 1, Slices: []int64{requests},
		Part: &load.Requests{Answered: requests, Total: requests}}
	c.Server = &sample.Series{Every: window, Samples: []sample.Sample{
		{At: time.Second, Mark: sample.MarkOpen},
		{At: time.Second + window, User: window / 2, System: window / 2, Mark: sample.MarkClosed},
	}}
	if model == "c-epoll" {
		c.Labels = []string{record.GeneratorBound}
	}
	return c
}
