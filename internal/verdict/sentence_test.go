package verdict

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"interleave/internal/manifest"
	"interleave/internal/stats"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestSentences keeps every kind of sentence in one file, to be read by a person.
func TestSentences(t *testing.T) {
	claims := func() []manifest.Claim {
		var out []manifest.Claim
		add := func(c manifest.Claim) { out = append(out, c) }
		for _, m := range sortedMetrics() {
			add(with(direction("b", "a", "less", "alone"),
				func(c *manifest.Claim) { c.Metric = m }))
			add(manifest.Claim{Kind: "absolute", Metric: m, Of: term("b"), Published: 8,
				At: []string{"alone"}, Margin: 1.25})
		}
		add(direction("b", "a", "greater"))
		add(with(direction("b", "a", "greater"), func(c *manifest.Claim) { c.Ours = true }))
		add(direction("b", "a", "less", "mean"))
		add(direction("b", "a", "less", "connections = 16"))
		add(direction("b", "a", "less", "connections = 4", "connections = 16"))
		add(magnitude("b", "a", .8, "alone"))
		add(magnitude("b", "a", .5, "mean"))
		add(magnitude("b@connections = 4", "b@alone", 1.5, "connections = 64"))
		add(manifest.Claim{Kind: "equality", Metric: manifest.Throughput, Of: term("b"),
			Against: term("a"), At: []string{"alone"}, Margin: 1.1})
		add(order("alone", "b", "a"))
		add(order("alone", "c", "b", "a"))
		add(order("", "a", "b"))
		add(order("mean", "b", "a"))
		add(shape("linear"))
		add(with(shape("linear"), func(c *manifest.Claim) { c.Published = 2 }))
		add(with(shape("flattens"), func(c *manifest.Claim) { c.After = 16 }))
		add(with(shape("flat"), func(c *manifest.Claim) { c.Metric = manifest.Throughput }))
		add(with(shape("straight"), func(c *manifest.Claim) { c.Metric = manifest.Throughput }))
		add(with(shape("steepens"), func(c *manifest.Claim) { c.After = 16 }))
		add(with(shape("widens"), func(c *manifest.Claim) {
			c.Against, c.Sense, c.Margin = term("b"), "greater", 1.05
		}))
		add(with(shape("widens"), func(c *manifest.Claim) {
			c.Against, c.Sense, c.Margin, c.By = term("b"), "greater", 1.05, manifest.Difference
		}))
		add(manifest.Claim{Kind: "non-inferiority", Metric: manifest.Throughput, Of: term("b"),
			Against: term("a"), At: []string{"alone"}, Margin: 1.1})
		add(with(bound("greater"), func(c *manifest.Claim) { c.Of = term("b") }))
		add(best(direction("a", "", "greater", "alone"), "b", "c"))
		add(best(direction("a", "", "greater", "connections = 4", "connections = 16"), "b", "c"))
		add(best(direction("a", "", "greater", "alone"), "b"))
		add(best(magnitude("c", "", .25, "alone"), "others"))
		add(best(magnitude("c", "", .25), "others"))
		add(best(magnitude("c", "", .25, "mean"), "a", "b"))
		add(manifest.Claim{Kind: "crossover", Metric: manifest.Throughput, Of: term("a"),
			Against: term("b"), Sense: "greater", Published: 8, Margin: 1.25})
		return out
	}()
	of := func(m string, p manifest.Point, _ int) float64 {
		x := p.X
		if math.IsNaN(x) {
			x = 1
		}
		return map[string]float64{"a": 10, "b": 8, "c": 2}[m] * min(x, 16+x/8)
	}
	swaps := func(m string, p manifest.Point, _ int) float64 {
		return map[string]float64{"a": 1000, "b": 1000 * math.Sqrt(p.X/7.5), "c": 1}[m]
	}
	var text strings.Builder
	for _, c := range claims {
		e := sweep(1, 4, 16, 32, 64)
		e.Claims = []manifest.Claim{c}
		truth := of
		if c.Kind == "crossover" {
			truth = swaps
		}
		models := Models{func(string, string) int { return 42 }, Missing(nil)}
		v := Judge(e, experimenter{experiment: e, rounds: 12, noise: .02,
			metric: c.Metric}.cells(truth), models)[0]
		fmt.Fprintf(&text, "%s %s, %s, at %q\n    %s\n", c.Kind, c.Shape, c.Metric, c.At,
			v.Sentence)
	}
	golden(t, "sentences.txt", text.String())
}

// TestEveryMetricHasItsWords holds the words to the rules of package stats. Lines of code are not
// measured, and have sentences of their own.
func TestEveryMetricHasItsWords(t *testing.T) {
	for m, info := range manifest.Metrics {
		if m == manifest.Lines {
			continue
		}
		for what, phrase := range map[string]string{"a ratio": info.Ratio,
			"a number": info.Amount} {
			if err := (stats.Words{A: "a", B: "b", Phrase: phrase}).Check(); err != nil {
				t.Errorf("%s of %s: %v", what, m, err)
			}
		}
	}
}

// sortedMetrics are all that are measured.
func sortedMetrics() []manifest.Metric {
	return []manifest.Metric{
		manifest.Throughput, manifest.CPUPerRequest, manifest.CPU, manifest.CPUVariation,
		manifest.LatencyP50, manifest.LatencyP99,
		manifest.Jitter, manifest.PSS, manifest.Threads, manifest.Switches,
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; `go test ./internal/verdict -update` rewrites it. Got:\n%s", file,
			got)
	}
}
