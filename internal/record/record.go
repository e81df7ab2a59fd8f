// Package record keeps one run on disk: a directory with run.json (the machine and what was asked
// for), tree/ (a copy of the manifests and sources that were measured) and cells.jsonl, to which
// one line is appended for each cell. kill -9 at any moment loses at most the cell under way.
package record

import (
	"slices"
	"time"

	"interleave/internal/load"
	"interleave/internal/manifest"
	"interleave/internal/profile"
	"interleave/internal/sample"
)

// A Header is run.json: everything about a run but its cells.
type Header struct {
	Version     int                `json:"version"` // of this format
	ID          string             `json:"id"`      // the directory's name
	Started     time.Time          `json:"started"`
	Finished    *time.Time         `json:"finished,omitempty"` // nil: stopped or still under way
	Command     []string           `json:"command"`
	Depth       string             `json:"depth"` // quick, normal, full
	Seed        uint64             `json:"seed"`  // of every shuffle and schedule
	Experiments []string           `json:"experiments"`
	Models      []string           `json:"models,omitempty"`    // --models
	Points      []string           `json:"points,omitempty"`    // --point
	Claims      []string           `json:"claims,omitempty"`    // --claims
	Rounds      int                `json:"rounds,omitempty"`    // --rounds
	Condition   manifest.Condition `json:"condition,omitempty"` // --condition
	Hosts       string             `json:"hosts"`               // "local" or "netns"
	Stacks      []manifest.Stack   `json:"stacks,omitempty"`    // --stack
	CPUs        map[string][]int   `json:"cpus"`                // the own condition's cores by role
	Machine     Machine            `json:"machine"`
	Calibration []Check            `json:"calibration"`
	// what it costs to wake a core: one figure, and of merged runs one of each that has any
	Wakings []Waking `json:"wakings,omitempty"`
	// models that were not measured, and why
	Skipped []Skip `json:"skipped,omitempty"`
	// for which systems a model was built, of experiments that ask for it
	Builds []Build `json:"builds,omitempty"`
	// a user's own server among the models
	Own      *Own      `json:"own,omitempty"`
	Profiles []Profile `json:"profiles,omitempty"`
	// the time that the run was given; empty: the depth says how many rounds it has
	Budgets []Budget `json:"budgets,omitempty"`
	Turn    *Turn    `json:"turn,omitempty"` // of a budget: the one that was begun last
	// of a budget: the claims that it did not decide, and why
	Undecided []Undecided `json:"undecided,omitempty"`
}

// A Budget is time for measuring.
type Budget struct {
	For   time.Duration `json:"for_ns"`
	After time.Duration `json:"after_ns"` // measured by the run before it
}

// A Turn is what a budget is spent on next: one round of some points, for some claims.
type Turn struct {
	Experiment string             `json:"experiment"`
	Condition  manifest.Condition `json:"condition"`
	Round      int                `json:"round"`
	Claims     []string           `json:"claims,omitempty"` // none: figures
	Blocks     []TurnBlock        `json:"blocks"`
	Spent      time.Duration      `json:"spent_ns"` // by the run before this turn
}

// A TurnBlock is the models of a turn at one point, in the order in which they are measured.
type TurnBlock struct {
	Point  string   `json:"point"`
	Models []string `json:"models"`
	Twin   int      `json:"twin,omitempty"` // which of them is the baseline's second cell, from 1
}

// An Undecided claim is one that a budget left open.
type Undecided struct {
	Experiment string `json:"experiment"`
	Claim      string `json:"claim"`
	Reason     string `json:"reason"`
	// about so much more; 0: time would not help
	Takes time.Duration `json:"takes_ns,omitempty"`
}

// An Own is the server of `interleave bench`: it has no folder among the services.
type Own struct {
	Service string   `json:"service"`
	Name    string   `json:"name"`
	Summary string   `json:"summary"`
	Command []string `json:"command"`
	Dir     string   `json:"dir"` // where the command was given
}

// A Machine is where a run was made.
type Machine struct {
	Cores    int    `json:"cores"`
	CPU      string `json:"cpu"`
	MemBytes int64  `json:"mem_bytes"`
	Kernel   string `json:"kernel"`
	System   string `json:"system"` // "Debian GNU/Linux 12"
	Virtual  string `json:"virtual,omitempty"`
	Clock    string `json:"clock"`
	// the kernel's congestion control of TCP: "cubic"
	Congestion string            `json:"congestion,omitempty"`
	Cgroups    string            `json:"cgroups"`     // v2, hybrid, v1, none
	ToolChains map[string]string `json:"tool_chains"` // name -> version
}

