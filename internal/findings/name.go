package findings

// The names of claims on the pages. Each source numbers its claims for itself, so two of them may
// have an H1. Those get the letter of their source: G-H1, T-H1.

import (
	"fmt"
	"regexp"
	"strings"
)

// letters are what the claims of a source begin with.
func letters(id string) string {
	return strings.TrimRight(id, "0123456789abcdefghijklmnopqrstuvwxyz")
}

// shared tells whether another source has claims with the same letters.
func (f *Figures) shared(source, id string) bool {
	for _, c := range f.Claims {
		if c.Source != source && letters(c.ID) == letters(id) {
			return true
		}
	}
	return false
}

// id is the name of a claim on all pages.
func (f *Figures) id(c Claim) string {
	if !f.shared(c.Source, c.ID) {
		return c.ID
	}
	for _, p := range papers {
		if p.name == c.Source && p.letter != "" {
			return p.letter + "-" + c.ID
		}
	}
	return c.Source + "-" + c.ID
}

// link leads from any page to a claim.
func (f *Figures) link(c Claim) string {
	return fmt.Sprintf("[%s](%s.md#%s)", f.id(c), c.Source, anchor(f.id(c)))
}

// ids are the names of claims in a text.
var ids = regexp.MustCompile(`\b[A-Z]+[0-9]+[a-z]?\b`)

// refer gives the claims of its own source that a text names their names on the pages.
func (f *Figures) refer(source, text string) string {
	return ids.ReplaceAllStringFunc(text, func(id string) string {
		for _, c := range f.Claims {
			if c.Source == source && c.ID == id {
				return f.id(c)
			}
		}
		return id
	})
}
