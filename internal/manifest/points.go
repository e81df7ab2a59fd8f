package manifest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// The bounds of a load are far beyond what one machine does; they catch a slipped unit.
const (
	mostConnections = 1 << 20
	mostRequests    = 1_000_000_000
	mostSizeBytes   = 64 << 20
	mostPipeline    = 1 << 16
	mostRate        = 10_000_000        // requests a second
	mostBits        = 1_000_000_000_000 // bits a second
	mostProblem     = 1 << 40
	mostWorkers     = 4096
	leastInterval   = time.Millisecond // between two pings of a pinger
)

// belongs says which keys of a load mean something in which shape. A point that changes the shape
// inherits only what has a meaning there.
var belongs = map[Shape][]string{
	Closed: {"shape", "connections", "size", "requests", "pipeline", "read_share", "ask", "reads",
		"chain"},
	Open: {"shape", "connections", "size", "rate", "gaps", "read_share", "members", "senders",
		"ask", "reads", "chain"},
	Paced:   {"shape", "connections", "size", "bits", "members", "pipeline", "output"},
	Connect: {"shape", "connections", "size", "requests", "read_share"},
	Solve:   {"shape", "kernel", "problem", "workers", "answer"},

	Pings:     {"shape", "connections", "size", "requests", "interval"},
	Transfers: {"shape", "connections", "size", "requests"},
	Bulk:      {"shape", "connections", "direction"},

	Fanout: {"shape", "connections", "size", "pipeline", "members", "senders"},
	Idle:   {"shape", "connections", "members", "interval"},

	Streams: {"shape", "connections", "rate"},
	Cold:    {"shape", "size", "requests", "ask", "reads", "chain"},
}

// readPoints reads [load], [sweep] and the [[point]]s, and forms the points of them.
func (r *experimentReader) readPoints() {
	base := Load{Pipeline: 1}
	if r.load = r.top.table("load"); r.load != nil {
		r.load.readLoad(&base)
		r.load.finish()
	}
	r.Load = base
	if r.sweep = r.top.table("sweep"); r.sweep != nil {
		r.readSweep(base)
	}
	r.named = r.top.tables("point")
	for _, t := range r.named {
		r.readPoint(t, base)
	}
	if len(r.Points) == 0 && r.sweep == nil && len(r.named) == 0 {
		r.d.fail(0, "no point to measure: expected [sweep] or [[point]]")
	}
}

// readLoad overlays the keys of a table on a load.
func (t *table) readLoad(l *Load) {
	if shape := t.word("shape", shapes); shape != "" && Shape(shape) != l.Shape {
		l.become(Shape(shape))
	}
	overlay := func(key string, set func()) {
		if t.get(key); t.has(key) {
			set()
		}
	}
	overlay("connections",
		func() { l.Connections = int(t.quantity("connections", counts, 1, mostConnections)) })
	overlay("requests",
		func() { l.Requests = int64(t.quantity("requests", counts, 1, mostRequests)) })
	overlay("size", func() { l.SizeBytes = int(t.quantity("size", sizes, 1, mostSizeBytes)) })
	overlay("pipeline",
		func() { l.Pipeline = int(t.quantity("pipeline", counts, 1, mostPipeline)) })
	overlay("rate", func() { l.Rate = t.quantity("rate", rates, 1, mostRate) })
	overlay("gaps", func() { l.Gaps = t.word("gaps", gaps) })
	overlay("bits", func() { l.Bits = t.quantity("bits", bitRates, 1, mostBits) })
	overlay("read_share", func() { l.ReadShare = t.quantity("read_share", shares, 0, 1) })
	overlay("kernel", func() { l.Kernel = t.prose("kernel") })
	overlay("problem", func() { l.Problem = int64(t.quantity("problem", counts, 1, mostProblem)) })
	overlay("workers", func() { l.Workers = int(t.quantity("workers", counts, 1, mostWorkers)) })
	overlay("answer", func() { l.Answer = t.prose("answer") })
	overlay("interval", func() { l.Interval = t.interval() })
	overlay("direction", func() { l.Direction = t.word("direction", directions) })
	overlay("output", func() { l.Output = t.word("output", outputs) })
	overlay("members", func() { l.Members = t.members() })
	overlay("senders",
		func() { l.Senders = int(t.quantity("senders", counts, 1, mostConnections)) })
	overlay("ask", func() { l.Ask = t.word("ask", asks) })
	overlay("reads", func() { l.Reads = int(t.quantity("reads", counts, 1, mostReads)) })
	overlay("chain", func() { l.Chain = int(t.quantity("chain", counts, 1, mostChain)) })
	if l.Shape == "" {
		return
	}
	for key := range t.values {
		if ofSomeLoad(key) && !slices.Contains(belongs[l.Shape], key) {
			t.fail(key, "means nothing for shape %q, which has: %s", l.Shape,
				strings.Join(belongs[l.Shape][1:], ", "))
		}
	}
}

