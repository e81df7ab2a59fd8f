package findings

import (
	"strings"
	"testing"

	"interleave/internal/report"
)

// TestLinesOfStacks: the page of gonet.txt has the lines of one function in each stack, and figures
// that lack the lines of one are refused.
func TestLinesOfStacks(t *testing.T) {
	f := &Figures{Version: Version, Sources: []Source{{Name: "eve"}, {Name: "gonet"}},
		Stacks: &Stacks{[]string{"GoNet", "lwIP"}, []report.StackStep{
			{Name: "Begin", Printed: [2]int{7, 5}, Lines: []int{20, 0}},
			{Name: "Add", Printed: [2]int{1, 7}, Lines: []int{30, 90}}}}}
	f, err := Decode(encoded(t, f))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := Pages(Together(f), nil, Summary{}, "../..")
	if err != nil {
		t.Fatal(err)
	}
	page := string(pages["gonet.md"])
	for _, want := range []string{
		"| step | GoNet, as printed | tapip, as printed | GoNet here | lwIP here |\n",
		"| Begin | 7 | 5 | 20 | – |\n", "| all together | 8 | 12 | 50 | 90 |\n"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if strings.Contains(string(pages["eve.md"]), "as printed") {
		t.Error("another source has the lines, too")
	}
	f.Stacks.Steps[0].Lines = []int{20}
	if _, err := Decode(encoded(t, f)); err == nil || !strings.Contains(err.Error(),
		`step "Begin" has the lines of 1 stacks, of 2`) {
		t.Errorf("lines of one stack of two: %v", err)
	}
	_, here := real(t)
	if here.Stacks == nil || here.Stacks.Names[0] != "GoNet" || len(here.Stacks.Steps) != 4 ||
		here.Stacks.Steps[0].Lines[0] == 0 {
		t.Errorf("this checkout has the stacks %+v", here.Stacks)
	}
}
