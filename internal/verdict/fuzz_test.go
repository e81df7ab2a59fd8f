package verdict

import (
	"encoding/json"
	"testing"

	"interleave/internal/manifest"
	"interleave/internal/record"
)

// FuzzJudge reads strange records: whatever their cells say, every claim gets a word
// and a sentence.
func FuzzJudge(f *testing.F) {
	e := sweep(0, 1, 16)
	e.Claims = []manifest.Claim{
		direction("b", "a", "less"), direction("b", "a", "less", "mean"),
		magnitude("b@alone", "a", 2, "connections = 1"),
		order("", "c", "b", "a"), shape("linear"), shape("flat"),
		with(shape("flattens"), func(c *manifest.Claim) { c.After = 1 }),
		{Kind: "crossover", Metric: manifest.Throughput, Of: term("a"), Against: term("b"),
			Sense: "greater", Published: 8, Margin: 1.25},
		best(direction("a", "", "greater"), "b", "c"), best(magnitude("b", "", .5), "others"),
		shape("straight"), with(shape("steepens"), func(c *manifest.Claim) { c.After = 1 }),
		with(shape("widens"), func(c *manifest.Claim) { c.Against, c.Sense = term("b"), "less" }),
		with(shape("widens"), func(c *manifest.Claim) {
			c.Against, c.Sense, c.By = term("b"), "less", manifest.Difference
		}),
		{Kind: "non-inferiority", Metric: manifest.Threads, Of: term("a"), Against: term("b")},
		{Kind: "bound", Metric: manifest.Threads, Of: term("a"), Sense: "less", Published: 2},
		{Kind: "absolute", Metric: manifest.CPUVariation, Of: term("a"), Published: 1,
			At: []string{"alone"}, Margin: 1.25},
	}
	good := experimenter{experiment: e, rounds: 6, noise: .1}.cells(byModel(1000, 800, 500))
	lone := []record.Cell{{Experiment: "made", Model: "a", Point: "alone",
		Status: record.Measured}}
	for _, c := range []any{good[:3], good, lone} {
		text, err := json.Marshal(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`[{"experiment":"made","point":"alone","model":"a","condition":"own","round":-1,"status":"measured","result":{"window_ns":-5,"requests":9}}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var cells []record.Cell
		if json.Unmarshal(data, &cells) != nil || len(cells) > 200 {
			return
		}
		for _, v := range Judge(e, cells, noModels) {
			if v.Word == "" || v.Sentence == "" || v.Sentence[len(v.Sentence)-1] != '.' {
				t.Errorf("%s %s: word %q, sentence %q", v.Claim.Kind, v.Claim.Shape, v.Word,
					v.Sentence)
			}
			if v.Decided() != (v.Looked > 0) || v.Decided() && v.Edge {
				t.Errorf("%s %s: %s at round %d, given up: %t", v.Claim.Kind, v.Claim.Shape,
					v.Word, v.Looked, v.Edge)
			}
		}
		TooWide(e, cells, noModels)
		for m := range manifest.Metrics {
			Rows(e, cells, manifest.Own, m)
		}
	})
}
