package manifest

import (
	"math"
	"regexp"
	"slices"
	"strings"
)

// claimID matches the names of verdicts: "P1", "E2a".
var claimID = regexp.MustCompile(`^[A-Z][A-Z0-9]*[0-9]+[a-z]?$`)

// A claim's margin unless it names one: ratios within it count as the published one.
const (
	defaultMargin  = 1.25
	equalityMargin = 1.10 // "equal" is the stronger word
	// directions and orders: what is nearer to 1 is no difference (docs/method.md)
	leastEffect = 1.05
	mostMargin  = 10
)

// wants are the keys of each kind, besides those that any claim has. Any other key is an error: a
// reader would believe a margin that nothing reads.
var wants = map[string]struct{ must, may []string }{
	"direction": {[]string{"of", "against", "sense"}, []string{"at", "from", "to", "published",
		"margin", "best"}},
	"magnitude": {[]string{"of", "against", "published"}, []string{"at", "from", "to", "margin",
		"best"}},
	"equality": {[]string{"of", "against"}, []string{"at", "from", "to", "margin"}},
	"non-inferiority": {[]string{"of", "against"}, []string{"at", "from", "to", "margin",
		"best"}},
	"crossover": {[]string{"of", "against", "sense", "published"}, []string{"margin"}},
	"absolute": {[]string{"of", "published"}, []string{"at", "from", "to", "margin",
		"portable"}},
	"bound": {[]string{"of", "sense", "published"}, []string{"at", "from", "to",
		"margin"}},
	"shape order":    {[]string{"shape", "order"}, []string{"at", "from", "to", "margin"}},
	"shape linear":   {[]string{"shape", "of"}, []string{"from", "to", "published", "margin"}},
	"shape straight": {[]string{"shape", "of"}, []string{"from", "to", "margin"}},
	"shape flattens": {[]string{"shape", "of", "after"}, []string{"margin"}},
	"shape steepens": {[]string{"shape", "of", "after"}, []string{"margin"}},
	"shape widens": {[]string{"shape", "of", "against", "sense"}, []string{"by", "from", "to",
		"margin"}},
	"shape flat": {[]string{"shape", "of"}, []string{"from", "to", "margin"}},
	"shape": {[]string{"shape"}, []string{"of", "against", "sense", "order", "after", "by", "at",
		"from", "to", "published", "margin"}},
	"": {nil, []string{"of", "against", "best", "sense", "at", "from", "to", "published",
		"margin", "portable", "shape", "after", "by", "order"}},
}

// readClaims reads the [[claim]]s.
func (r *experimentReader) readClaims() {
	seen := map[string]bool{}
	for _, t := range r.top.tables("claim") {
		c := r.readClaim(t)
		if c.ID != "" && seen[c.ID] {
			t.fail("id", "there are two claims %q", c.ID)
		}
		seen[c.ID] = true
		r.Claims = append(r.Claims, c)
	}
}

func (r *experimentReader) readClaim(t *table) Claim {
	c := Claim{
		ID:         t.need("id", `a short name, such as "P1"`),
		Kind:       t.needWord("kind", kinds),
		Sentence:   t.need("sentence", "the claim in our own words"),
		Where:      t.prose("where"),
		Ours:       t.flag("ours"),
		Headline:   t.flag("headline"),
		Metric:     Metric(t.needWord("metric", metrics)),
		Of:         t.term("of"),
		Against:    t.term("against"),
		Best:       t.distinct("best"),
		Sense:      t.word("sense", senses),
		At:         t.texts("at", true),
		From:       t.number("from"),
		To:         t.number("to"),
		Published:  t.number("published"),
		Margin:     t.number("margin"),
		Portable:   t.flag("portable"),
		Shape:      t.word("shape", forms),
		After:      t.number("after"),
		By:         t.word("by", leads),
		Condition:  Condition(t.word("condition", conditions)),
		Comparable: t.prose("comparable"),
		Transfer:   t.prose("transfer"),
	}
	for i, s := range t.texts("order", false) {
		c.Order = append(c.Order, t.asTerm("order", i, s))
	}
	t.checkPlace(&c)
	t.checkHeadline(&c)
	t.checkID(c.ID)
	t.checkWants(&c)
	t.finish()
	t.checkFigures(&c)
	if r.sure {
		r.checkAt(t, &c)
		r.checkTerms(t, &c)
	}
	if c.Condition != "" && r.depthsSure && !r.measures(c.Condition) {
		t.fail("condition", "no depth measures in the condition %q", c.Condition)
	}
	return c
}

// checkPlace wants to know where a claim stands, unless no source says it.
func (t *table) checkPlace(c *Claim) {
	switch {
	case c.Ours && t.has("where"):
		t.fail("where", "means nothing in a claim of our own")
	case c.Ours:
		c.Where = "a hypothesis of our own"
	case !t.has("where"):
		t.missing("where", "its place in the source, or ours = true")
	}
}

