package verdict

import (
	"strings"
	"testing"

	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/stats"
)

func TestJudgeBuilds(t *testing.T) {
	row := func(target string, built record.Built, passed, played int, note string) record.Build {
		return record.Build{Experiment: "e", Target: target, Built: built, Passed: passed,
			Played: played, Note: note}
	}
	for _, test := range []struct {
		name string
		rows []record.Build
		word stats.Word
		says string
	}{
		{"all", []record.Build{row("a", "yes", 3, 3, ""), row("b", "yes", 1, 1, "")},
			stats.Reproduced, "Here, m builds and passes its transcripts on a, b. Reproduced."},
		{"one elsewhere", []record.Build{row("a", "yes", 3, 3, ""),
			row("b", "yes", 0, 0, "nothing runs it")}, stats.Reproduced,
			"Here, m builds and passes its transcripts on a, and builds for b. Reproduced."},
		{"one could not", []record.Build{row("a", "yes", 3, 3, ""),
			row("b", "skip", 0, 0, "install it")}, stats.Inconclusive,
			"b could not be tried (install it)"},
		{"one is not there", []record.Build{row("a", "yes", 3, 3, "")}, stats.Inconclusive,
			"b was not tried"},
		{"one fails", []record.Build{row("a", "no", 0, 0, "error: x"),
			row("b", "skip", 0, 0, "install it")}, stats.NotReproduced,
			"a is not built (error: x); b could not be tried (install it)"},
		{"one is wrong", []record.Build{row("a", "yes", 2, 3, "killed: got x"),
			row("b", "yes", 1, 1, "")}, stats.NotReproduced,
			"a passes 2 of 3 transcripts (killed: got x)"},
		{"nothing", []record.Build{{Experiment: "other", Target: "a", Built: "yes"}},
			stats.Inconclusive, "nothing was built"},
	} {
		e := &manifest.Experiment{Name: "e", Models: []string{"m"},
			Claims: []manifest.Claim{{ID: "P5", Kind: manifest.KindBuilds,
				Targets: []string{"a", "b"}}}}
		v := JudgeBuilds(e, test.rows)[0]
		if v.Word != test.word || !strings.Contains(v.Sentence, test.says) {
			t.Errorf("%s: got %s: %q, want %s: %q", test.name, v.Word, v.Sentence, test.word,
				test.says)
		}
	}
	e := &manifest.Experiment{Claims: []manifest.Claim{{Comparable: "no machine has it"}}}
	if v := JudgeBuilds(e, nil)[0]; v.Word != stats.NotComparable {
		t.Errorf("not comparable: got %s", v.Word)
	}
}
