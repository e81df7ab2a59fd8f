package manifest

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

// checkErrors sees to it that each error names the file, and a line that it has.
func checkErrors(t *testing.T, err error, file, text string) {
	t.Helper()
	lines := strings.Count(text, "\n") + 1
	eachError(err, func(err error) {
		e := (*Error)(nil)
		if !errors.As(err, &e) || e.File != file || e.Line < 0 || e.Line > lines {
			t.Errorf("%q of a file of %d lines", err, lines)
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("%q is more than a line", err)
		}
	})
}

func FuzzService(f *testing.F) {
	f.Add("title = 'Echo'\nsummary = 'bytes'\nprotocol = 'echo'\n")
	f.Add("title = [\n1]\n\"a.b\\n\" = {c = 1}\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseService("services/echo/service.toml", []byte(text))
		checkErrors(t, err, "services/echo/service.toml", text)
		if err == nil && (s.Title == "" || s.Summary == "" ||
			!slices.Contains(protocolWords(), s.Protocol)) {
			t.Errorf("took %+v for a service", s)
		}
	})
}

func FuzzModel(f *testing.F) {
	f.Add(goodModel)
	f.Add("run = ['{device}']\nstack = ['kernel', 1, '']\nuses = 'a'\n")
	f.Add("build = [[], [1], 'a']\nrun = '{port}'\n[env]\n'' = '{a}'\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := parseModel(modelFile, []byte(text), []string{"echo.c"})
		checkErrors(t, err, modelFile, text)
		if err != nil {
			return
		}
		if !m.Holds("{port}") && !m.Holds("{device}") && !m.Holds("{kernel}") ||
			len(m.Source) == 0 || m.WarmUp < 0 || m.Ready == "" {
			t.Errorf("took %+v for a model", m)
		}
		for _, command := range m.Build {
			if len(command) == 0 {
				t.Errorf("took an empty command: %q", m.Build)
			}
		}
	})
}

func FuzzExperiment(f *testing.F) {
	f.Add(goodExperiment)
	for _, w := range wrongExperiments {
		f.Add(strings.Replace(goodExperiment, w.old, w.new, 1))
	}
	f.Add("depth = 1\nload = [1]\npoint = {a = 1}\nclaim = [{}]\n[[curve]]\npoints = [[1, [2]], " +
		"3]\n[sweep]\nvalues = 'x'\n")
	f.Fuzz(func(t *testing.T, text string) {
		e, err := parseExperiment(experimentFile, []byte(text), treeOf(t))
		checkErrors(t, err, experimentFile, text)
		if err == nil {
			checkExperiment(t, e)
		}
	})
}

// checkExperiment holds what everyone who runs an experiment relies on.
func checkExperiment(t *testing.T, e *Experiment) {
	t.Helper()
	if len(e.Points) == 0 || !slices.Contains(e.Models, e.Baseline) {
		t.Errorf("took %+v for an experiment", e)
	}
	for _, p := range e.Points {
		l := p.Load
		if l.Connections < 1 || l.SizeBytes < 1 || l.Pipeline < 1 ||
			l.Shape == Open && !(l.Rate > 0) || l.Shape == Paced && !(l.Bits > 0) {
			t.Errorf("point %q has the load %+v", p.Name, l)
		}
	}
	for _, d := range []Depth{e.Quick, e.Normal, e.Full} {
		if d.Rounds < leastRounds || d.MaxRounds < d.Rounds || d.Sample <= 0 ||
			len(d.Conditions) == 0 {
			t.Errorf("took %+v for a depth", d)
		}
		for _, p := range e.Points {
			counts := p.Load.Requests > 0 && d.Requests != AllInWindow
			if d.Has(p) && d.Window == 0 && !counts {
				t.Errorf("point %q never ends at depth %+v", p.Name, d)
			}
		}
	}
	for _, c := range e.Claims {
		if !(c.Margin > 1) || math.IsNaN(c.Published) || c.Metric != Lines &&
			len(e.ClaimPoints(c)) == 0 {
			t.Errorf("took %+v for a claim", c)
		}
	}
}

// A file that no person wrote is refused without taking long: nested values, endless tables, one
// mistake a thousand times.
func TestHostile(t *testing.T) {
	for name, text := range map[string]string{
		"nested arrays":   "a = " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
		"nested tables":   "a = " + strings.Repeat("{a=", 9000) + "1" + strings.Repeat("}", 9000),
		"tables":          strings.Repeat("[[claim]]\n", 50_000),
		"unknown keys":    "[a]\n" + strings.Repeat("[[a.b]]\nx = 1\n", 20_000),
		"one long string": "title = '" + strings.Repeat("x", largest) + "'",
		"one long array":  "models = [" + strings.Repeat("'a', ", 100_000) + "]",
		"one long word":   "[load]\nshape = '" + strings.Repeat("é", 100_000) + "'",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseExperiment(experimentFile, []byte(text), treeOf(t))
			if err == nil {
				t.Fatal("it was taken for an experiment")
			}
			checkErrors(t, err, experimentFile, text)
			if n := len(err.Error()); n > 100_000 {
				t.Errorf("the errors have %d bytes", n)
			}
		})
	}
}
