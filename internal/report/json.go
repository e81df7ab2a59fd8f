package report

// The run for scripts: verdicts and rows, with null where there is no number.

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/stats"
	"interleave/internal/verdict"
)

// The objects of the JSON form. A number that does not exist is null.
type (
	jsonRun struct {
		Run         string           `json:"run"`
		Started     time.Time        `json:"started"`
		Finished    *time.Time       `json:"finished"`
		Depth       string           `json:"depth"`
		Calibrated  bool             `json:"calibrated"`
		Seed        uint64           `json:"seed"`
		Cells       jsonCounts       `json:"cells"`
		Experiments []jsonExperiment `json:"experiments"`
	}
	jsonCounts struct {
		All      int `json:"all"`
		Measured int `json:"measured"`
		Void     int `json:"void"`
		Failed   int `json:"failed"`
	}
	jsonExperiment struct {
		Name     string        `json:"name"`
		Verdicts []jsonVerdict `json:"verdicts"`
		Rows     []jsonRow     `json:"rows"`
		Builds   []jsonBuild   `json:"builds,omitempty"`
	}
	jsonBuild struct {
		Target string       `json:"target"`
		Built  record.Built `json:"built"`
		Passed int          `json:"passed"`
		Played int          `json:"played"`
		Note   string       `json:"note,omitempty"`
	}
	jsonVerdict struct {
		Claim    string     `json:"claim"`
		Word     stats.Word `json:"word"`
		Source   string     `json:"source"`
		Says     string     `json:"says"`
		Sentence string     `json:"sentence"`
		Reason   string     `json:"reason,omitempty"`
		P        *float64   `json:"p"`      // of the test that reproduces
		Holm     *float64   `json:"p_holm"` // among the judged claims of its source
		// what a decision would take
		Takes     string             `json:"takes,omitempty"`
		Cautions  []string           `json:"cautions,omitempty"`
		Condition manifest.Condition `json:"condition,omitempty"`
		Parts     []jsonPart         `json:"parts,omitempty"`
	}
	jsonPart struct {
		Name      string      `json:"name"`
		Unit      string      `json:"unit"`
		Word      stats.Word  `json:"word"`
		Rounds    []int       `json:"rounds"`
		Values    []*float64  `json:"values"`
		Estimate  *float64    `json:"estimate"`
		Interval  [2]*float64 `json:"interval95"`
		Published *float64    `json:"published"`
		Accept    [2]*float64 `json:"accept"`
		Void      int         `json:"void"`
	}
	jsonRow struct {
		Point     string             `json:"point"`
		Condition manifest.Condition `json:"condition"`
		Service   string             `json:"service"`
		Model     string             `json:"model"`
		Twin      bool               `json:"twin,omitempty"`
		Metric    manifest.Metric    `json:"metric"`
		Unit      string             `json:"unit"`
		Rounds    []int              `json:"rounds"`
		Values    []*float64         `json:"values"`
		Estimate  *float64           `json:"estimate"`
		Interval  [2]*float64        `json:"interval95"`
		Ratio     *float64           `json:"ratio"`
		RatioCI   [2]*float64        `json:"ratio_interval95"`
		Void      int                `json:"void"`
		Labels    map[string]int     `json:"labels,omitempty"`
	}
)

// JSON writes verdicts and rows.
func JSON(w io.Writer, run Run) error {
	s := examine(run)
	out := jsonRun{
		Run: run.Header.ID, Started: run.Header.Started, Finished: run.Header.Finished,
		Depth: run.Header.Depth, Calibrated: len(run.Header.Calibration) > 0, Seed: run.Header.Seed,
		Cells:       jsonCounts{s.count.all, s.count.measured, s.count.void, s.count.broken},
		Experiments: []jsonExperiment{},
	}
	for _, e := range s.experiments {
		x := jsonExperiment{Name: e.Name, Verdicts: []jsonVerdict{}, Rows: []jsonRow{}}
		for _, v := range e.verdicts {
			x.Verdicts = append(x.Verdicts, s.verdictJSON(e, v))
		}
		for _, c := range e.conditions {
			for _, m := range e.metrics() {
				for _, r := range e.rows(c, m) {
					x.Rows = append(x.Rows, rowJSON(r))
				}
			}
		}
		for _, b := range e.builds {
			x.Builds = append(x.Builds, jsonBuild{b.Target, b.Built, b.Passed, b.Played, b.Note})
		}
		out.Experiments = append(out.Experiments, x)
	}
	return encode(w, out)
}

func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	return nil
}

func (s *study) verdictJSON(e *experiment, v verdict.Verdict) jsonVerdict {
	out := jsonVerdict{
		Claim: v.Claim.ID, Word: v.Word, Source: sourceOf(e.Experiment, v.Claim),
		Says: v.Claim.Sentence, Sentence: v.Sentence, Reason: v.Reason,
		Cautions: v.Cautions, Condition: v.Condition,
	}
	if !decided(v.Word) {
		out.Takes = takes(&s.Header, e, v)
	}
	if h, judged := s.holm[claimKey{e.Name, v.Claim.ID}]; judged {
		out.P, out.Holm = finite(v.Finding.P), finite(h.p)
	}
	for _, p := range v.Parts {
		out.Parts = append(out.Parts, jsonPart{
			Name: p.Name, Unit: p.Unit, Word: p.Finding.Word, Rounds: p.Rounds,
			Values:   finiteAll(p.Values),
			Estimate: finite(p.Finding.Estimate), Interval: ends(p.Finding.Interval95),
			Published: finite(p.Published),
			Accept:    [2]*float64{finite(p.Accept[0]), finite(p.Accept[1])}, Void: p.Void,
		})
	}
	return out
}

func rowJSON(r verdict.Row) jsonRow {
	return jsonRow{
		Point: r.Point, Condition: r.Condition, Service: r.Service, Model: r.Model, Twin: r.Twin,
		Metric: r.Metric,
		Unit:   manifest.Metrics[r.Metric].Unit, Rounds: r.Rounds, Values: finiteAll(r.Values),
		Estimate: finite(centre(r).Estimate), Interval: ends(centre(r)),
		Ratio: finite(ratio(r).Estimate), RatioCI: ends(ratio(r)),
		Void: r.Void, Labels: r.Labels,
	}
}

// finite is nil for what JSON cannot write.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func finiteAll(values []float64) []*float64 {
	out := make([]*float64, len(values))
	for i, v := range values {
		out[i] = finite(v)
	}
	return out
}

// ends are nil where the rounds are too few for the level, or do not bound that side.
func ends(iv stats.Interval) [2]*float64 {
	if iv.Short() || iv.Level == 0 {
		return [2]*float64{}
	}
	return [2]*float64{finite(iv.Lower), finite(iv.Upper)}
}
