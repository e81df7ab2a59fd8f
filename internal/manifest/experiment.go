package manifest

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
)

// LoadExperiment reads one experiment.toml. The file is named relative to root. Whether its
// services exist only LoadTree can say.
func LoadExperiment(root, file string) (*Experiment, error) {
	return loadExperiment(root, file, nil)
}

func loadExperiment(root, file string, tree *Tree) (*Experiment, error) {
	data, err := read(root, file)
	if err != nil {
		return nil, err
	}
	return parseExperiment(file, data, tree)
}

// An experimentReader is an experiment and the tables that its parts stand in, for the lines of
// what is only found wrong when the parts are held together.
type experimentReader struct {
	*Experiment
	d      *document
	top    *table
	load   *table   // nil if there is none
	sweep  *table   // nil if there is none
	named  []*table // of the named points, in the order of the file
	swept  []float64
	unit   quantity // of the sweep's axis
	tables map[string]*table
	// sure is whether models and points were read without error. If not, what refers to them is not
	// checked: one mistake would be reported many times over.
	sure       bool
	depthsSure bool // likewise of the depths
}

// parseExperiment reads an experiment; with a tree it also looks whether the services exist and
// speak a protocol that the load fits.
func parseExperiment(file string, data []byte, tree *Tree) (*Experiment, error) {
	d, t := parse(file, data)
	if t == nil {
		return nil, d.err()
	}
	r := &experimentReader{d: d, top: t, tables: map[string]*table{}, Experiment: &Experiment{
		Name:     filepath.Base(filepath.Dir(file)),
		File:     file,
		Title:    t.need("title", "a heading"),
		Source:   t.need("source", "the document and section that the question is from"),
		Question: t.need("question", "the source's question"),
		Expect:   t.need("expect", "what is expected before it is run"),
		Service:  t.need("service", "the folder in services/ that is measured"),
		Asked:    t.flag("only_when_named"),
		Cells:    t.flag("cells"),
		Setup:    t.texts("setup", false),
		Here:     t.texts("here", false),
	}}
	if !folderName.MatchString(r.Name) {
		d.fail(0,
			"the folder %q is no name for an experiment: expected lower-case words with "+
				"hyphens, such as \"eve-echo\"", r.Name)
	}
	if !t.has("setup") {
		t.missing("setup",
			"the source's machine, versions and durations: the differences that a verdict "+
				"lists; [] where nothing is published")
	}
	if t.has("builds") {
		r.readBuilds(tree)
		if err := d.err(); err != nil {
			return nil, err
		}
		return r.Experiment, nil
	}
	before := len(d.errs)
	for _, key := range []string{"baseline", "metrics", "load", "sweep", "point", "depth", "curve",
		"claim", "profiles"} {
		t.get(key)
	}
	r.readModels()
	t.finish()
	r.readPoints()
	r.sure = len(d.errs) == before
	r.readProfiles()
	r.readMetrics()
	r.readDepths()
	r.readCurves()
	r.readClaims()
	if tree != nil {
		r.checkServices(tree)
	}
	if err := d.err(); err != nil {
		return nil, err
	}
	return r.Experiment, nil
}

// readModels reads the models that are compared, and the baseline.
func (r *experimentReader) readModels() {
	t := r.top
	r.Models = t.distinct("models")
	r.Baseline = t.need("baseline", "the model that ratios are against")
	switch {
	case !t.has("models"):
		t.missing("models", `the models to compare, such as ["c-process", "go-goroutine"]`)
	case t.empty("models"):
		t.fail("models", "is empty: expected the models to compare")
	case len(r.Models) > 0 && r.Baseline != "" && !slices.Contains(r.Models, r.Baseline):
		t.fail("baseline", "%q is not among the models: %s", r.Baseline,
			suggest(r.Baseline, r.Models))
	}
	r.checkModelNames(t, "models", r.Models)
}

// checkModelNames finds misspelt models as far as that can be seen without the tree: a model that
// is named and not there may be one to come.
func (r *experimentReader) checkModelNames(t *table, key string, names []string) {
	for i, n := range names {
		if !folderName.MatchString(n) {
			r.d.fail(t.atItem(key, i),
				"%s: %q is no name of a model: expected language-model or language-model-variant",
				key, n)
		}
	}
}

// readProfiles reads at which points it is also looked into the servers.
func (r *experimentReader) readProfiles() {
	r.Profiles = r.top.distinct("profiles")
	for i, name := range r.Profiles {
		if is := func(p Point) bool { return p.Name == name }; r.sure &&
			!slices.ContainsFunc(r.Points, is) {
			r.d.fail(r.top.atItem("profiles", i), "profiles: %q is no point of this experiment",
				name)
		}
		if p, _ := r.Point(name); p.Load.Chain > 1 {
			r.d.fail(r.top.atItem("profiles", i),
				"profiles: %q is a chain, whose servers would write one file", name)
		}
	}
}