// members is a number, or "all", or "none" in place of what [load] has.
func (t *table) members() int {
	switch v, _ := t.get("members"); v {
	case "all":
		return AllMembers
	case "none":
		return 0
	}
	return int(t.quantity("members", counts, 1, mostConnections))
}

// interval is a duration, or "none" in place of the one that [load] has.
func (t *table) interval() time.Duration {
	if v, _ := t.get("interval"); v == "none" {
		return 0
	}
	return t.duration("interval", leastInterval, 0)
}

// ofSomeLoad says whether a key belongs to a load of any shape.
func ofSomeLoad(key string) bool {
	for _, keys := range belongs {
		if slices.Contains(keys, key) {
			return true
		}
	}
	return false
}

// become changes a load's shape and drops what has no meaning in the new one.
func (l *Load) become(s Shape) {
	l.Shape = s
	keeps := func(key string) bool { return slices.Contains(belongs[s], key) }
	if !keeps("requests") {
		l.Requests = 0
	}
	if !keeps("pipeline") {
		l.Pipeline = 1
	}
	if !keeps("rate") {
		l.Rate, l.Gaps = 0, ""
	} else if l.Gaps == "" && keeps("gaps") {
		l.Gaps = "constant"
	}
	if !keeps("bits") {
		l.Bits = 0
	}
	if !keeps("read_share") {
		l.ReadShare = 0
	}
	if !keeps("kernel") {
		l.Kernel, l.Answer, l.Problem, l.Workers = "", "", 0, 0
	}
	if !keeps("interval") {
		l.Interval = 0
	}
	if !keeps("direction") {
		l.Direction = ""
	}
	if !keeps("output") {
		l.Output = ""
	}
	if !keeps("members") {
		l.Members = 0
	}
	if !keeps("senders") {
		l.Senders = 0
	}
	if !keeps("connections") {
		l.Connections = 0
	}
	if !keeps("size") {
		l.SizeBytes = 0
	}
	if !keeps("ask") {
		l.Ask, l.Reads, l.Chain = "", 0, 0
	}
	if s == Cold {
		l.Connections = 1 // so that requests have an order
	}
}

// axis is how the values of a sweep over a key are written, with their bounds.
func axis(over string) (q quantity, least, most float64) {
	switch over {
	case "connections":
		return counts, 1, mostConnections
	case "pipeline":
		return counts, 1, mostPipeline
	case "size":
		return sizes, 1, mostSizeBytes
	case "rate":
		return rates, 1, mostRate
	case "bits":
		return bitRates, 1, mostBits
	case "workers":
		return counts, 1, mostWorkers
	case "chain":
		return counts, 1, mostChain
	}
	return shares, 0, 1
}

func (l *Load) set(over string, v float64) {
	switch over {
	case "connections":
		l.Connections = int(v)
	case "pipeline":
		l.Pipeline = int(v)
	case "size":
		l.SizeBytes = int(v)
	case "rate":
		l.Rate = v
	case "bits":
		l.Bits = v
	case "read_share":
		l.ReadShare = v
	case "workers":
		l.Workers = int(v)
	case "chain":
		l.Chain = int(v)
	}
}

// readSweep reads [sweep] and adds a point for each of its values.
func (r *experimentReader) readSweep(base Load) {
	t := r.sweep
	r.Axis = Axis{
		Over:  t.needWord("over", axes),
		Label: t.need("label", `what the axis is called, such as "open connections"`),
		Log:   t.flag("log"),
	}
	defer t.finish()
	if !t.has("values") {
		t.missing("values", "the values to measure at, such as [1, 4, 16]")
	}
	if r.Axis.Over == "" {
		t.get("values")
		return
	}
	q, least, most := axis(r.Axis.Over)
	r.unit = q
	r.swept = t.quantities("values", q, least, most)
	slices.Sort(r.swept)
	if list, _ := t.values["values"].([]any); t.has("values") && len(list) < 2 {
		t.fail("values", "expected at least two values: a single one is a [[point]]")
	}
	if r.Axis.Log && len(r.swept) > 0 && r.swept[0] <= 0 {
		t.fail("log", "a logarithmic axis has no place for %v", r.swept[0])
	}
	if base.Shape != "" && !slices.Contains(belongs[base.Shape], r.Axis.Over) {
		t.fail("over", "%s means nothing for shape %q, which has: %s", r.Axis.Over, base.Shape,
			strings.Join(belongs[base.Shape][1:], ", "))
	}
	answers := r.sweepAnswers(base.Shape)
	for i, v := range r.swept {
		load := base
		load.set(r.Axis.Over, v)
		if i < len(answers) {
			load.Answer = answers[i]
		}
		p := Point{Name: r.Axis.Over + " = " + q.text(v), X: v, Service: r.Service, Load: load}
		r.checkLoad(p)
		r.Points = append(r.Points, p)
	}
}

