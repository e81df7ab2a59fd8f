// Package findings keeps what a long run has found: the pages of docs/findings, made from the
// run's verdicts and ratios and from the paragraphs that people have written about the causes, and
// the figures that those pages show, so that another run can be held against them.
//
// The trade: everything that a page shows is in one file of figures, small enough to commit, so
// that pages can be written again after a paragraph has changed, on a machine that does not have
// the run. Raw samples and histograms stay with the run.
package findings

import (
	"strings"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/report"
	"interleave/internal/stats"
)

// Version is the format's of the figures. A reader refuses every other.
const Version = 3

// MaxBytes bounds the folder of the pages, figures and paragraphs included.
const MaxBytes = 1 << 20

// Figures are all that the pages show and a comparison needs.
type Figures struct {
	Version    int            `json:"version"`
	Run        string         `json:"run"`
	Started    time.Time      `json:"started"`
	Finished   *time.Time     `json:"finished,omitempty"` // nil: the run has no end
	Measuring  time.Duration  `json:"measuring_ns"`       // sum over the cells
	Hosts      string         `json:"hosts"`
	Calibrated bool           `json:"calibrated"`
	Machine    record.Machine `json:"machine"`
	Cells      Counts         `json:"cells"`
	Gates      []Gate         `json:"gates"`
	Labels     []Label        `json:"labels"`
	Skipped    []record.Skip  `json:"skipped"`
	Sources    []Source       `json:"sources"`
	Stacks     *Stacks        `json:"stacks,omitempty"` // nil: no code of them was there
	Claims     []Claim        `json:"claims"`
	Choices    []Choice       `json:"choices"`
	Tables     []Table        `json:"tables"`
}

// Counts are of cells.
type Counts struct {
	All      int `json:"all"`
	Measured int `json:"measured"`
	Void     int `json:"void"`
	Failed   int `json:"failed"`
}

// Stacks are the lines of one function in several TCP/IP stacks, by its steps: the comparison of
// gonet.txt, section 4.2.
type Stacks struct {
	Names []string           `json:"names"`
	Steps []report.StackStep `json:"steps"`
}

// A Gate is a reason for which cells do not count.
type Gate struct {
	Name    string `json:"name"`
	Cells   int    `json:"cells"`
	Example string `json:"example"`
}

// A Label is a remark that measured cells bear.
type Label struct {
	Name  string `json:"name"`
	Cells int    `json:"cells"`
}

// A Source is what has a page of its own: a paper, or the questions of our own.
type Source struct {
	Name        string       `json:"name"` // of the page's file, without ".md"
	Experiments []Experiment `json:"experiments"`
}

// An Experiment is one that has claims of a source.
type Experiment struct {
	Name     string   `json:"name"`
	Title    string   `json:"title"`
	Source   string   `json:"source"` // with the sections
	Question string   `json:"question"`
	Setup    []string `json:"setup"` // of the source
}

// A Claim is one claim with the verdict of the run.
type Claim struct {
	Source     string             `json:"source"`
	Experiment string             `json:"experiment"`
	ID         string             `json:"id"`
	Kind       string             `json:"kind,omitempty"`
	Ours       bool               `json:"ours,omitempty"`
	Says       string             `json:"says"`
	Where      string             `json:"where,omitempty"`
	Transfer   string             `json:"transfer,omitempty"`
	Margin     float64            `json:"margin,omitempty"`
	Word       stats.Word         `json:"word"`
	Sentence   string             `json:"sentence"`
	Reason     string             `json:"reason,omitempty"`
	Cautions   []string           `json:"cautions,omitempty"`
	Condition  manifest.Condition `json:"condition,omitempty"`
	Metric     manifest.Metric    `json:"metric,omitempty"`
	Weakest    string             `json:"weakest,omitempty"` // the part that decides
	Parts      []Part             `json:"parts,omitempty"`
}

// A Part is one comparison that a verdict rests on.
type Part struct {
	Name      string     `json:"name"`
	Unit      string     `json:"unit"`
	Word      stats.Word `json:"word,omitempty"`
	Estimate  Span       `json:"estimate"`           // 95 %
	Published Range      `json:"published,omitzero"` // of the source; zero: it has no figure
	Accept    Range      `json:"accept"`             // reproduces the claim
	Rounds    int        `json:"rounds"`
	Void      int        `json:"void,omitempty"`
}

// A Table has the figures of all models at one point under one condition in one metric. In JSON the
// names that it shares with the table before it are left out.
type Table struct {
	Experiment string             `json:"experiment,omitempty"`
	Service    string             `json:"service,omitempty"`
	Point      string             `json:"point,omitempty"`
	Condition  manifest.Condition `json:"condition,omitempty"`
	Metric     manifest.Metric    `json:"metric,omitempty"`
	Baseline   string             `json:"baseline,omitempty"`
	Rows       []Row              `json:"rows"`
}

// A Row is one model of a table. Its ratio is to the baseline, within rounds; the baseline's own is
// that of its second cell in each round.
type Row struct {
	Model  string
	Value  float64 // in the metric's unit
	Ratio  Span
	Rounds int
}

// questions is the page of claims that are of no source.
const questions = "questions"

// SourceOf is the name of an experiment's page: the file of its source, "eve" of "eve.txt, section
// 4.1".
func SourceOf(e *manifest.Experiment) string {
	file, _, _ := strings.Cut(e.Source, ",")
	name, isFile := strings.CutSuffix(strings.TrimSpace(file), ".txt")
	if !isFile || name == "" || strings.ContainsAny(name, " /\\") {
		return questions
	}
	return name
}

// A paper is a source as readers know it.
type paper struct {
	title, year string
	letter      string // of its claims, as published
}

// papers are the known sources, in the order of their pages.
var papers = []struct {
	name string
	paper
}{
	{"papayachat", paper{"Processes against goroutines: a chat server", "2022-23", "P"}},
	{"go-c10k", paper{"Ten thousand connections in Go", "2011", "G"}},
	{"eve", paper{"Eve: events with parallel tasks", "2013-14", "E"}},
	{"gonet", paper{"GoNet: a network stack in CSP style", "2016-17", "N"}},
	{"threads-fibers", paper{"Threads against fibers in web services", "2023", "T"}},
	{questions, paper{"Questions of our own", "", "Q"}},
}

// rank is a source's place among the pages; an unknown one comes last.
func rank(source string) int {
	for i, p := range papers {
		if p.name == source {
			return i
		}
	}
	return len(papers)
}

// title is a source's, or its name where none is known.
func title(source string) string {
	for _, p := range papers {
		switch {
		case p.name == source && p.year == "":
			return p.title
		case p.name == source:
			return p.title + " (" + p.year + ")"
		}
	}
	return source
}

// Decided says whether a word answers a claim.
func Decided(w stats.Word) bool { return w == stats.Reproduced || w == stats.NotReproduced }

// order is that in which words are counted and listed.
var order = []stats.Word{stats.Reproduced, stats.NotReproduced, stats.Inconclusive,
	stats.NotMeasured, stats.NotComparable}

// of returns the claims of a source, in the order of the experiments.
func (f *Figures) of(source string) []Claim {
	var out []Claim
	for _, c := range f.Claims {
		if c.Source == source {
			out = append(out, c)
		}
	}
	return out
}
