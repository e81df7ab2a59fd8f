package report

// Two runs beside each other: what changed between two days, two machines, two versions. Rounds of
// different runs are no pairs, so the comparison is that of two samples: the Hodges-Lehmann shift
// of logarithms with the interval that inverts the Mann-Whitney test.

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"interleave/internal/manifest"
	"interleave/internal/quantity"
	"interleave/internal/stats"
	"interleave/internal/verdict"
)

// A change is one metric of one model at one point in two runs.
type change struct {
	Experiment string             `json:"experiment"`
	Point      string             `json:"point"`
	Condition  manifest.Condition `json:"condition"`
	Model      string             `json:"model"`
	Metric     manifest.Metric    `json:"metric"`
	RoundsA    int                `json:"rounds_a"`
	RoundsB    int                `json:"rounds_b"`
	Ratio      *float64           `json:"ratio"` // b by a
	Interval   [2]*float64        `json:"interval95"`
	Differs    bool               `json:"differs"` // the interval excludes 1
	a, b       stats.Interval
	ratio      stats.Interval
}

// A turn is a claim whose verdict is not the same in both runs.
type turn struct {
	Experiment string     `json:"experiment"`
	Claim      string     `json:"claim"`
	Says       string     `json:"says"`
	A          stats.Word `json:"a"` // empty: not in that run
	B          stats.Word `json:"b"`
}

