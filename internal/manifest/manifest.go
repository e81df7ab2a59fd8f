// Package manifest reads the three kinds of file that describe the laboratory: service.toml (a
// protocol and its load), model.toml (how one server is built and run) and experiment.toml (a
// published claim, the points it is measured at and how it is judged).
//
// The files hold no logic. Everything wrong with them is found here, before anything is started, as
// an *Error that says file, line and what was expected.
package manifest

import (
	"fmt"
	"time"
)

// A Tree is everything that a checkout (or a run's own copy of one) describes.
type Tree struct {
	Root        string
	Services    []*Service    // by name
	Experiments []*Experiment // by name
}

// A Service is one folder of services/: a protocol that every one of its models speaks.
type Service struct {
	Name     string // the folder's name
	Dir      string // absolute
	Title    string // "Echo"
	Summary  string // one sentence
	Protocol string // what the load engine speaks, one of Protocols: "echo", "chat", "program" ...
	Hosts    Hosts  // where its servers are: Local, or at the other end of a Tap
	Models   []*Model
}

// Hosts says how the server and the load meet.
type Hosts string

// Local is one host with its loopback device. The other two are two hosts on one machine.
const (
	Local Hosts = "local" // both at 127.0.0.1
	// a network namespace each, joined by a pair of virtual Ethernet devices: the
	// kernel's stack twice
	NetNS Hosts = "netns"
	// the load in a namespace of its own, the server behind a tap in it: its stack is a program's
	Tap Hosts = "tap"
)

// Stack says whose TCP/IP a server runs on.
type Stack string

// The stacks that a model can name.
const (
	Kernel Stack = "kernel"
	GoNet  Stack = "gonet" // the program carries the package gonet in itself
)

// A Model is one folder of services/SERVICE/: one server under one concurrency model.
type Model struct {
	Name     string // the folder's name, language-model[-variant]: "c-epoll-percore"
	Service  string
	Dir      string // absolute
	Language string
	Model    string     // the word from docs/models.md: process, thread, loop ...
	Summary  string     // one sentence: the trade it shows
	Source   []string   // files in Dir
	Needs    []string   // tool chains: "cc", "java >= 25", "pkg:liburing"
	Build    [][]string // commands, run in Dir; {out} is the model's build folder
	Run      []string   // {out}, {port} and {host} are replaced
	Env      map[string]string
	// files and folders besides Dir that the build depends on, relative to Dir
	Uses    []string
	Conform []string      // transcripts that it is held to; nil: all of its service
	WarmUp  time.Duration // at least this long before a measuring window opens; 1 s unless told
	// about what it takes to be ready, for estimates; 0: as servers of its language do
	StartUp time.Duration
	Ready   Ready
	// the limit of open files bounds each of its threads, and it has as many as it needs
	Tables bool
	Stacks []Stack // that it can run on; none: it brings its own, as the servers behind a tap do
	Stack  Stack   // that it runs on; "" where it brings its own
	Hosts  Hosts   // where its server is, unless a run asks for NetNS in place of Local

	lines map[string]int // of some keys in model.toml
}

// Ready says how a server shows that it serves.
type Ready string

// The contract's own servers print a line; a user's server need only accept a connection.
const (
	ReadyLine    Ready = "line"    // the line "ready" on standard error
	ReadyConnect Ready = "connect" // the port accepts a connection
)

// A Point is one place on an experiment's axis: a service under one load.
type Point struct {
	Name    string  // "connections = 64", "latency"
	X       float64 // the value on the sweep's axis; NaN where the point is not part of the sweep
	Service string
	Load    Load
	Models  []string // the experiment's, unless the point names its own
	Hosts   Hosts    // NetNS: over two hosts, also in a run on one; "": as the run says
}

// Condition says which cores the two roles use.
type Condition string

// The two conditions of a run.
const (
	Own    Condition = "own"    // server and load each on cores of their own
	Shared Condition = "shared" // both on all cores
)

// Depth says how much of an experiment is run: quick, normal or full (as published).
type Depth struct {
	Rounds     int           // at least 6
	MaxRounds  int           // rounds are added up to here while intervals are too wide
	WarmUp     time.Duration // at least; a model's own is used when it is longer, but for quick
	Window     time.Duration // measuring; 0 = until all requests are answered
	Sample     time.Duration // between two samples of the process tree
	Conditions []Condition
	Models     []string  // a part of the experiment's models; empty = all
	Values     []float64 // a part of the sweep's values; empty = all, unless
	NoValues   bool      // none of them is measured: values = []
	Points     []string  // a part of the named points; empty = all, unless
	NoPoints   bool      // none of them is measured: points = []
	// in place of the load's, where that counts them; 0 = as it says; AllInWindow = by time
	Requests int64
}

