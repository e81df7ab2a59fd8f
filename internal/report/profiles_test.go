package report

import (
	"bytes"
	"strings"
	"testing"

	"interleave/internal/manifest"
	"interleave/internal/profile"
	"interleave/internal/record"
)

func TestFlameFigures(t *testing.T) {
	tree, e := imageExperiment()
	run := imageRun(tree, e)
	samples := &profile.Node{}
	samples.Add([]string{"Thread.run", "Store.add", "NativeDB.step"}, 75)
	samples.Add([]string{"Thread.run", "<init>.x"}, 25)
	run.Header.Profiles = []record.Profile{
		{Experiment: e.Name, Point: "cold", Model: "java-thread", Condition: manifest.Own,
			By: "a profiler", Samples: samples},
		{Experiment: e.Name, Point: "cold", Model: "go-goroutine", Condition: manifest.Own,
			Why: "it left none"},
		{Experiment: e.Name, Point: "cold", Model: "java-thread", Condition: manifest.Shared,
			Samples: samples},
	}
	s := examine(run)
	drawn := s.ofProfiles(s.experiments[0], manifest.Own, s.styles())
	if len(drawn) != 1 {
		t.Fatalf("got %d figures, want one: of java-thread under this condition", len(drawn))
	}
	if rows := drawn[0].Table.Rows; len(rows) < 2 || rows[0][0] != "NativeDB.step" ||
		rows[0][1] != "75 %" || rows[1][0] != "<init>.x" {
		t.Errorf("at work themselves: got %v", rows)
	}
	var page bytes.Buffer
	if err := HTML(&page, run); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"NativeDB.step, 75 %", "&lt;init&gt;.x, 25 %",
		"What the CPU of java-thread was busy with", "100 samples"} {
		if !strings.Contains(plainSpaces(page.String()), text) {
			t.Errorf("the page does not say %q", text)
		}
	}
}
