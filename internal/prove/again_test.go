package prove

import (
	"errors"
	"strings"
	"testing"
)

// unsteady is a package whose tests fail as often as a file says, each in its own way.
const unsteady = `package three

import (
	"os"
	"strconv"
	"testing"
)

// fails tells whether a test is to fail this time.
func fails(name string) bool {
	text, _ := os.ReadFile("../out/" + name)
	left, _ := strconv.Atoi(string(text))
	os.WriteFile("../out/"+name, []byte(strconv.Itoa(left-1)), 0o644)
	return left > 0
}

func TestParts(t *testing.T) {
	t.Run("of it", func(t *testing.T) {
		if fails("part") {
			t.Error("not this time")
		}
	})
	t.Run("others", func(t *testing.T) {})
}

func TestRace(t *testing.T) {
	if fails("race") {
		t.Error("WARNING: DATA RACE")
	}
}

func TestCrash(t *testing.T) {
	if fails("crash") {
		os.Exit(3)
	}
}
`

// TestUnsteady runs failed tests again: one that passes then is unsteady, and nothing else is.
func TestUnsteady(t *testing.T) {
	for _, c := range []struct {
		name          string
		fails         map[string]string // how often
		again, failed int
		says          string
	}{
		{"once", map[string]string{"part": "1"}, 3, 0,
			"\nUNSTEADY three TestParts/of_it: it failed, and passed when it ran again; mend it\n"},
		{"twice", map[string]string{"part": "2"}, 3, 2, "\nFAIL three TestParts/of_it\n"},
		{"without it", map[string]string{"part": "1"}, 0, 2, "\nFAIL three TestParts/of_it\n"},
		{"a race", map[string]string{"race": "1"}, 3, 1, "\nFAIL three TestRace\n"},
		{"a race beside it", map[string]string{"part": "1", "race": "1"}, 3, 3,
			"\nFAIL three TestParts/of_it\n"},
		{"a crash", map[string]string{"crash": "1"}, 3, 1, "\nFAIL three "},
	} {
		t.Run(c.name, func(t *testing.T) {
			checkout := newCheckout(t, map[string]string{"three/three_test.go": unsteady})
			for name, times := range c.fails {
				checkout.write("out/"+name, times)
			}
			checkout.o.Packages, checkout.o.Again = []string{"three"}, c.again
			report, err := checkout.run()
			if errors.Is(err, ErrFailed) != (c.failed > 0) || report.Failed() != c.failed {
				t.Errorf("got %v and %d failures, want %d", err, report.Failed(), c.failed)
			}
			if out := checkout.out.String(); !strings.Contains(out, c.says) {
				t.Errorf("the output lacks %q:\n%s", c.says, out)
			}
			if report, _ = checkout.run(); report.Results[0].Remembered {
				t.Error("the result of a run in which a test failed is remembered")
			}
		})
	}
}