// readMetrics reads what tables show.
func (r *experimentReader) readMetrics() {
	t := r.top
	if !t.has("metrics") {
		t.missing("metrics", `what tables show, such as ["cpu-per-request"]`)
	}
	for i, word := range t.words("metrics", metrics) {
		m := Metric(word)
		r.Metrics = append(r.Metrics, m)
		shown := func(p Point) bool { return p.Load.shows(m) == "" }
		if r.sure && len(r.Points) > 0 && !slices.ContainsFunc(r.Points, shown) {
			r.d.fail(t.atItem("metrics", i), "metrics: %s needs %s", m, r.Points[0].Load.shows(m))
		}
	}
}

// checkServices holds the points against the services that they name.
func (r *experimentReader) checkServices(tree *Tree) {
	names := tree.ServiceNames()
	blamed := map[int]bool{} // a line, for the first point that suffers from it
	for _, p := range r.Points {
		if p.Service == "" || !r.sure {
			continue
		}
		t := r.tables[p.Name]
		s := tree.Service(p.Service)
		switch {
		case s == nil && t != nil && t.has("service"):
			t.fail("service", "there is no services/%s: %s", p.Service, suggest(p.Service, names))
		case s == nil:
			r.top.fail("service", "there is no services/%s: %s", p.Service,
				suggest(p.Service, names))
		case s.Protocol != "":
			key, err := p.Load.fits(s.Protocol)
			if line := r.lineOf(p, key); err != nil && !blamed[line] {
				blamed[line] = true
				r.d.fail(line, "point %q: %w", p.Name, err)
			}
			r.checkChain(p, s, blamed)
			if p.Hosts != "" && (s.Hosts == Tap || s.Protocol == Program) {
				t.fail("hosts", "means nothing for services/%s: expected a service whose servers "+
					"and clients could be on one host", s.Name)
			}
		}
	}
}

// lineOf is the line of a key of a point's load: in the point, in the sweep, in [load], or where
// the point begins.
func (r *experimentReader) lineOf(p Point, key string) int {
	t := r.tables[p.Name]
	switch {
	case t != nil && t.has(key):
		return t.at(key)
	case t == nil && r.sweep != nil && key == r.Axis.Over:
		return r.sweep.at("values")
	case r.load != nil && r.load.has(key):
		return r.load.at(key)
	case t != nil:
		return t.line()
	case r.load != nil:
		return r.load.line()
	}
	return 0
}

// Depth returns how much is run at quick, normal or full.
func (e *Experiment) Depth(name string) (Depth, error) {
	switch name {
	case "quick":
		return e.Quick, nil
	case "normal":
		return e.Normal, nil
	case "full":
		return e.Full, nil
	}
	return Depth{}, fmt.Errorf("depth %q is not known: %s", name, suggest(name, Depths))
}

// Has says whether a point is measured at this depth.
func (d Depth) Has(p Point) bool {
	if math.IsNaN(p.X) {
		return len(d.Points) == 0 && !d.NoPoints || slices.Contains(d.Points, p.Name)
	}
	return len(d.Values) == 0 && !d.NoValues || slices.Contains(d.Values, p.X)
}

// Paper is the document that an experiment's question is from: the first words of its source.
func (e *Experiment) Paper() string {
	name, _, _ := strings.Cut(e.Source, ",")
	return strings.TrimSpace(name)
}

// Point returns the point of this name.
func (e *Experiment) Point(name string) (Point, bool) {
	for _, p := range e.Points {
		if p.Name == name {
			return p, true
		}
	}
	return Point{}, false
}

// Sweep returns the points of the sweep, in order of X.
func (e *Experiment) Sweep() []Point {
	var out []Point
	for _, p := range e.Points {
		if !math.IsNaN(p.X) {
			out = append(out, p)
		}
	}
	return out
}

// Missing lists, as "service/model", what the experiment names and the tree does not have: models
// to come. They are no error; a run says that they were not measured.
func (e *Experiment) Missing(tree *Tree) []string {
	var out []string
	for _, p := range e.Points {
		for _, m := range e.ModelsAt(p) {
			s := tree.Service(p.Service)
			name := p.Service + "/" + m
			if (s == nil || s.Model(m) == nil) && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// ModelsAt are the models that a point compares.
func (e *Experiment) ModelsAt(p Point) []string {
	if len(p.Models) > 0 {
		return p.Models
	}
	return e.Models
}
