package syntax

import (
	"regexp"
	"strings"
	"testing"

	"interleave/eve/diag"
	"interleave/eve/source"
)

var examples = regexp.MustCompile("(?s)```eve (wrong|right)\n(.*?)```")

// Every page of a code of this package has one wrong program, which gets just that code, and one
// right one, which gets none.
func TestExplainPages(t *testing.T) {
	for _, code := range diag.Codes() {
		if !strings.HasPrefix(code, "E01") {
			continue
		}
		page, _ := diag.Explain(code)
		if !strings.HasPrefix(page, "# "+code+": ") {
			t.Errorf("%s: the page has no title", code)
		}
		found := examples.FindAllStringSubmatch(page, -1)
		if len(found) != 2 || found[0][1] != "wrong" || found[1][1] != "right" {
			t.Errorf("%s: the page needs one wrong and one right program", code)
			continue
		}
		for _, example := range found {
			var diags diag.List
			Parse(source.NewFile(code+".eve", example[2]), &diags)
			want := ""
			if example[1] == "wrong" {
				want = code
			}
			if got := codes(diags.Sorted()); got != want {
				t.Errorf("%s: the %s program yields %q, want %q", code, example[1], got, want)
			}
		}
	}
}

// The programs on the pages of other codes have no errors of text and layout.
func TestOtherPagesParse(t *testing.T) {
	for _, code := range diag.Codes() {
		if strings.HasPrefix(code, "E01") {
			continue
		}
		page, _ := diag.Explain(code)
		for _, example := range examples.FindAllStringSubmatch(page, -1) {
			_, diags := parse(code+".md", example[2])
			if out := show(t, diags); out != "" {
				t.Errorf("%s: the %s program\n%s", code, example[1], out)
			}
		}
	}
}

func codes(list []diag.Diagnostic) string {
	var all []string
	for _, d := range list {
		all = append(all, string(d.Code))
	}
	return strings.Join(all, " ")
}
