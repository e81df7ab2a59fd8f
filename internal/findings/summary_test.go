package findings

import (
	"strings"
	"testing"

	"interleave/internal/stats"
)

func summaryOf(text string) Summary { return Summary{File: "summary.md", Text: text} }

// TestSummary fills in what the record has.
func TestSummary(t *testing.T) {
	f := Of(smallRun(t, 1), nil)
	for _, c := range []struct{ text, want string }{
		{"{count claims} claims, {count decided} decided, {count not comparable} not here",
			"5 claims, 3 decided, 1 not here"},
		{"{count published claims} and {count our claims}, {count published reproduced}",
			"4 and 1, 2"},
		{"{E2b of echo}", "2.23"},
		{"{E2b here}, published {E2b published}: {E2b verdict}",
			"2.23 (2.21–2.26), published 3.88: inconclusive"},
		{"{E2b figure}, {E2b accept}, {E2b}", "2.23, 3.10 to 4.85, [E2b](eve.md#e2b)"},
		{"Node is slower ({E2a: reproduced})", "Node is slower ([E2a](eve.md#e2a))"},
	} {
		got, warnings, err := summaryOf(c.text).fill(Together(f))
		if err != nil || got != c.want || len(warnings) > 0 {
			t.Errorf("%s: got %q, %v, %v; want %q", c.text, got, warnings, err, c.want)
		}
	}
	got, warnings, err := summaryOf("\nHere ({E2a: not reproduced}).").fill(Together(f))
	if err != nil || got != "\nHere ([E2a](eve.md#e2a), *now reproduced*)." ||
		strings.Join(warnings, "") != "summary.md:2: the summary was written for E2a: not "+
			"reproduced; the verdict is now: reproduced" {
		t.Errorf("another verdict: got %q, %v, %v", got, warnings, err)
	}
}

func TestWrongSummary(t *testing.T) {
	f := Of(smallRun(t, 1), nil)
	for text, want := range map[string]string{
		"\n{E99}":            `summary.md:2: there is no claim "E99"`,
		"{E99: reproduced}":  `summary.md:1: there is no claim "E99"`,
		"{E2a: true}":        `"true" is no verdict`,
		"{E2a rate}":         "{E2a rate}: expected nothing, here, figure",
		"{count papers}":     `"papers" cannot be counted`,
		"{count our papers}": `"papers" cannot be counted`,
		"{E2b of soup}":      `claim E2b has no comparison "soup": expected one of ["echo"]`,
		"{}":                 `there is no claim ""`,
		"a { } b":            `there is no claim ""`,
	} {
		_, _, err := summaryOf(text).fill(Together(f))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
		if _, err := Pages(Together(f), nil, summaryOf(text), "."); err == nil {
			t.Errorf("%q: pages were written", text)
		}
	}
}

// TestSummaryOnThePage: it comes before all tables, in lines of a hundred columns.
func TestSummaryOnThePage(t *testing.T) {
	f := Of(smallRun(t, 1), nil)
	dir := t.TempDir()
	put(t, dir, "summary", "<!-- how to write it -->\n\n## In short\n\n- Node: {E2b here}.\r\n"+
		"  "+strings.Repeat("word ", 30)+"\n- C.\n\nThe end.\n")
	summary, err := ReadSummary(dir)
	if err != nil {
		t.Fatal(err)
	}
	if whys, err := ReadWhys(dir, f); err != nil || len(whys) > 0 {
		t.Errorf("the summary is read as paragraphs: %v, %v", whys, err)
	}
	pages, err := Pages(Together(f), nil, summary, ".")
	if err != nil {
		t.Fatal(err)
	}
	text := string(pages["README.md"])
	head, _, _ := strings.Cut(text, "\n|")
	for _, want := range []string{"\n## In short\n\n- Node: 2.23 (2.21–2.26). word",
		"\n- C.\n\nThe end.\n"} {
		if !strings.Contains(head, want) {
			t.Errorf("before the first table there is no %q:\n%s", want, head)
		}
	}
	if strings.Contains(text, "how to write it") {
		t.Error("the comment of the file is on the page")
	}
	for l := range strings.SplitSeq(head, "\n") {
		if len([]rune(l)) > columns && !strings.HasPrefix(l, "<!--") {
			t.Errorf("a line of more than %d columns: %s", columns, l)
		}
	}
	none, err := ReadSummary(t.TempDir())
	if err != nil || none.Text != "" {
		t.Errorf("a folder without a summary: %+v, %v", none, err)
	}
}

// TestSummaryIsTrue: the committed sentences were written for the verdicts of the committed record.
func TestSummaryIsTrue(t *testing.T) {
	set, err := ReadSet(home)
	if err != nil {
		t.Fatal(err)
	}
	summary, err := ReadSummary(home)
	if err != nil {
		t.Fatal(err)
	}
	_, warnings, err := summary.fill(set)
	if err != nil || len(warnings) > 0 || summary.Text == "" {
		t.Errorf("got %v, %v", warnings, err)
	}
}

// FuzzSummary looks for texts that are taken and leave a field open, or warn of no line.
func FuzzSummary(f *testing.F) {
	figures := &Figures{Version: Version, Claims: []Claim{{Source: "eve", ID: "E1",
		Word: stats.Reproduced}}}
	f.Add("{E1} {E1 here} {E1: reproduced} {count claims}")
	f.Add("{E1: not reproduced}\n{{E1}}")
	f.Add("{\n} }{ {}")
	f.Fuzz(func(t *testing.T, text string) {
		s := summaryOf(text)
		got, warnings, err := s.fill(Together(figures))
		if err != nil {
			return
		}
		if strings.Count(got, "\n") != strings.Count(text, "\n") {
			t.Errorf("%q became %q", text, got)
		}
		for _, w := range warnings {
			if !strings.HasPrefix(w, "summary.md:") {
				t.Errorf("a warning names no line: %s", w)
			}
		}
		if _, err := Pages(Together(figures), nil, s, "."); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}
