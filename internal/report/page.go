package report

// The page: everything that its template shows, computed beforehand, so that the template holds no
// thought.

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"interleave/internal/manifest"
	"interleave/internal/quantity"
	"interleave/internal/record"
	"interleave/internal/report/figure"
	"interleave/internal/verdict"
)

//go:embed templates
var templates embed.FS

// uPlot 1.6.32, MIT; see docs/decisions.
//
//go:embed uplot/uPlot.iife.min.js
var plotScript string

//go:embed uplot/uPlot.min.css
var plotStyles string

//go:embed uplot/LICENSE
var plotLicence string

// HTML writes the run as one page that loads nothing from elsewhere.
func HTML(w io.Writer, run Run) error {
	t, err := template.New("page.html").Funcs(template.FuncMap{"set": set,
		"sentence": sentence}).ParseFS(templates, "templates/*.html")
	if err != nil {
		return fmt.Errorf("reading the page's templates: %w", err)
	}
	p, err := newPage(examine(run))
	if err != nil {
		return err
	}
	if err := t.Execute(w, p); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// A page is what page.html sees.
type page struct {
	ID, Title   string
	Started     string
	Unfinished  bool
	Abstract    []string
	Claims      int // of all experiments
	Decided     int // of these
	Undecided   int
	Score       []score // of the decided ones
	Answers     []answerGroup
	Axis, Bare  template.HTML // of the answers, with the labels of its ticks and without
	Grids       template.HTML // of all axes that rows share
	Choices     []choice
	Experiments []experimentView
	Time        overTime
	TimeJSON    template.JS
	Sources     []source
	Stacks      *stackView
	Left, Right *source // that stand beside each other before anyone chooses
	Machine     []pairText
	Chains      []pairText
	Calibration []checkView
	Skipped     []record.Skip
	Losses      []loss
	Gates       []gate
	Command     string
	Depth       string
	Seed        string
	Styles      template.CSS
	Script      template.JS
	PlotScript  template.JS
	PlotLicence string
}

// A score is how many claims bear a word.
type score struct {
	Mark, Says string
	N          int
}

// pairText is a line of a list of definitions.
type pairText struct{ Name, Text string }

// An experimentView is one experiment of the page.
type experimentView struct {
	Anchor, Title, Name, Source string
	Question, Expect            string
	Theirs, Ours                []string
	Claims                      []claimView
	// of these, those that say something of this machine, and the others
	Judged, Apart []claimView
	Conditions    []conditionView
	Measured      bool
	Matrix        *table // of one that builds in place of measuring
}

// A conditionView is what was measured under one condition.
type conditionView struct {
	Name    string
	Folded  bool // not the condition that claims are judged in
	Figures []drawn
}

type checkView struct {
	record.Check
	TruthText, MeasuredText, ToleranceText string // "" where no truth is known
}

// A loss is a cell that no figure rests on.
type loss struct {
	Where, Model, Status string
	Round                int
	Reasons              []string
	Tail                 string
}

// A gate is what voided cells, and how many.
type gate struct {
	Name, Example string
	Cells         int
}

func newPage(s *study) (*page, error) {
	h := s.Header
	p := &page{
		ID: h.ID, Title: "What this machine says",
		Started:    h.Started.UTC().Format("2 January 2006, 15:04") + " UTC",
		Unfinished: h.Finished == nil, Abstract: s.abstract(), Skipped: record.Servers(h.Skipped),
		Losses:  s.losses(),
		Command: command(h.Command), Depth: h.Depth, Seed: fmt.Sprint(h.Seed),
		Sources: s.allSources(), PlotScript: template.JS(plotScript),
		PlotLicence: strings.TrimSpace(plotLicence),
	}
	p.Gates = s.gates()
	p.Claims = len(s.verdicts())
	styles := s.styles()
	taken := map[string]bool{}
	for _, e := range s.experiments {
		p.Experiments = append(p.Experiments, s.view(e, styles, taken))
	}
	s.fillAnswers(p)
	p.Time = s.overTime(styles)
	p.numberFigures()
	// json.Marshal escapes <, > and &, so the data cannot end the element that holds them.
	data, err := json.Marshal(p.Time.Timelines)
	if err != nil {
		return nil, fmt.Errorf("writing samples into the page: %w", err)
	}
	p.TimeJSON = template.JS(data)
	if len(p.Sources) > 0 {
		left, right := s.pair(p.Sources)
		p.Left, p.Right = &p.Sources[left], &p.Sources[right]
	}
	p.Stacks = s.stacks()
	s.fillMachine(p)
	css, err := templates.ReadFile("templates/page.css")
	if err != nil {
		return nil, fmt.Errorf("reading the page's style: %w", err)
	}
	script, err := templates.ReadFile("templates/page.js")
	if err != nil {
		return nil, fmt.Errorf("reading the page's script: %w", err)
	}
	p.Styles = template.CSS(figure.Styles + string(css) + plotStyles)
	p.Script = template.JS(script)
	return p, nil
}

// fillAnswers sets what the page begins with, and the list of what is open.
func (s *study) fillAnswers(p *page) {
	n := s.tally()
	for _, w := range order {
		if decided(w) {
			p.Score = append(p.Score, score{marks[w], string(w), n[w]})
			p.Decided += n[w]
		}
	}
	p.Undecided = p.Claims - p.Decided
	anchors := map[claimKey]string{}
	for _, e := range p.Experiments {
		for _, c := range e.Claims {
			anchors[claimKey{e.Name, c.Claim.ID}] = c.Anchor
		}
	}
	groups, axis := s.answers(anchors)
	p.Answers = groups
	p.Axis, p.Bare = template.HTML(axis.Axis()), template.HTML(axis.Bare("claims"))
	p.Choices = s.choices()
	p.Grids = template.HTML(axis.Grid("claims")) + grids(p.Choices)
}

// numberFigures counts them in the order of the page.
func (p *page) numberFigures() {
	n := 0
	if p.Decided > 0 {
		n = 1 // the answers
	}
	number := func(list []drawn) {
		for i := range list {
			n++
			list[i].Number = n
		}
	}
	for _, e := range p.Experiments {
		for _, c := range e.Claims {
			number(c.Figures) // Judged and Apart share the figures
		}
		for _, c := range e.Conditions {
			number(c.Figures)
		}
	}
	if p.Time.Figure != nil {
		p.Time.Figure.Number = n + 1
	}
}

// gates counts the reasons, the most frequent first.
func (s *study) gates() []gate {
	var out []gate
	for _, c := range s.Cells {
		if c.Status == record.Measured {
			continue
		}
		for _, r := range c.Reasons {
			i := slices.IndexFunc(out, func(g gate) bool { return g.Name == r.Gate })
			if i < 0 {
				i = len(out)
				out = append(out, gate{Name: r.Gate, Example: r.Text})
			}
			out[i].Cells++
		}
	}
	slices.SortStableFunc(out, func(a, b gate) int { return cmp.Compare(b.Cells, a.Cells) })
	return out
}

func (s *study) view(e *experiment, styles map[string]figure.Style,
	taken map[string]bool) experimentView {
	v := experimentView{
		Anchor: anchor(e.Name), Title: e.title(), Name: e.Name, Source: e.Source,
		Question: e.Question, Expect: e.Expect, Theirs: e.Setup, Ours: append(slices.Clone(e.Here),
			s.ours(e)...), Measured: len(e.cells) > 0, Matrix: e.matrix(),
	}
	taken[v.Anchor] = true
	v.Claims = s.claims(e, taken)
	for _, c := range v.Claims {
		if silent(c.Verdict) > 0 {
			v.Apart = append(v.Apart, c)
		} else {
			v.Judged = append(v.Judged, c)
		}
	}
	judged := map[manifest.Condition]bool{}
	for _, c := range e.verdicts {
		judged[c.Condition] = true
	}
	for i, c := range e.conditions {
		v.Conditions = append(v.Conditions, conditionView{
			Name: s.cores(c), Folded: i > 0 && !judged[c], Figures: s.measured(e, c, styles),
		})
	}
	return v
}

// losses are the cells that are void or failed, in the order in which they were measured.
func (s *study) losses() []loss {
	var out []loss
	for _, c := range s.Cells {
		if c.Status == record.Measured {
			continue
		}
		l := loss{Where: fmt.Sprintf("%s, %s, %s", c.Experiment, c.Point, c.Condition),
			Model: c.Model, Status: string(c.Status), Round: c.Round,
			Tail: strings.TrimSpace(c.Tail)}
		if c.Twin {
			l.Model += " again (A/A)"
		}
		for _, r := range c.Reasons {
			l.Reasons = append(l.Reasons, cmp.Or(r.Text, r.Gate))
		}
		out = append(out, l)
	}
	return out
}

func (s *study) fillMachine(p *page) {
	m := s.Header.Machine
	add := func(name, text string) {
		if text != "" {
			p.Machine = append(p.Machine, pairText{name, text})
		}
	}
	add("processor", strings.TrimSpace(quantity.Many(m.Cores, "core")+", "+m.CPU))
	if m.MemBytes > 0 {
		add("memory", quantity.Of(float64(m.MemBytes), "bytes"))
	}
	add("system", m.System)
	add("kernel", kernel(m.Kernel))
	add("virtual", m.Virtual)
	add("clock", m.Clock)
	add("congestion control", m.Congestion)
	add("control groups", m.Cgroups)
	add("hosts", s.Header.Hosts)
	add("stacks", strings.Join(words(s.Header.Stacks), ", "))
	for _, role := range sortedKeys(s.Header.CPUs) {
		add(role+"’s cores", numbers(s.Header.CPUs[role]))
	}
	for _, name := range sortedKeys(m.ToolChains) {
		p.Chains = append(p.Chains, pairText{strings.Replace(name, ">=", "≥", 1),
			cmp.Or(m.ToolChains[name], "version not told")})
	}
	for _, c := range s.Header.Checks() {
		v := checkView{Check: c, MeasuredText: quantity.Of(c.Measured, c.Unit)}
		if c.Tolerance > 0 {
			v.TruthText = quantity.Of(c.Truth, c.Unit)
			v.ToleranceText = "± " + quantity.Of(c.Tolerance, c.Unit)
		}
		p.Calibration = append(p.Calibration, v)
	}
}

// command is the command line as typed: the program by its name only, and in quotes the words that
// a shell would split.
func command(args []string) string {
	var parts []string
	for i, a := range args {
		if i == 0 {
			a = a[strings.LastIndexByte(a, '/')+1:]
		}
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\$*?&|;<>()") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		parts = append(parts, a)
	}
	return strings.Join(parts, " ")
}

// transfer is the claim's own note on the set-up; the rest stands with the experiment.
func (c claimView) Transfer() string { return c.Claim.Transfer }

// Table is of the comparisons where no figure has it.
func (c claimView) Table() *table {
	if len(c.Figures) > 0 ||
		!slices.ContainsFunc(c.Parts, func(p verdict.Part) bool { return len(p.Values) > 0 }) {
		return nil
	}
	t := claimTable(c.Verdict)
	return &t
}

// Says is how the verdict's mark is read out.
func (c claimView) Says() string { return capital(string(c.Word)) }
