package report

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/record"
)

// The matrix stands in every form of the report; what a compiler has said is text there,
// whatever it looks like.
func TestMatrix(t *testing.T) {
	at := time.Date(2026, 11, 22, 7, 20, 11, 0, time.UTC)
	e := &manifest.Experiment{Name: "portable", Title: "Many systems", Source: "a paper",
		Service: "chat", Models: []string{"c-process"},
		Builds: []string{"make", "matrix"},
		Claims: []manifest.Claim{{ID: "P5", Kind: manifest.KindBuilds, Sentence: "It builds.",
			Targets: []string{"one", "two"}}}}
	r := Run{Tree: &manifest.Tree{Experiments: []*manifest.Experiment{e}}, Header: record.Header{
		ID: "r", Started: at, Finished: &at, Experiments: []string{"portable"},
		Builds: []record.Build{
			{Experiment: "portable", Target: "one", Built: record.BuiltYes, Passed: 3, Played: 3},
			{Experiment: "portable", Target: "two", Built: record.NotTried,
				Note: "<script>alert(1)</script>|install it"},
			{Experiment: "another", Target: "three", Built: record.BuiltNo},
		}}}
	for name, form := range map[string]struct {
		write func(io.Writer) error
		want  []string
	}{
		"page": {func(w io.Writer) error {
			return HTML(w, r)
		}, []string{`<th scope="row">one</th><td>yes</td><td>3 of 3</td>`,
			"&lt;script&gt;alert(1)&lt;/script&gt;|install it", "Inconclusive"}},
		"Markdown": {func(w io.Writer) error {
			return Markdown(w, r)
		}, []string{"| one | yes | 3 of 3 |  |",
			`| two | not tried | – | &lt;script>alert(1)&lt;/script>\|install it |`}},
		"terminal": {func(w io.Writer) error { return Terminal(w, r, 80, false) },
			[]string{"  one           yes       3 of 3", "two could not be tried", "install it"}},
		"JSON": {func(w io.Writer) error { return JSON(w, r) }, []string{`"target": "one"`,
			`"word": "inconclusive"`}},
	} {
		var b bytes.Buffer
		if err := form.write(&b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range form.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: %q is missing in\n%.3000s", name, want, b.String())
			}
		}
		if strings.Contains(b.String(), "<script>alert") && name == "page" ||
			strings.Contains(b.String(), "three") {
			t.Errorf("%s: has what is not its own", name)
		}
	}
}