// A Check is one line of a calibration: a known truth and what was measured.
type Check struct {
	Name      string  `json:"name"` // "p95 of a server that stalls 100 ms each second"
	Unit      string  `json:"unit"`
	Truth     float64 `json:"truth"`
	Measured  float64 `json:"measured"`
	Tolerance float64 `json:"tolerance"` // absolute, in Unit
	OK        bool    `json:"ok"`
	Note      string  `json:"note,omitempty"`
}

// A Skip is a model that was not measured.
type Skip struct {
	Service string `json:"service"`
	Model   string `json:"model"`
	Reason  string `json:"reason"` // "needs erl: apt-get install erlang-base"; "conformance: ..."
	Detail  string `json:"detail,omitempty"`
}

// NoModel is the reason why a service is not measured with a model that only other services have:
// an experiment over several has one list for all.
const NoModel = "only other services have a model of that name"

// Servers are the skips of servers that exist. Records before November 2026 have other words for
// NoModel.
func Servers(skips []Skip) []Skip {
	return slices.DeleteFunc(slices.Clone(skips), func(s Skip) bool {
		return s.Reason == NoModel || s.Reason == "not in this laboratory yet"
	})
}

// A Build is one row of a matrix: a program, compiled for a system.
type Build struct {
	Experiment string `json:"experiment"`
	Target     string `json:"target"` // "x86_64-linux-musl"
	Built      Built  `json:"built"`
	Passed     int    `json:"passed"` // transcripts
	Played     int    `json:"played"` // 0: nothing here runs it, or it would take too long
	Note       string `json:"note,omitempty"`
}

// Built says what a compiler said.
type Built string

// NotTried is for a compiler, or headers, that are not here: the note says what to install.
const (
	BuiltYes Built = "yes"
	BuiltNo  Built = "no"
	NotTried Built = "skip"
)

// A Profile is what a server was busy with at a point, in a run of its own: none of its
// figures counts.
type Profile struct {
	Experiment string             `json:"experiment"`
	Point      string             `json:"point"`
	Model      string             `json:"model"`
	Condition  manifest.Condition `json:"condition"`
	By         string             `json:"by"`                // the profiler, and what it counted
	Samples    *profile.Node      `json:"samples,omitempty"` // nil: there is none, and Why says why
	Why        string             `json:"why,omitempty"`
}

// A Cell is one fresh server process under one load: the unit of measurement.
type Cell struct {
	Experiment string `json:"experiment"`
	Point      string `json:"point"`
	Service    string `json:"service"`
	Model      string `json:"model"`
	// unless the kernel's, or the server brings its own
	Stack manifest.Stack `json:"stack,omitempty"`
	// the baseline's second cell of a round: A against A
	Twin      bool               `json:"twin,omitempty"`
	Condition manifest.Condition `json:"condition"`
	Round     int                `json:"round"` // from 1
	Order     int                `json:"order"` // place in the round, from 1
	// measured in stints, side by side with the other cells of its point and round
	Duet bool `json:"duet,omitempty"`
	// from 1; a cell that the machine spoilt is tried twice
	Attempt int           `json:"attempt"`
	Started time.Time     `json:"started"`
	Took    time.Duration `json:"took_ns"`
	StartUp time.Duration `json:"start_up_ns"` // exec to ready
	Status  Status        `json:"status"`
	Reasons []Reason      `json:"reasons,omitempty"` // why void or failed
	// generator-bound, not-steady: true, but no reason to void
	Labels []string `json:"labels,omitempty"`
	// the end of the server's output, when it failed
	Tail   string         `json:"tail,omitempty"`
	Load   manifest.Load  `json:"load"`
	Result *load.Result   `json:"result,omitempty"`
	Server *sample.Series `json:"server,omitempty"`
}

// Status tells whether a cell counts.
type Status string

// A void cell was measured under conditions that a gate forbids; a failed one has no result.
const (
	Measured Status = "measured"
	Void     Status = "void"
	Broken   Status = "failed"
)

// A Reason says which gate a cell did not pass.
type Reason struct {
	// steal, foreign-cpu, late, errors, littles-law, port-owner, died ...
	Gate  string  `json:"gate"`
	Text  string  `json:"text"` // a sentence with figure and limit
	Value float64 `json:"value,omitempty"`
	Limit float64 `json:"limit,omitempty"`
}

// The labels of a cell.
const (
	// the load's core was full: the server's figure is a lower bound
	GeneratorBound = "generator-bound"
	NotSteady      = "not-steady" // the window's last quarter differs from its first
	// the machine was not quiet: in a duet ratios within the round count, absolute figures do not;
	// of a cell that was measured alone only memory and threads count
	Disturbed = "disturbed"
)
