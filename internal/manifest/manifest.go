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
	Name    string // the folder's name
	Dir     string // absolute
	Title   string // "Echo"
	Summary string // one sentence
	// what the load engine speaks: "echo", "counter", "sink", "chat", "ping", "transfer" or Program
	Protocol string
	Hosts    Hosts // where its servers are: Local, or at the other end of a Tap
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

// Shape is a way to offer load.
type Shape string

// The shapes of load that the engine can make.
const (
	// each connection sends when its reply is there; or keeps Pipeline in flight
	Closed  Shape = "closed"
	Open    Shape = "open"    // a schedule fixed before the start; latency counts from the due time
	Paced   Shape = "paced"   // each connection sends bytes at a rate and reads nothing but the end
	Connect Shape = "connect" // connect, send one message, read its reply, close
	Solve   Shape = "solve"   // no connections: a program solves a problem again and again
	// The shapes for hosts: each pinger has an identifier and no connection.
	Pings Shape = "ping" // echo requests of ICMP, at an interval or as they are answered
	// connect, send one message, half-close, wait for the peer's end of file
	Transfers Shape = "transfer"
	// each connection carries as much as it can, one way; a request is BulkBlock bytes
	Bulk Shape = "bulk"
	// The shapes for chats alone. They are loaded by open and paced, too.
	Fanout Shape = "fanout" // senders say as much as is acknowledged and delivered; everybody reads
	Idle   Shape = "idle"   // everybody is in a room and says nothing but a PING at an interval
	// The shape for streams: each connection asks once and listens, and nothing is sent any more.
	Streams Shape = "stream"
)

// AllMembers as a load's Members puts all clients into one room.
const AllMembers = mostConnections

// BulkBlock is in bytes what counts as a request of a bulk load.
const BulkBlock = 64 << 10

// KernelTransfer is the kernel of programs that transfer bytes over a loopback: their
// result is how many.
const KernelTransfer = "transfer"

// OutputFile as a load's Output has a sink write into a file, where the folders of servers are.
const OutputFile = "file"

// Timed tells the loads whose requests are due at times fixed before the start, whatever the server
// does: only of these a latency can be told.
func (l Load) Timed() bool {
	return l.Shape == Open || l.Shape == Pings && l.Interval > 0 || l.Shape == Streams
}

// ChatLineBytes is what a line to a room has besides the text: "PRIVMSG #r00000 :" and its end.
const ChatLineBytes = 19

// Speakers is how many connections send: all of them, but in a chat.
func (l Load) Speakers() int {
	n, members := l.Connections, min(l.Members, l.Connections)
	if l.Senders == 0 || members == 0 {
		return n
	}
	return n/members*min(l.Senders, members) + min(l.Senders, n%members)
}

// BurstBytes is what a paced connection sends at once: a message, or several lines of a chat.
func (l Load) BurstBytes() int {
	if l.Members == 0 {
		return l.SizeBytes
	}
	return max(1, l.Pipeline) * (l.SizeBytes + ChatLineBytes)
}

// Load is what a point offers to the server. It is written to records as it is.
type Load struct {
	Shape       Shape `json:"shape"`
	Connections int   `json:"connections"`
	// for each connection; 0 = as many as the window takes
	Requests  int64 `json:"requests,omitempty"`
	SizeBytes int   `json:"size_bytes"` // of one message
	// requests in flight on a connection, closed and fanout shapes; 1 unless told
	Pipeline int `json:"pipeline"`
	// requests a second over all connections, open shape; connections that are opened in a
	// second, stream shape
	Rate float64 `json:"rate,omitempty"`
	Gaps string  `json:"gaps,omitempty"` // "constant" or "exponential", open shape
	// bits a second for each connection, paced shape
	Bits      float64 `json:"bits,omitempty"`
	ReadShare float64 `json:"read_share,omitempty"` // 0 .. 1, counter
	// Interval is between two pings of a pinger, ping shape (0 = the next is sent when the last has
	// been answered), or of a client, idle shape.
	Interval time.Duration `json:"interval_ns,omitempty"`
	// "in" to the server or "out" of it, bulk shape
	Direction string `json:"direction,omitempty"`
	Output    string `json:"output,omitempty"` // of a sink: OutputFile; "" = thrown away
	// clients that share a room, chat; AllMembers = all
	Members int `json:"members,omitempty"`
	Senders int `json:"senders,omitempty"` // of them, who speak, chat; 0 = all
	// what is fetched after an upload, image services
	Ask   string `json:"ask,omitempty"`
	Reads int    `json:"reads,omitempty"` // how often, image services; 0 = once
	// servers of which each asks the next, image services; 0 = one
	Chain   int    `json:"chain,omitempty"`
	Kernel  string `json:"kernel,omitempty"`  // what is solved, solve shape: "fib"
	Problem int64  `json:"problem,omitempty"` // how big it is, solve shape: 32
	Workers int    `json:"workers,omitempty"` // threads that may work at it, solve shape
	Answer  string `json:"answer,omitempty"`  // what must come out, solve shape
}

