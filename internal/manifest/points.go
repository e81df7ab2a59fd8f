package manifest

import (
	"fmt"
	"math"
	"slices"
	"strings"
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
)

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
	over := keyNamed(r.Axis.Over).axis
	r.unit = over.quantity
	r.swept = t.quantities("values", over.quantity, over.least, over.most)
	slices.Sort(r.swept)
	if list, _ := t.values["values"].([]any); t.has("values") && len(list) < 2 {
		t.fail("values", "expected at least two values: a single one is a [[point]]")
	}
	if r.Axis.Log && len(r.swept) > 0 && r.swept[0] <= 0 {
		t.fail("log", "a logarithmic axis has no place for %v", r.swept[0])
	}
	if means := keysOf(base.Shape); base.Shape != "" && !slices.Contains(means, r.Axis.Over) {
		t.fail("over", "%s means nothing for shape %q, which has: %s", r.Axis.Over, base.Shape,
			strings.Join(means, ", "))
	}
	answers := r.sweepAnswers(base.Shape)
	for i, v := range r.swept {
		load := base
		over.set(&load, v)
		if i < len(answers) {
			load.Answer = answers[i]
		}
		p := Point{Name: r.Axis.Over + " = " + over.text(v), X: v, Service: r.Service, Load: load}
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
	case !slices.Contains(keysOf(shape), "answer"):
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
	p.Hosts = Hosts(t.word("hosts", apart))
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
	for _, n := range l.needsOf() {
		require(keyNamed(n.key).text(l) == "", n.key, n.like)
	}
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