// checkHeadline refuses a headline that no source has, or that no machine can judge.
func (t *table) checkHeadline(c *Claim) {
	switch {
	case !c.Headline:
	case c.Ours:
		t.fail("headline", "is of a source: a claim of our own has none")
	case c.Comparable != "":
		t.fail("headline", "no machine of today can judge this claim: choose another")
	}
}

func (t *table) checkID(id string) {
	if id != "" && !claimID.MatchString(id) {
		t.fail("id",
			"%q is no name of a claim: expected a capital, a number and perhaps a letter, such "+
				"as \"P1\" or \"E2a\"", id)
	}
}

// term reads a model, or model@point.
func (t *table) term(key string) Term {
	s := t.prose(key)
	if s == "" {
		return Term{}
	}
	return t.asTerm(key, -1, s)
}

func (t *table) asTerm(key string, i int, s string) Term {
	model, point, at := strings.Cut(s, "@")
	term := Term{strings.TrimSpace(model), strings.TrimSpace(point)}
	if !folderName.MatchString(term.Model) || at && term.Point == "" {
		t.d.fail(t.atItem(key, i),
			`%s: expected a model or model@point such as "erlang-actor@echo", got %s`, key, show(s))
		return Term{}
	}
	return term
}

// checkWants reports keys that the claim's kind lacks and keys that mean nothing to it.
func (t *table) checkWants(c *Claim) {
	kind := c.Kind
	if kind == "shape" && c.Shape != "" {
		kind += " " + c.Shape
	}
	w := wants[kind]
	for _, key := range w.must {
		if key == "against" && t.has("best") && slices.Contains(w.may, "best") {
			continue
		}
		if !t.has(key) {
			t.d.fail(t.line(), "%s: %s is missing: a claim of kind %q needs %s", t.title(), key,
				kind, strings.Join(w.must, ", "))
		}
	}
	for _, key := range wants[""].may {
		if t.has(key) && !slices.Contains(w.must, key) && !slices.Contains(w.may, key) {
			t.fail(key, "means nothing in a claim of kind %q, which has: %s", kind,
				strings.Join(append(slices.Clone(w.must), w.may...), ", "))
		}
	}
}

// checkFigures checks the numbers of a claim and fills in the margin.
func (t *table) checkFigures(c *Claim) {
	if t.has("published") && c.Published <= 0 {
		t.fail("published", "expected a number above 0, got %v", c.Published)
	}
	if t.has("margin") && (c.Margin <= 1 || c.Margin > mostMargin) {
		t.fail("margin", "expected a factor above 1 and at most %d, such as 1.25, got %v",
			mostMargin, c.Margin)
	}
	if !t.has("margin") {
		switch {
		case c.Kind == "equality":
			c.Margin = equalityMargin
		case c.Kind == "non-inferiority":
			c.Margin = equalityMargin
		case c.Kind == "direction" || c.Kind == "bound" || c.Shape == "order" ||
			c.Shape == "widens":
			c.Margin = leastEffect
		default:
			c.Margin = defaultMargin
		}
	}
	if c.Shape == "order" && t.has("order") && len(c.Order) < 2 {
		t.fail("order", "expected at least two models, from the least of the metric to the most")
	}
	for i, o := range c.Order {
		if slices.Contains(c.Order[:i], o) {
			t.d.fail(t.atItem("order", i), "order: %q is there twice", o)
		}
	}
	if c.Of.Model != "" && c.Of == c.Against {
		t.fail("against", "%q is compared with itself", c.Against)
	}
	t.checkBest(c)
}

// checkBest checks the rivals of which the best counts.
func (t *table) checkBest(c *Claim) {
	switch {
	case !t.has("best"):
	case t.has("against"):
		t.fail("best", "stands in place of against; there are both")
	case c.Metric == Lines:
		t.fail("best", "means nothing for lines of code: name one model, with against")
	case t.empty("best"):
		t.fail("best", "is empty: expected the rivals, or [%q]", Others)
	case len(c.Best) > 1 && slices.Contains(c.Best, Others):
		t.fail("best", "%q stands alone", Others)
	case slices.Contains(c.Best, c.Of.Model):
		t.fail("best", "%q is compared with itself", c.Of.Model)
	}
}

// String writes a term as manifests do.
func (t Term) String() string {
	if t.Point == "" {
		return t.Model
	}
	return t.Model + "@" + t.Point
}

// checkAt checks where on the axis a claim is judged.
func (r *experimentReader) checkAt(t *table, c *Claim) {
	wide := len(c.At) == 0 || slices.Contains(c.At, "every") || slices.Contains(c.At, "mean")
	for i, name := range c.At {
		_, ok := r.Point(name)
		word := name == "every" || name == "mean"
		switch {
		case word && len(c.At) > 1:
			t.d.fail(t.atItem("at", i), "at: %q stands alone", name)
		case !word && !ok:
			t.d.fail(t.atItem("at", i), "at: there is no point %q: %s", name,
				suggest(name, append(r.pointNames(), "every", "mean")))
		}
	}
	if c.Metric == Lines {
		if t.has("at") {
			t.fail("at", "means nothing for lines: they are the same everywhere")
		}
		return
	}
	if wide && r.sweep == nil && c.Kind != "" {
		switch {
		case c.Kind == "crossover", c.Kind == "shape" && c.Shape != "order":
			t.fail("kind", "needs a sweep, and there is none")
		case len(c.At) == 0 && len(r.Points) == 1:
			c.At = []string{r.Points[0].Name}
		default:
			t.d.fail(t.at("at"), "%s: at is missing: without a sweep a claim names its points: %s",
				t.title(), strings.Join(r.pointNames(), ", "))
		}
	}
	r.checkFrom(t, c, wide)
}