// A Point is one place on an experiment's axis: a service under one load.
type Point struct {
	Name    string  // "connections = 64", "latency"
	X       float64 // the value on the sweep's axis; NaN where the point is not part of the sweep
	Service string
	Load    Load
	Models  []string // the experiment's, unless the point names its own
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
	// the source's machine, versions and durations: the differences a verdict lists; none if
	// nothing is published
	Setup   []string
	Here    []string // what of our set-up the load and the machine do not tell
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

// Metric is the name of a figure of a cell; record.Cell knows how to compute each.
type Metric string

// The figures that claims and tables are about.
const (
	Throughput    Metric = "throughput"      // requests answered a second
	CPUPerRequest Metric = "cpu-per-request" // microseconds of server CPU for each request
	CPU           Metric = "cpu"             // mean server CPU in the window, % of one core
	CPUVariation  Metric = "cpu-variation"   // coefficient of variation of CPU over the samples
	// microseconds from the due time; open shape and pings at an interval only
	LatencyP50 Metric = "latency-p50"
	LatencyP99 Metric = "latency-p99"
	Jitter     Metric = "latency-jitter" // p99 - p50 in microseconds; open shape only
	PSS        Metric = "pss"            // bytes, the server's tree at the end of the window
	Threads    Metric = "threads"        // most seen in the window
	Switches   Metric = "switches"       // context switches for each request
	Lines      Metric = "lines"          // lines of code of the model: no measurement
	// milliseconds to solve the problem once, median of the window; solve shape only
	SolveTime Metric = "time"
	// bits a second: of transfers, of bulk, and of programs that transfer
	BitRate  Metric = "bit-rate"
	CPUPerGB Metric = "cpu-per-gb" // seconds of server CPU for 10^9 bytes, likewise
	Loss     Metric = "loss"       // % of the pings that nobody answered
	// the server's PSS when the window closes, by that when it opens
	MemoryGrowth Metric = "memory-growth"
	// The figures of chats. Their requests are messages, and their latency is that of deliveries.
	// messages that have come to a client, a second
	Deliveries Metric = "deliveries"
	// microseconds of server CPU for each of them
	CPUPerDelivery Metric = "cpu-per-delivery"
	// microseconds from a message's due time to its acknowledgement; open shape only
	AckP50 Metric = "ack-p50"
	AckP99 Metric = "ack-p99" //
	// bytes of PSS above that of the server before any client, by their number; of streams too
	ClientMemory Metric = "memory-per-client"
	// bytes that the kernel took for each connection, both its ends on this machine; streams
	KernelMemory Metric = "kernel-memory-per-client"
	// when memory came to rest, by when CPU did, both from the ramp's beginning; streams
	Settling Metric = "settling"
)

// Metrics lists every metric with its unit and whether more is better.
var Metrics = map[Metric]MetricInfo{
	Throughput:    {"requests/s", "throughput", true},
	CPUPerRequest: {"µs/request", "CPU for each request", false},
	CPU:           {"% of a core", "mean CPU", false},
	CPUVariation:  {"", "coefficient of variation of CPU", false},
	LatencyP50:    {"µs", "median latency", false},
	LatencyP99:    {"µs", "99th percentile of latency", false},
	Jitter:        {"µs", "jitter (p99 - p50)", false},
	PSS:           {"bytes", "memory (PSS)", false},
	Threads:       {"threads", "threads", false},
	Switches:      {"switches/request", "context switches for each request", false},
	Lines:         {"lines", "lines of code", false},
	SolveTime:     {"ms", "time to solve", false},
	BitRate:       {"bit/s", "bit rate", true},
	CPUPerGB:      {"s/GB", "CPU for each GB", false},
	Loss:          {"% of pings", "loss", false},
	MemoryGrowth:  {"", "growth of memory over the window", false},

	Deliveries:     {"deliveries/s", "deliveries", true},
	CPUPerDelivery: {"µs/delivery", "CPU for each delivery", false},
	AckP50:         {"µs", "median delay of acknowledgements", false},
	AckP99:         {"µs", "99th percentile of the delay of acknowledgements", false},
	ClientMemory:   {"bytes", "memory for each client (PSS)", false},
	KernelMemory:   {"bytes", "kernel memory for each connection, both ends", false},
	Settling:       {"", "time until memory settled, by that of CPU", false},

	ResponseP50:  {"µs", "median response time", false},
	ResponseP99:  {"µs", "99th percentile of response time", false},
	ResponseMean: {"µs", "mean response time", false},
	ToServer:     {"µs", "mean time to the server", false},
	InServer:     {"µs", "mean time in the server", false},
	FromServer:   {"µs", "mean time from the server", false},
	Database:     {"µs", "mean time in the database", false},
	Next:         {"µs", "mean time in the services behind", false},
	Hop:          {"µs", "mean time for each service behind", false},
	PostP50:      {"µs", "median time of an upload", false},
	GetP50:       {"µs", "median time of a fetch", false},
	First1:       {"µs", "first response of a fresh server", false},
	First10:      {"µs", "mean of the first 10 responses", false},
	First100:     {"µs", "mean of the first 100 responses", false},
	First1000:    {"µs", "mean of the first 1000 responses", false},
	StartUp:      {"ms", "time to start", false},
}

// Rate tells the metrics that are what a load has offered where it offers at a rate.
func (m Metric) Rate() bool { return m == Throughput || m == Deliveries }

// MetricInfo is what a table's head says of a metric.
type MetricInfo struct {
	Unit         string
	Name         string
	MoreIsBetter bool
}

// A Claim is one sentence of a source in a vocabulary that can be judged.
type Claim struct {
	ID       string // "P1"
	Kind     string // direction, magnitude, equality, non-inferiority, shape ..., builds
	Sentence string // the claim in our own words
	Where    string // its place in the source
	Ours     bool   // no source says it: a hypothesis of the experiment's
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
	After      float64   // flattens, steepens: the X after which growth drops, or rises
	Order      []Term    // order: from the least of the metric to the most
	Targets    []string  // builds: the systems it must be built for
	Condition  Condition // the condition it is judged in; the depth's first unless told
	Comparable string    // if not empty: why no machine of today can judge it
	Transfer   string    // what differs from the source's set-up, for the reader
}

// Others is the only rival of a claim whose rivals are all other models.
const Others = "others"

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
