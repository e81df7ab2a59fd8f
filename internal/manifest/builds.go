package manifest

import (
	"slices"
)

// An experiment of builds measures nothing: a command builds its model for many systems and prints
// a row for each, and claims say for which of them that must succeed.

// measuring are the keys of an experiment that measures.
var measuring = []string{"baseline", "metrics", "load", "sweep", "point", "depth", "curve"}

// readBuilds reads such an experiment.
func (r *experimentReader) readBuilds(tree *Tree) {
	t := r.top
	r.Builds = t.texts("builds", false)
	if len(r.Builds) == 0 {
		t.fail("builds", `is empty: expected a command, such as ["go", "run", "./cmd/buildmatrix"]`)
	}
	for _, key := range measuring {
		t.get(key)
		if t.has(key) {
			t.fail(key,
				"means nothing beside builds: a command says what was built, and nothing is "+
					"measured")
		}
	}
	r.Models = t.distinct("models")
	if len(r.Models) != 1 && !t.has("models") {
		t.missing("models", `the one model that is built, such as ["c-process"]`)
	} else if len(r.Models) != 1 {
		t.fail("models", "expected the one model that is built, such as [\"c-process\"]")
	}
	r.checkModelNames(t, "models", r.Models)
	t.get("claim")
	t.finish()
	var seen []string
	for _, t := range r.top.tables("claim") {
		c := t.readBuildClaim()
		if slices.Contains(seen, c.ID) {
			t.fail("id", "there are two claims %q", c.ID)
		}
		seen = append(seen, c.ID)
		r.Claims = append(r.Claims, c)
	}
	if tree != nil && r.Service != "" && tree.Service(r.Service) == nil {
		t.fail("service", "there is no services/%s: %s", r.Service,
			suggest(r.Service, tree.ServiceNames()))
	}
}

// readBuildClaim reads what is said of some targets.
func (t *table) readBuildClaim() Claim {
	c := Claim{
		ID:         t.need("id", `a short name, such as "P1"`),
		Kind:       t.needWord("kind", []string{KindBuilds}),
		Sentence:   t.need("sentence", "the claim in our own words"),
		Where:      t.need("where", "its place in the source"),
		Targets:    t.distinct("targets"),
		Comparable: t.prose("comparable"),
		Transfer:   t.prose("transfer"),
	}
	if len(c.Targets) == 0 {
		t.fail("targets",
			"expected the targets that the claim speaks of, as the command's rows name them")
	}
	t.checkID(c.ID)
	t.finish()
	return c
}

// KindBuilds is the kind of a claim that a program can be built, and works, on some systems.
const KindBuilds = "builds"
