package report

// The names of claims. Each source numbers its claims for itself, so that two of them may have an
// H1. Those bear the letter of their source in front, as in the findings: G-H1, T-H1.

import (
	"strings"

	"interleave/internal/manifest"
	"interleave/internal/verdict"
)

// letters are what the ID of a claim begins with.
func letters(id string) string {
	return strings.TrimRight(id, "0123456789abcdefghijklmnopqrstuvwxyz")
}

// name is what a report calls the claim of a verdict.
func (s *study) name(v verdict.Verdict) string {
	return s.names[claimKey{v.Experiment, v.Claim.ID}]
}

// names are those of the claims of some experiments. The letter of a source is that of its first
// published claim.
func names(list []*manifest.Experiment) map[claimKey]string {
	own := map[string]string{}              // by source
	sources := map[string]map[string]bool{} // by letters
	each := func(do func(e *manifest.Experiment, c manifest.Claim)) {
		for _, e := range list {
			for _, c := range e.Claims {
				do(e, c)
			}
		}
	}
	each(func(e *manifest.Experiment, c manifest.Claim) {
		l := letters(c.ID)
		if sources[l] == nil {
			sources[l] = map[string]bool{}
		}
		sources[l][e.Paper()] = true
		if own[e.Paper()] == "" && !c.Ours {
			own[e.Paper()] = l
		}
	})
	out := map[claimKey]string{}
	each(func(e *manifest.Experiment, c manifest.Claim) {
		name := c.ID
		if l := letters(c.ID); len(sources[l]) > 1 && own[e.Paper()] != l && own[e.Paper()] != "" {
			name = own[e.Paper()] + "-" + c.ID
		}
		out[claimKey{e.Name, c.ID}] = name
	})
	return out
}
