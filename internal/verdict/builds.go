package verdict

import (
	"fmt"
	"slices"
	"strings"

	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/stats"
)

// JudgeBuilds holds the claims of an experiment of builds against its rows. A claim is
// reproduced where the program was built for each of its targets, and passed every transcript
// that could be played there.
func JudgeBuilds(e *manifest.Experiment, builds []record.Build) []Verdict {
	rows := slices.DeleteFunc(slices.Clone(builds),
		func(b record.Build) bool { return b.Experiment != e.Name })
	var out []Verdict
	for _, c := range e.Claims {
		out = append(out, judgeBuilds(e, c, rows))
	}
	return out
}

func judgeBuilds(e *manifest.Experiment, c manifest.Claim, rows []record.Build) Verdict {
	v := Verdict{Experiment: e.Name, Claim: c, Differences: e.Setup}
	if c.Transfer != "" {
		v.Differences = append([]string{c.Transfer}, v.Differences...)
	}
	switch {
	case c.Comparable != "":
		return v.ends(stats.NotComparable, c.Comparable)
	case len(rows) == 0:
		return v.ends(stats.Inconclusive, "nothing was built")
	}
	var played, unplayed, wrong, open []string
	for _, target := range c.Targets {
		i := slices.IndexFunc(rows, func(b record.Build) bool { return b.Target == target })
		if i < 0 {
			open = append(open, target+" was not tried")
			continue
		}
		switch b := rows[i]; {
		case b.Built == record.NotTried:
			open = append(open, because(target+" could not be tried", b.Note))
		case b.Built == record.BuiltNo:
			wrong = append(wrong, because(target+" is not built", b.Note))
		case b.Passed < b.Played:
			wrong = append(wrong, because(fmt.Sprintf("%s passes %d of %d transcripts", target,
				b.Passed, b.Played), b.Note))
		case b.Played == 0:
			unplayed = append(unplayed, target)
			v.Cautions = append(v.Cautions,
				because(target+": it was built, and no transcript was played", b.Note))
		default:
			played = append(played, target)
		}
	}
	var parts []string
	if len(played) > 0 {
		parts = append(parts, "builds and passes its transcripts on "+strings.Join(played, ", "))
	}
	if len(unplayed) > 0 {
		parts = append(parts, "builds for "+strings.Join(unplayed, ", "))
	}
	if len(parts) > 0 {
		v.Sentence = fmt.Sprintf("Here, %s %s. ", strings.Join(e.Models, ", "),
			strings.Join(parts, ", and "))
	}
	switch {
	case len(wrong) > 0:
		v.Word, v.Reason = stats.NotReproduced, strings.Join(append(wrong, open...), "; ")
	case len(open) > 0:
		v.Word, v.Reason = stats.Inconclusive, strings.Join(open, "; ")
	default:
		v.Word = stats.Reproduced
	}
	v.Sentence += sentence(v.Word, v.Reason)
	return v
}

func because(what, why string) string {
	if why == "" {
		return what
	}
	return what + " (" + why + ")"
}