// AllInWindow as a depth's Requests says that loads which count requests are measured over the
// depth's window all the same.
const AllInWindow = -1

// An Experiment is one folder of experiments/: a source's question, its claims, and the points to
// measure.
type Experiment struct {
	Name     string // the folder's name
	File     string // its experiment.toml, relative to the tree's root
	Title    string
	Source   string // "papayachat.txt, sections V and VI"
	Question string
	Expect   string
	Asked    bool // it runs only when it is named: it takes more of a machine than most have
	Cells    bool // its points are never measured as duets
	// the source's machine, versions and durations: the differences a verdict lists; none if
	// nothing is published
	Setup   []string
	Here    []string // details of our set-up that neither the load nor the machine tells
	Service string
	Models  []string
	// a command that builds the model for many systems, in place of measuring: see record.Build
	Builds   []string
	Baseline string // the model that runs twice in each round, and that ratios are against
	Metrics  []Metric
	Axis     Axis
	Load     Load
	Points   []Point  // the sweep's in order of X, then the named ones
	Profiles []string // points at which the models are also profiled, apart from what is measured
	Quick    Depth
	Normal   Depth
	Full     Depth
	Curves   []Curve
	Claims   []Claim
}

// An Axis names what a sweep varies.
type Axis struct {
	// a field of the load: "connections", "read_share", "rate", "size", "workers", "chain"
	Over  string
	Label string // "open connections"
	Log   bool   // drawn on a logarithmic axis
}

// A Curve is a series of published figures, drawn behind ours.
type Curve struct {
	Model    string
	Metric   Metric
	Label    string
	Points   [][2]float64
	Relative Term // if its model is not empty, Points are ratios to this term's figure, as measured
}

// A Claim is one sentence of a source in a vocabulary that can be judged.
type Claim struct {
	ID       string // "P1"
	Kind     string // direction, magnitude, equality, non-inferiority, shape ..., builds
	Sentence string // the claim in our own words
	Where    string // its place in the source
	Ours     bool   // no source says it: a hypothesis of the experiment's
	Headline bool   // the one claim of its source that a budget is spent on first
	Metric   Metric
	Of       Term
	Against  Term // direction, magnitude, equality, non-inferiority, crossover, widens
	// in place of Against: the rivals, of which the best as measured counts. Others stands for all
	// models that are measured where the claim is judged
	Best []string
	// "less" or "greater": what Of is, of Against (direction; crossover: before it) or of Published
	// (bound); what the ratio of both becomes along the axis (widens)
	Sense string
	// point names; "every" = each point of the sweep, "mean" = their mean. Default every
	At         []string
	From       float64   // only points with X >= From ("at higher loads"); 0 = all
	To         float64   // only points with X <= To; 0 = all
	Published  float64   // the ratio, slope, crossing or value that the source publishes
	Margin     float64   // 1.25 unless told; equality 1.10, direction and order 1.05
	Portable   bool      // absolute: the figure does not depend on the machine
	Shape      string    // "order", "linear", "straight", "flattens", "steepens" ...
	By         string    // widens: Difference, if it is that of Of and Against and not their ratio
	After      float64   // flattens, steepens: the X after which growth drops, or rises
	Order      []Term    // order: from the least of the metric to the most
	Targets    []string  // builds: the systems it must be built for
	Condition  Condition // the condition it is judged in; the depth's first unless told
	Comparable string    // if not empty: why no machine of today can judge it
	Transfer   string    // what differs from the source's set-up, for the reader
}

// Others is the only rival of a claim whose rivals are all other models.
const Others = "others"

// Difference as a claim's By is what one model has more of the metric than another, in its unit.
const Difference = "difference"

// A Term is one side of a comparison: a model, at the claim's points unless it names its own.
type Term struct {
	Model string
	Point string // "echo" in "erlang-actor@echo"; empty = the claim's
}

// An Error says what is wrong with a manifest, and where.
type Error struct {
	File string // relative to the tree's root
	Line int    // from 1; 0 = the file as a whole
	Err  error
}

func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
	}
	return fmt.Sprintf("%s: %v", e.File, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }
