package manifest

import "fmt"

// Metric is the name of a figure of a cell. A metric that loads of several families show is
// declared here, one of a single family in the family's file.
type Metric string

// The figures that claims and tables are about.
const (
	Throughput    Metric = "throughput"      // requests answered a second
	CPUPerRequest Metric = "cpu-per-request" // microseconds of server CPU for each request
	CPU           Metric = "cpu"             // mean server CPU in the window, % of one core
	CPUVariation  Metric = "cpu-variation"   // coefficient of variation of CPU over half seconds
	// microseconds from the due time; only of loads whose requests are due at times
	LatencyP50 Metric = "latency-p50"
	LatencyP99 Metric = "latency-p99"
	Jitter     Metric = "latency-jitter" // p99 - p50 in microseconds; likewise
	PSS        Metric = "pss"            // bytes, the server's tree at the end of the window
	Threads    Metric = "threads"        // most seen in the window
	Switches   Metric = "switches"       // context switches for each request
	Lines      Metric = "lines"          // lines of code of the model: no measurement
	// bits a second, of loads that carry bytes
	BitRate  Metric = "bit-rate"
	CPUPerGB Metric = "cpu-per-gb" // seconds of server CPU for 10^9 bytes, likewise
	// the server's PSS when the window closes, by that when it opens
	MemoryGrowth Metric = "memory-growth"
	// bytes of PSS above that of the server before any client, by their number
	ClientMemory Metric = "memory-per-client"
)

// MetricInfo is how a metric is told: in a table's head, and in the sentence of a verdict.
type MetricInfo struct {
	Unit         string
	Name         string
	MoreIsBetter bool
	// Ratio is what a ratio means that one model has to another: "served {ratio}x {b}'s requests a
	// second". Amount says the same of one model and a number in the unit.
	Ratio, Amount string
}

// A metricRow is a metric and the loads that show it.
type metricRow struct {
	metric Metric
	info   MetricInfo
	// needs says what a load lacks to show the metric, or nothing; nil: it lacks nothing
	needs func(l Load) string
}

// generalMetrics are those that are of no family alone.
var generalMetrics = []metricRow{
	{Throughput, MetricInfo{"requests/s", "throughput", true,
		"served {ratio}x {b}'s requests a second",
		"served {ratio} requests a second"}, nil},
	{CPUPerRequest, MetricInfo{"µs/request", "CPU for each request", false,
		"used {ratio}x {b}'s CPU for each request",
		"used {ratio} µs of CPU for each request"}, nil},
	{CPU, MetricInfo{"% of a core", "mean CPU", false,
		"used {ratio}x {b}'s CPU",
		"used {ratio} % of a core"}, nil},
	{CPUVariation, MetricInfo{"", "coefficient of variation of CPU", false,
		"had {ratio}x {b}'s coefficient of variation of CPU",
		"had a coefficient of variation of CPU of {ratio}"}, nil},
	{LatencyP50, MetricInfo{"µs", "median latency", false,
		"had {ratio}x {b}'s median latency",
		"had a median latency of {ratio} µs"}, needsTimes},
	{LatencyP99, MetricInfo{"µs", "99th percentile of latency", false,
		"had {ratio}x {b}'s 99th percentile of latency",
		"had a 99th percentile of latency of {ratio} µs"}, needsTimes},
	{Jitter, MetricInfo{"µs", "jitter (p99 - p50)", false,
		"had {ratio}x {b}'s jitter of latency",
		"had a jitter of latency of {ratio} µs"}, needsTimes},
	{PSS, MetricInfo{"bytes", "memory (PSS)", false,
		"held {ratio}x {b}'s memory",
		"held {ratio} bytes of memory"}, nil},
	{Threads, MetricInfo{"threads", "threads", false,
		"ran {ratio}x {b}'s threads",
		"ran {ratio} threads"}, nil},
	{Switches, MetricInfo{"switches/request", "context switches for each request", false,
		"switched contexts {ratio}x as often as {b} for each request",
		"switched contexts {ratio} times for each request"}, nil},
	{Lines, MetricInfo{"lines", "lines of code", false, "", ""}, nil},
	{BitRate, MetricInfo{"bit/s", "bit rate", true,
		"carried {ratio}x {b}'s bits a second",
		"carried {ratio} bits a second"}, needsBytes},
	{CPUPerGB, MetricInfo{"s/GB", "CPU for each GB", false,
		"used {ratio}x {b}'s CPU for each GB",
		"used {ratio} s of CPU for each GB"}, needsBytes},
	{MemoryGrowth, MetricInfo{"", "growth of memory over the window", false,
		"had {ratio}x {b}'s growth of memory over the window",
		"ended the window with {ratio} times the memory of its beginning"}, nil},
	{ClientMemory, MetricInfo{"bytes", "memory for each client (PSS)", false,
		"held {ratio}x {b}'s memory for each client",
		"held {ratio} bytes of memory for each client"}, needsClients},
}

// needsTimes is of figures that count from the due time of a request.
func needsTimes(l Load) (needs string) {
	if !l.Timed() {
		return `a point of shape "open", or of shape "ping" with an interval: in other shapes a slow server slows the questions`
	}
	return ""
}

func needsBytes(l Load) (needs string) {
	if f := l.Family(); f.carries == nil || !f.carries(l) {
		return fmt.Sprintf(
			`a point of shape "transfer" or "bulk", or of shape "solve" with the kernel %q`,
			KernelTransfer)
	}
	return ""
}

func needsClients(l Load) (needs string) {
	if !l.Family().holds {
		return "a point of a chat or of streams"
	}
	return ""
}

// metricRows are all, by name.
var metricRows = func() map[Metric]metricRow {
	rows := map[Metric]metricRow{}
	for _, r := range generalMetrics {
		rows[r.metric] = r
	}
	for _, f := range families {
		for _, r := range f.metrics {
			rows[r.metric] = r
		}
	}
	return rows
}()

// Metrics lists every metric with its unit and whether more is better.
var Metrics = func() map[Metric]MetricInfo {
	all := map[Metric]MetricInfo{}
	for m, r := range metricRows {
		all[m] = r.info
	}
	return all
}()

// Rate tells the metrics that are what a load has offered where it offers at a rate.
func (m Metric) Rate() bool { return m == Throughput || m == Deliveries }

// Shows says whether a load of this kind can show a metric.
func (l Load) Shows(m Metric) bool { return l.shows(m) == "" }

// shows says what a load lacks to show a metric, or nothing.
func (l Load) shows(m Metric) (needs string) {
	if r := metricRows[m]; r.needs != nil {
		if needs = r.needs(l); needs != "" {
			return needs
		}
	}
	if f := l.Family(); f.hides != nil {
		return f.hides(l, m)
	}
	return ""
}
