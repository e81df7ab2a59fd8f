package report

// The matrix of an experiment that builds in place of measuring.

import (
	"fmt"
	"strings"

	"interleave/internal/quantity"
	"interleave/internal/record"
)

// matrix are the experiment's rows as a table; nil if it measures, or nothing was built.
func (e *experiment) matrix() *table {
	if len(e.builds) == 0 {
		return nil
	}
	t := &table{
		Caption: "Each target with what its compiler said, how many of the service's " +
			"transcripts what was built has passed, and why not more.",
		Head: []string{"target", "builds", "transcripts", "remarks"},
	}
	for _, b := range e.builds {
		builds := map[record.Built]string{record.BuiltYes: "yes", record.BuiltNo: "no",
			record.NotTried: "not tried"}[b.Built]
		played := "–"
		if b.Played > 0 {
			played = fmt.Sprintf("%d of %d", b.Passed, b.Played)
		}
		t.Rows = append(t.Rows, []string{b.Target, builds, played, b.Note})
	}
	return t
}

// oursOfBuilds is our side of the set-up of such an experiment.
func (s *study) oursOfBuilds(e *experiment) []string {
	tried := 0
	for _, b := range e.builds {
		if b.Built != record.NotTried {
			tried++
		}
	}
	return []string{
		s.machine(),
		fmt.Sprintf("%s of %s, of which %d could be tried here",
			quantity.Many(len(e.builds), "target"), strings.Join(e.Models, ", "), tried),
		"rows printed by: " + strings.Join(e.Builds, " "),
	}
}
