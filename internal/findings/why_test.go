package findings

import (
	"strings"
	"testing"

	"interleave/internal/stats"
)

const rightWhy = `# Why: eve.txt
machine: 2 cores of AMD EPYC

## E2a, E2b
written for: reproduced, inconclusive
looked with: perf

The first.
machine: is text here.

## E4a
machine: 8 cores of Xeon
written for: not reproduced

The second.
`

func TestParseWhys(t *testing.T) {
	list, err := ParseWhys("eve.md", rightWhy)
	if err != nil || len(list) != 2 {
		t.Fatalf("got %d paragraphs, %v", len(list), err)
	}
	a, b := list[0], list[1]
	if strings.Join(a.Claims, " ") != "E2a E2b" || a.Machine != "2 cores of AMD EPYC" ||
		a.Tools != "perf" || a.Text != "The first.\nmachine: is text here." || a.Line != 4 ||
		len(a.Words) != 2 || a.Words[1] != stats.Inconclusive {
		t.Errorf("the first is %+v", a)
	}
	if b.Machine != "8 cores of Xeon" || b.Tools != "" || b.Text != "The second." {
		t.Errorf("the second is %+v", b)
	}
}

func TestWrongWhys(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"# Why: eve.txt", "Text.", "eve.md:1: expected `## CLAIM` before any text"},
		{"inconclusive", "maybe", `eve.md:5: "maybe" is no verdict`},
		{"written for: not reproduced\n", "", "eve.md:11: expected `written for: `"},
		{"machine: 2 cores of AMD EPYC", "", "eve.md:4: expected `machine: `"},
		{"The second.", "", "eve.md:11: the paragraph is empty"},
		{"E2a, E2b", "E2a,", "eve.md:4: the heading names no claim"},
		{"The second.", "The second.\n### More", "eve.md:16: a heading has two #"},
	} {
		_, err := ParseWhys("eve.md", strings.Replace(rightWhy, c.from, c.to, 1))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: got %v, want %q", c.to, c.from, err, c.want)
		}
	}
}

func TestWhysOfOtherClaims(t *testing.T) {
	f := Of(smallRun(t, 1), nil)
	for _, c := range []struct{ source, heading, want string }{
		{"eve", "E99", `eve.md:4: there is no claim "E99" in the experiments on eve`},
		{"gonet", "E2a", "gonet.md:4: claim E2a is of eve: its paragraph belongs into eve.md"},
		{"eve", "E4a, E2a", "eve.md:4: claim E2a has a paragraph already, at line 4"},
	} {
		dir := t.TempDir()
		text := strings.Replace(rightWhy, "E2a, E2b", c.heading, 1)
		if strings.Contains(c.want, "already") {
			text = strings.Replace(rightWhy, "E2a, E2b", "E2a, E2a", 1)
		}
		put(t, dir, c.source, text)
		_, err := ReadWhys(dir, f)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s in %s.md: got %v, want %q", c.heading, c.source, err, c.want)
		}
	}
	if whys, err := ReadWhys(t.TempDir(), f); err != nil || len(whys) > 0 {
		t.Errorf("a folder without paragraphs: %v, %v", whys, err)
	}
}

// FuzzParseWhys looks for paragraphs that are read and lack something that pages need.
func FuzzParseWhys(f *testing.F) {
	f.Add(rightWhy)
	f.Add("machine: m\n## A\nwritten for: reproduced\n\r\nText\n")
	f.Add("## ,\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ParseWhys("x.md", text)
		if err != nil {
			return
		}
		for _, w := range list {
			if len(w.Claims) == 0 || len(w.Words) == 0 || w.Machine == "" || w.Text == "" ||
				w.Line < 1 {
				t.Errorf("%+v lacks something", w)
			}
		}
	})
}