// sweepAnswers are what comes out at each value, where that depends on the value.
func (r *experimentReader) sweepAnswers(shape Shape) []string {
	t := r.sweep
	answers := t.texts("answers", false)
	switch {
	case !t.has("answers"):
	case shape != Solve:
		t.fail("answers", "means nothing for shape %q: only problems have answers", shape)
	case len(answers) != len(r.swept):
		t.fail("answers", "expected one for each of the %d values, got %d", len(r.swept),
			len(answers))
	}
	return answers
}

// readPoint reads a [[point]]: a name, and what differs from [load].
func (r *experimentReader) readPoint(t *table, base Load) {
	p := Point{Name: t.need("name", "what claims and tables call the point"), X: math.NaN(),
		Service: r.Service, Load: base}
	if s := t.prose("service"); s != "" {
		p.Service = s
	}
	p.Models = t.distinct("models")
	if t.empty("models") {
		t.fail("models", "is empty: leave it out to take the experiment's")
	}
	r.checkModelNames(t, "models", p.Models)
	t.readLoad(&p.Load)
	t.finish()
	_, taken := r.Point(p.Name)
	switch {
	case p.Name == "":
		return
	case taken:
		t.fail("name", "there are two points %q", p.Name)
		return
	case p.Name == "every" || p.Name == "mean" || strings.Contains(p.Name, "@"):
		t.fail("name",
			`%q cannot be a name: claims mean points of the sweep by "every" and "mean", and a model's point by "@"`, p.Name)
		return
	}
	r.tables[p.Name] = t
	r.checkLoad(p)
	r.Points = append(r.Points, p)
}

// checkLoad reports what a point's load lacks.
func (r *experimentReader) checkLoad(p Point) {
	require := func(lacks bool, key, like string) {
		if lacks && !r.said(p, key) {
			r.d.fail(r.lineOf(p, key), "the load of %s has no %s: expected %s", r.pointOrSweep(p),
				key, like)
		}
	}
	l := p.Load
	require(l.Shape == "", "shape", "one of "+strings.Join(shapes, ", "))
	if l.Shape == "" {
		return
	}
	if l.Shape == Solve {
		require(l.Kernel == "", "kernel", `what is solved, such as "fib"`)
		require(l.Problem == 0, "problem", "how big the problem is, such as 32")
		require(l.Answer == "", "answer", "what comes out, as the programs print it")
		require(l.Workers == 0, "workers", "how many threads may work at it, such as 2")
		return
	}
	require(l.Connections == 0, "connections", "how many are open at once, such as 64")
	require(l.Shape != Bulk && l.Shape != Idle && l.Shape != Streams && l.SizeBytes == 0, "size",
		`the bytes of a message, such as "16 B"`)
	require(l.Shape == Bulk && l.Direction == "", "direction", `"in" to the server or "out" of it`)
	require(l.Shape == Open && l.Rate == 0, "rate",
		`requests a second over all connections, such as "5000/s"`)
	require(l.Shape == Streams && l.Rate == 0, "rate",
		`how many are opened in a second, such as "2000/s"`)
	require(l.Shape == Idle && l.Interval == 0, "interval",
		`how often each client says PING, such as "10s"`)
	require(l.Shape == Paced && l.Bits == 0, "bits",
		`the rate of each connection, such as "1 Mbit/s"`)
}

// pointOrSweep names a point, and all points of the sweep alike: they lack the same.
func (r *experimentReader) pointOrSweep(p Point) string {
	if math.IsNaN(p.X) {
		return fmt.Sprintf("point %q", p.Name)
	}
	return "the sweep"
}

// said tells whether a key is there for a point, right or wrong: what is there and wrong has been
// reported as such.
func (r *experimentReader) said(p Point, key string) bool {
	t := r.tables[p.Name]
	return t != nil && t.has(key) || r.load != nil && r.load.has(key) || r.Axis.Over == key &&
		t == nil
}