// checkFrom holds from, after and a crossing against the sweep's values.
func (r *experimentReader) checkFrom(t *table, c *Claim, wide bool) {
	if len(r.swept) == 0 {
		return
	}
	first, last := r.swept[0], r.swept[len(r.swept)-1]
	if t.has("from") && !wide {
		t.fail("from", "is for a claim about the sweep; this one names its points")
	}
	if t.has("from") && (c.From > last || c.From < first) {
		t.fail("from", "%v is outside of the sweep, which goes from %v to %v", c.From, first, last)
	}
	if t.has("to") && !wide {
		t.fail("to", "is for a claim about the sweep; this one names its points")
	}
	if t.has("to") && (c.To > last || c.To < first || c.To < c.From) {
		t.fail("to", "%v is outside of the sweep, which goes from %v to %v", c.To,
			max(first, c.From), last)
	}
	if t.has("after") && (c.After >= last || c.After <= first) {
		t.fail("after", "%v is not inside of the sweep, which goes from %v to %v", c.After, first,
			last)
	}
	if c.Kind == "crossover" && (c.Published >= last || c.Published <= first) {
		t.fail("published",
			"the crossing at %v is not inside of the sweep, which goes from %v to %v", c.Published,
			first, last)
	}
}

// checkTerms checks that the models of a claim are measured where it speaks of them.
func (r *experimentReader) checkTerms(t *table, c *Claim) {
	r.checkTerm(t, c, "of", -1, c.Of)
	r.checkTerm(t, c, "against", -1, c.Against)
	for i, o := range c.Order {
		r.checkTerm(t, c, "order", i, o)
	}
	for i, m := range c.Best {
		if m != Others {
			r.checkTerm(t, c, "best", i, Term{Model: m})
		}
	}
}

func (r *experimentReader) checkTerm(t *table, c *Claim, key string, i int, term Term) {
	if term.Model == "" {
		return
	}
	if !slices.Contains(r.allModels(), term.Model) {
		r.d.fail(t.atItem(key, i), "%s: %q is not among the models: %s", key, term.Model,
			suggest(term.Model, r.allModels()))
		return
	}
	points := r.ClaimPoints(*c)
	if term.Point != "" {
		p, ok := r.Point(term.Point)
		if !ok {
			r.d.fail(t.atItem(key, i), "%s: there is no point %q: %s", key, term.Point,
				suggest(term.Point, r.pointNames()))
			return
		}
		points = []Point{p}
	}
	for _, p := range points {
		if !slices.Contains(r.ModelsAt(p), term.Model) {
			r.d.fail(t.atItem(key, i), "%s: %q is not measured at point %q, which has: %s", key,
				term.Model, p.Name, strings.Join(r.ModelsAt(p), ", "))
			return
		}
		if needs := p.Load.shows(c.Metric); needs != "" {
			t.fail("metric", "%q is %q, and %s needs %s", p.Name, p.Load.Shape, c.Metric, needs)
			return
		}
	}
}

// allModels are the experiment's models and those that only a point names.
func (r *experimentReader) allModels() []string {
	out := slices.Clone(r.Models)
	for _, p := range r.Points {
		for _, m := range p.Models {
			if !slices.Contains(out, m) {
				out = append(out, m)
			}
		}
	}
	return out
}

func (r *experimentReader) measures(c Condition) bool {
	for _, d := range []Depth{r.Quick, r.Normal, r.Full} {
		if slices.Contains(d.Conditions, c) {
			return true
		}
	}
	return false
}

// Rivals are the models of which a claim compares with the best, at a point.
func (e *Experiment) Rivals(c Claim, p Point) []string {
	if len(c.Best) != 1 || c.Best[0] != Others {
		return c.Best
	}
	return slices.DeleteFunc(slices.Clone(e.ModelsAt(p)),
		func(m string) bool { return m == c.Of.Model })
}

// ClaimPoints are the points that a claim is about: those it names, or the sweep's from From to To.
// The point of a Term comes on top. A claim about lines is about none.
func (e *Experiment) ClaimPoints(c Claim) []Point {
	if c.Metric == Lines {
		return nil
	}
	var out []Point
	wide := len(c.At) == 0 || c.At[0] == "every" || c.At[0] == "mean"
	for _, p := range e.Points {
		inSweep := wide && !math.IsNaN(p.X) && p.X >= c.From && (c.To == 0 || p.X <= c.To)
		if inSweep || slices.Contains(c.At, p.Name) {
			out = append(out, p)
		}
	}
	return out
}
