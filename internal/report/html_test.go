package report

import (
	"bytes"
	"encoding/xml"
	"flag"
	"html"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"interleave/internal/manifest"
	"interleave/internal/record"
)

var (
	update   = flag.Bool("update", false, "rewrite the golden files")
	look     = flag.String("look", "", "write pages of made-up runs into this folder, to look at")
	lookTree = flag.String("tree", "../..", "the tree whose experiments -look makes up a run of")
)

// sources writes a file for each of the tree's models.
func sources(t *testing.T, tree *manifest.Tree) *manifest.Tree {
	t.Helper()
	for _, s := range tree.Services {
		for _, m := range s.Models {
			text := "/* " + m.Name +
				": <the whole server> */\nint main(void)\n{\n\treturn 0; // \"done\" & out\n}\n"
			if err := os.WriteFile(filepath.Join(m.Dir, m.Source[0]), []byte(text),
				0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return tree
}

func page1(t *testing.T, run Run) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, run); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// opaque are elements whose text is not markup.
var opaque = regexp.MustCompile(`(?s)(<(?:script|style)[^>]*>).*?(</(?:script|style)>)`)

// TestPageIsSound: tags close, ids are unique, fragments lead somewhere, nothing is loaded.
func TestPageIsSound(t *testing.T) {
	for name, run := range runs(t) {
		whole := page1(t, run)
		if len(whole) > 1_500_000 {
			t.Errorf("%s: %d bytes, want less than 1.5 MB", name, len(whole))
		}
		ids, links := map[string]bool{}, []string{}
		d := xml.NewDecoder(strings.NewReader(opaque.ReplaceAllString(whole, "$1$2")))
		d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
		open := []string{}
		for {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			switch e := token.(type) {
			case xml.StartElement:
				open = append(open, e.Name.Local)
				links = append(links, attributes(t, name, e, ids)...)
			case xml.EndElement:
				if last := open[len(open)-1]; last != e.Name.Local {
					t.Fatalf("%s: <%s> is closed by </%s>", name, last, e.Name.Local)
				}
				open = open[:len(open)-1]
			}
		}
		for _, to := range links {
			if !ids[to] {
				t.Errorf("%s: a link leads to #%s, which is not there", name, to)
			}
		}
		for _, must := range []string{"verdicts", "machine", "left-out", "method"} {
			if !ids[must] {
				t.Errorf("%s: no element #%s", name, must)
			}
		}
	}
}

// TestWakingInCalibration: the page says what the gate has taken off for a waking, of records that
// were made before it was measured, too.
func TestWakingInCalibration(t *testing.T) {
	for _, test := range []struct {
		wakings []record.Waking
		want    []string
	}{
		{nil, []string{"3.00\u202fµs", "made by a version that did not measure it"}},
		{[]record.Waking{record.MeasuredWaking([]record.Pattern{
			{Name: "two threads", Slope: 4600, Low: 4400, High: 5000}})},
			[]string{"4.60\u202fµs", "two threads 4.6µs (4.4µs–5µs)"}},
	} {
		run := Run{Header: record.Header{Wakings: test.wakings,
			Calibration: []record.Check{{Name: "an injected delay", Unit: "ms", OK: true}}}}
		var p page
		(&study{Run: run}).fillMachine(&p)
		if len(p.Calibration) != 2 {
			t.Fatalf("got %+v, want two lines", p.Calibration)
		}
		line := p.Calibration[1]
		said := line.MeasuredText + " " + line.Note
		for _, want := range test.want {
			if !strings.Contains(said, want) {
				t.Errorf("got %q, want %q in it", said, want)
			}
		}
		if line.TruthText != "" || line.ToleranceText != "" {
			t.Errorf("a line without a truth shows %q ± %q", line.TruthText, line.ToleranceText)
		}
	}
}

// attributes checks one element and returns the fragments that it leads to.
func attributes(t *testing.T, page string, e xml.StartElement, ids map[string]bool) []string {
	t.Helper()
	var links []string
	for _, a := range e.Attr {
		switch a.Name.Local {
		case "id":
			if ids[a.Value] {
				t.Errorf("%s: the id %q is there twice", page, a.Value)
			}
			ids[a.Value] = true
		case "href":
			to, found := strings.CutPrefix(a.Value, "#")
			if !found {
				t.Errorf("%s: <%s href=%q> leads out of the page", page, e.Name.Local, a.Value)
			}
			links = append(links, to)
		case "src", "srcset", "data", "action", "poster":
			t.Errorf("%s: <%s %s=%q> loads something", page, e.Name.Local, a.Name.Local, a.Value)
		}
		if e.Name.Local != "svg" && a.Name.Space != "xmlns" && strings.Contains(a.Value, "//") {
			t.Errorf("%s: <%s %s=%q> names another place", page, e.Name.Local, a.Name.Local,
				a.Value)
		}
	}
	return links
}

func TestPageLoadsNothingByStyleOrScript(t *testing.T) {
	whole := page1(t, runs(t)["few"])
	for _, bad := range []string{"@import", "url(http", "fetch(", "XMLHttpRequest", "WebSocket",
		"sendBeacon", "import("} {
		if strings.Contains(whole, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
}

func TestPageShowsWhatItShould(t *testing.T) {
	all := runs(t)
	for _, tt := range []struct{ run, want string }{
		{"normal", `id="P1"`}, {"normal", `id="eve-counter-P1"`}, // one fragment for each claim
		{"normal", "&lt;the whole server&gt;"}, {"normal", "<i>// &#34;done&#34; &amp; out</i>"},
		{"normal", "needs pkg:liburing"}, {"normal", "the server died"},
		{"normal", "interleave run --normal"},
		{"normal", "Between two hosts"}, {"normal", "Fourteen years"}, {"normal", "MIT License"},
		{"one", "no 95 % interval can be given"}, {"empty", "No cell was measured"},
		{"aborted", "can be resumed"},
		{"no tree", "No published claim belongs"},
	} {
		if !strings.Contains(strings.ReplaceAll(page1(t, all[tt.run]), "\u202f", " "), tt.want) {
			t.Errorf("the page of the %s run lacks %q", tt.run, tt.want)
		}
	}
}

func TestPageIsTheSameForTheSameRun(t *testing.T) {
	run := runs(t)["few"]
	first, second := page1(t, run), page1(t, run)
	if first != second {
		t.Error("two pages of one run differ")
	}
}

// TestHostileText: names and outputs come from files of others and must not become markup.
func TestHostileText(t *testing.T) {
	run := runs(t)["few"]
	const bad = `</script><script>alert(1)</script>"'<b>`
	run.Cells[0].Status, run.Cells[0].Tail = "failed", bad
	run.Cells[1].Model, run.Cells[2].Point = bad, bad
	run.Header.Machine.CPU = bad
	run.Tree.Experiments[0].Title = bad
	if strings.Contains(page1(t, run), "<script>alert") {
		t.Error("a text became a script")
	}
}

// TestEveryExperimentHasAPage makes up a run of every experiment and writes its page, for people to
// look at too: go test ./internal/report -run Page -look FOLDER.
func TestEveryExperimentHasAPage(t *testing.T) {
	folder := *look
	if folder == "" {
		folder = t.TempDir()
	}
	all := runs(t)
	tree, err := manifest.LoadTree(*lookTree)
	if err != nil {
		t.Fatal(err)
	}
	all["full"] = synthesize(tree, recipe{seed: 3, rounds: 12, depth: "full", losses: .012})
	for name, run := range all {
		file := filepath.Join(folder, strings.ReplaceAll(name, " ", "-")+".html")
		page := page1(t, run)
		for _, e := range tree.Experiments {
			if name == "full" && !strings.Contains(page, html.EscapeString(e.Title)) {
				t.Errorf("the page does not name the experiment %q", e.Title)
			}
		}
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
