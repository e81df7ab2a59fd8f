package manifest

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// The bounds of a depth.
const (
	leastRounds = 6 // fewer cannot give a 95 % interval: the exact signed-rank one needs 6
	mostRounds  = 1000
	leastSample = 10 * time.Millisecond // a sample of 100 processes costs up to 5 ms
	// leastIntervals is how many samples a window must hold to say anything of variation.
	leastIntervals = 4
)

// Depths are those of each experiment, the shortest first.
var Depths = []string{"quick", "normal", "full"}

// DepthsFrom are a depth and all longer ones.
func DepthsFrom(name string) []string { return Depths[max(0, slices.Index(Depths, name)):] }

// readDepths reads [depth.quick], [depth.normal] and [depth.full].
func (r *experimentReader) readDepths() {
	t := r.top.table("depth")
	if t == nil {
		if !r.top.has("depth") {
			r.d.fail(0, "no depth: expected [depth.quick], [depth.normal] and [depth.full]")
		}
		return
	}
	before := len(r.d.errs)
	defer func() { r.depthsSure = len(r.d.errs) == before }()
	for i, into := range []*Depth{&r.Quick, &r.Normal, &r.Full} {
		name := Depths[i]
		inner := t.table(name)
		if inner == nil {
			if !t.has(name) {
				r.d.fail(t.line(), "[depth.%s] is missing: expected quick, normal and full", name)
			}
			continue
		}
		*into = r.readDepth(inner)
	}
	t.finish()
}

func (r *experimentReader) readDepth(t *table) Depth {
	d := Depth{
		Rounds:    int(t.integer("rounds", leastRounds, mostRounds)),
		MaxRounds: int(t.integer("max_rounds", leastRounds, mostRounds)),
		WarmUp:    t.duration("warmup", 0, time.Second),
		Window:    t.duration("window", 0, 0),
		Sample:    t.duration("sample", leastSample, 100*time.Millisecond),
		Models:    t.distinct("models"),
		Points:    t.distinct("points"),
	}
	d.NoPoints = t.has("points") && t.empty("points")
	for _, c := range t.words("conditions", conditions) {
		d.Conditions = append(d.Conditions, Condition(c))
	}
	if len(d.Conditions) == 0 {
		d.Conditions = []Condition{Own}
	}
	d.Requests = t.depthRequests()
	t.get("values")
	if t.has("values") && r.sweep == nil && r.sure {
		t.fail("values", "there is no sweep to take values of")
	} else if r.Axis.Over != "" {
		over := keyNamed(r.Axis.Over).axis
		d.Values = t.quantities("values", over.quantity, over.least, over.most)
		d.NoValues = t.empty("values")
		slices.Sort(d.Values)
	}
	t.finish()
	r.checkDepth(t, &d)
	return d
}

// depthRequests reads a number of requests, or "none": the window takes their place.
func (t *table) depthRequests() int64 {
	v, ok := t.get("requests")
	switch n := v.(type) {
	case string:
		if n == "none" {
			return AllInWindow
		}
	case int64:
		if n >= 1 && n <= mostRequests {
			return n
		}
	}
	if ok {
		t.fail("requests",
			`expected a number of requests for each connection, or "none" to measure over the window; got %s`, show(v))
	}
	return 0
}

func (r *experimentReader) checkDepth(t *table, d *Depth) {
	if !t.has("rounds") {
		t.missing("rounds", "at least 6")
	}
	if !t.has("max_rounds") {
		d.MaxRounds = d.Rounds
	} else if d.MaxRounds > 0 && d.MaxRounds < d.Rounds {
		t.fail("max_rounds", "is less than rounds: expected at least %d", d.Rounds)
	}
	if r.sure {
		r.checkParts(t, d)
	}
	if d.Window > 0 && d.Window < leastIntervals*d.Sample {
		t.fail("window",
			"%v holds fewer than %d samples of %v each: lengthen it, or sample more often",
			d.Window, leastIntervals, d.Sample)
	}
}

// checkParts sees to it that the parts which a depth takes are parts of something, and that every
// point it takes comes to an end: by its requests or by the window.
func (r *experimentReader) checkParts(t *table, d *Depth) {
	for i, m := range d.Models {
		if !slices.Contains(r.Models, m) {
			r.d.fail(t.atItem("models", i), "models: %q is not among the experiment's: %s", m,
				suggest(m, r.Models))
		}
	}
	if len(d.Models) > 0 && !slices.Contains(d.Models, r.Baseline) {
		t.fail("models", "the baseline %q is missing: nothing could be compared", r.Baseline)
	}
	for i, v := range d.Values {
		if !slices.Contains(r.swept, v) {
			r.d.fail(t.atItem("values", i), "values: %s is not among the sweep's: %s",
				r.unit.text(v), r.sweptTexts())
		}
	}
	for i, name := range d.Points {
		if r.tables[name] == nil {
			r.d.fail(t.atItem("points", i), "points: %q is no named point: %s", name,
				suggest(name, slices.Sorted(maps.Keys(r.tables))))
		}
	}
	if _, err := duration(t.values["window"]); d.Window > 0 || t.has("window") && err != nil {
		return
	}
	for _, p := range r.Points {
		if d.Has(p) && (p.Load.Requests == 0 || d.Requests == AllInWindow) {
			t.d.fail(t.at("window"),
				"%s: window is missing: point %q has no number of requests to end it", t.title(),
				p.Name)
			return
		}
	}
}

func (r *experimentReader) sweptTexts() string {
	out := make([]string, len(r.swept))
	for i, v := range r.swept {
		out[i] = r.unit.text(v)
	}
	return strings.Join(out, ", ")
}

// pointNames are the names of all points, the sweep's included.
func (r *experimentReader) pointNames() []string {
	out := make([]string, len(r.Points))
	for i, p := range r.Points {
		out[i] = p.Name
	}
	return out
}