// A gap is what differs between two machines or two ways of running.
type gap struct {
	Name string `json:"name"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// A comparison is what Compare and CompareJSON tell.
type comparison struct {
	A        string   `json:"a"`
	B        string   `json:"b"`
	Gaps     []gap    `json:"setup"`
	Verdicts []turn   `json:"verdicts"`
	Changes  []change `json:"changes"`
	OnlyA    int      `json:"only_in_a"` // figures that the other run does not have
	OnlyB    int      `json:"only_in_b"`
}

// CompareJSON writes the comparison for scripts.
func CompareJSON(w io.Writer, a, b Run) error { return encode(w, compare(a, b)) }

// Compare writes what changed from run a to run b: verdicts first, then figures whose interval
// excludes 1, the largest change first.
func Compare(w io.Writer, a, b Run, width int, color bool) error {
	c := compare(a, b)
	out := &screen{bufio.NewWriter(w), max(width, minWidth), color}
	out.line(out.bold("From " + c.A + " to " + c.B))
	out.gaps(c.Gaps)
	out.turns(c.Verdicts)
	out.changes(c)
	if err := out.w.Flush(); err != nil {
		return fmt.Errorf("writing the comparison: %w", err)
	}
	return nil
}

func compare(a, b Run) comparison {
	x, y := examine(a), examine(b)
	c := comparison{A: a.Header.ID, B: b.Header.ID, Gaps: gaps(a, b), Verdicts: turns(x, y),
		Changes: []change{}}
	for _, ex := range x.experiments {
		i := slices.IndexFunc(y.experiments, func(e *experiment) bool { return e.Name == ex.Name })
		if i < 0 {
			c.OnlyA += ex.figures()
			continue
		}
		c.add(ex, y.experiments[i])
	}
	for _, ey := range y.experiments {
		if !slices.ContainsFunc(x.experiments,
			func(e *experiment) bool { return e.Name == ey.Name }) {
			c.OnlyB += ey.figures()
		}
	}
	slices.SortStableFunc(c.Changes, func(a, b change) int {
		return cmp.Compare(math.Abs(math.Log(b.ratio.Estimate)),
			math.Abs(math.Log(a.ratio.Estimate)))
	})
	return c
}

// figures counts the rows of an experiment, the baseline's second cell left out.
func (e *experiment) figures() int {
	n := 0
	for _, c := range e.conditions {
		for _, m := range e.metrics() {
			n += len(e.told(c, m))
		}
	}
	return n
}

// told are the rows that say something: not the twin, and not a rate that the load set.
func (e *experiment) told(c manifest.Condition, m manifest.Metric) []verdict.Row {
	return slices.DeleteFunc(slices.Clone(e.rows(c, m)), func(r verdict.Row) bool {
		return r.Twin || len(r.Values) == 0 || m.Rate() && e.offered(r)
	})
}

func (c *comparison) add(x, y *experiment) {
	matched := 0
	for _, condition := range x.conditions {
		for _, m := range x.metrics() {
			theirs := y.told(condition, m)
			for _, r := range x.told(condition, m) {
				i := slices.IndexFunc(theirs,
					func(o verdict.Row) bool { return o.Point == r.Point && o.Model == r.Model })
				if i < 0 {
					c.OnlyA++
					continue
				}
				matched++
				c.Changes = append(c.Changes, changed(x.Name, r, theirs[i]))
			}
		}
	}
	c.OnlyB += y.figures() - matched
}

func changed(experiment string, a, b verdict.Row) change {
	iv := stats.Shift(logarithms(b.Values), logarithms(a.Values), .95)
	iv.Estimate, iv.Lower, iv.Upper = math.Exp(iv.Estimate), math.Exp(iv.Lower), math.Exp(iv.Upper)
	out := change{
		Experiment: experiment, Point: a.Point, Condition: a.Condition, Model: a.Model,
		Metric:  a.Metric,
		RoundsA: len(a.Values), RoundsB: len(b.Values), Ratio: finite(iv.Estimate), a: centre(a),
		b: centre(b), ratio: iv,
	}
	if !iv.Short() {
		out.Interval = ends(iv)
		out.Differs = iv.Lower > 1 || iv.Upper < 1
	}
	return out
}

func logarithms(values []float64) []float64 {
	out := make([]float64, 0, len(values))
	for _, v := range values {
		if v > 0 {
			out = append(out, math.Log(v))
		}
	}
	return out
}

// turns are the claims whose word is not the same.
func turns(x, y *study) []turn {
	type key struct{ experiment, claim string }
	seen := map[key]int{}
	out := []turn{}
	for _, v := range x.verdicts() {
		seen[key{v.Experiment, v.Claim.ID}] = len(out)
		out = append(out, turn{Experiment: v.Experiment, Claim: v.Claim.ID, Says: v.Claim.Sentence,
			A: v.Word})
	}
	for _, v := range y.verdicts() {
		if i, found := seen[key{v.Experiment, v.Claim.ID}]; found {
			out[i].B = v.Word
			continue
		}
		out = append(out, turn{Experiment: v.Experiment, Claim: v.Claim.ID, Says: v.Claim.Sentence,
			B: v.Word})
	}
	return slices.DeleteFunc(out, func(t turn) bool { return t.A == t.B })
}

// gaps are the differences of machine and of asking.
func gaps(a, b Run) []gap {
	out := []gap{}
	add := func(name, x, y string) {
		if x != y {
			out = append(out, gap{name, cmp.Or(x, "none"), cmp.Or(y, "none")})
		}
	}
	h, o := a.Header, b.Header
	add("cores", fmt.Sprint(h.Machine.Cores), fmt.Sprint(o.Machine.Cores))
	add("processor", h.Machine.CPU, o.Machine.CPU)
	add("memory", plainSpaces(quantity.Of(float64(h.Machine.MemBytes), "bytes")),
		plainSpaces(quantity.Of(float64(o.Machine.MemBytes), "bytes")))
	add("kernel", h.Machine.Kernel, o.Machine.Kernel)
	add("system", h.Machine.System, o.Machine.System)
	add("virtual", h.Machine.Virtual, o.Machine.Virtual)
	add("clock", h.Machine.Clock, o.Machine.Clock)
	add("congestion control", h.Machine.Congestion, o.Machine.Congestion)
	add("depth", h.Depth, o.Depth)
	add("hosts", h.Hosts, o.Hosts)
	add("stacks", strings.Join(words(h.Stacks), ", "), strings.Join(words(o.Stacks), ", "))
	for _, role := range sortedKeys(h.CPUs) {
		add(role+"'s cores", numbers(h.CPUs[role]), numbers(o.CPUs[role]))
	}
	chains := map[string]bool{}
	for _, list := range []map[string]string{h.Machine.ToolChains, o.Machine.ToolChains} {
		for name := range list {
			chains[name] = true
		}
	}
	for _, name := range sortedKeys(chains) {
		add(name, h.Machine.ToolChains[name], o.Machine.ToolChains[name])
	}
	return out
}

func (s *screen) gaps(list []gap) {
	if len(list) == 0 {
		s.line("Same machine, same tool chains, same depth.")
		return
	}
	s.line("What differs in the set-up:")
	for _, g := range list {
		s.line(fmt.Sprintf("  %-16s %s -> %s", g.Name, g.A, g.B))
	}
}

// word is a verdict in its colour, or what stands for none.
func (s *screen) word(w stats.Word, none string) string {
	if w == "" {
		return none
	}
	return s.escape(signs[w].color, string(w))
}

func (s *screen) turns(list []turn) {
	s.line("")
	if len(list) == 0 {
		s.line("Every claim has the same verdict in both.")
		return
	}
	s.line(s.bold(quantity.Many(len(list), "verdict") + " changed"))
	for _, t := range list {
		s.line(fmt.Sprintf("  %s  %s -> %s", s.bold(t.Claim), s.word(t.A, "not in the first run"),
			s.word(t.B, "not in the second run")))
		s.wrap("      ", t.Says)
	}
}

func (s *screen) changes(c comparison) {
	s.line("")
	differ := slices.DeleteFunc(slices.Clone(c.Changes), func(c change) bool { return !c.Differs })
	s.line(s.bold(fmt.Sprintf("%d of %s differ", len(differ),
		quantity.Many(len(c.Changes), "figure"))))
	if n := len(c.Changes); n > 0 {
		s.wrap("  ",
			fmt.Sprintf("By chance alone about %d would: each interval is one of 95 %%, unpaired.",
				int(math.Round(.05*float64(n)))))
	}
	if few := slices.IndexFunc(c.Changes,
		func(c change) bool { return c.ratio.Short() }); few >= 0 {
		s.wrap("  ", "Some have too few rounds for an interval, and so cannot differ.")
	}
	if c.OnlyA+c.OnlyB > 0 {
		s.wrap("  ", fmt.Sprintf("Only in the first run: %s; only in the second: %s.",
			quantity.Many(c.OnlyA, "figure"), quantity.Many(c.OnlyB, "figure")))
	}
	var t [][]string
	for _, d := range differ {
		u := manifest.Metrics[d.Metric].Unit
		t = append(t, []string{
			fmt.Sprintf("%s, %s, %s", d.Experiment, d.Point, d.Condition), d.Model,
			string(d.Metric),
			quantity.Short(d.a.Estimate, u), quantity.Short(d.b.Estimate, u), "x" +
				quantity.Estimate(d.ratio.Estimate, d.ratio.Lower, d.ratio.Upper, ""),
			fmt.Sprintf("%d+%d", d.RoundsA, d.RoundsB),
		})
	}
	if len(t) == 0 {
		return
	}
	t = append([][]string{{"where", "model", "metric", "first", "second", "ratio (95 %)",
		"rounds"}}, t...)
	for i := range t {
		for j := range t[i] {
			t[i][j] = plainSpaces(t[i][j])
		}
	}
	widths := columns(t)
	for i, line := range t {
		text := "  " + align(line, widths)
		if i == 0 {
			text = s.dim(text)
		}
		s.line(strings.TrimRight(text, " "))
	}
}
