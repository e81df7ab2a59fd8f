package check

import (
	"regexp"
	"strings"
	"testing"

	"interleave/eve/diag"
	"interleave/eve/source"
)

// heading starts another module in a block of a page that has several: "# bank.eve". The first
// module is main.
var heading = regexp.MustCompile(`(?m)^# (\w+\.eve)\n`)

// checkBlock checks a block of a page and returns the codes of its errors.
func checkBlock(text string) map[diag.Code]string {
	files := map[string]string{}
	parts := heading.FindAllStringSubmatchIndex(text, -1)
	for i, p := range parts {
		end := len(text)
		if i+1 < len(parts) {
			end = parts[i+1][0]
		}
		files[text[p[2]:p[3]]] = text[p[1]:end]
	}
	if len(parts) > 0 {
		text = text[:parts[0][0]]
	}
	diags := &diag.List{}
	Program(source.NewFile("main.eve", text), func(module string) (*source.File, bool) {
		text, ok := files[module+".eve"]
		return source.NewFile(module+".eve", text), ok
	}, diags)
	codes := map[diag.Code]string{}
	for _, d := range diags.Sorted() {
		codes[d.Code] = d.Message
	}
	return codes
}

// block returns the text of a page's block: "eve wrong", "eve right".
func block(page, kind string) string {
	_, rest, found := strings.Cut(page, "```"+kind+"\n")
	if !found {
		return ""
	}
	text, _, _ := strings.Cut(rest, "```")
	return text
}

// explained says whether this package reports the code.
func explained(code string) bool {
	for _, family := range []string{"E02", "E03", "E05", "E06", "W043"} {
		if strings.HasPrefix(code, family) {
			return true
		}
	}
	return false
}

func TestExplain(t *testing.T) {
	for _, code := range diag.Codes() {
		if !explained(code) {
			continue
		}
		page, _ := diag.Explain(code)
		wrong, right := block(page, "eve wrong"), block(page, "eve right")
		if wrong == "" || right == "" {
			t.Errorf("%s: the page lacks a block", code)
			continue
		}
		if codes := checkBlock(wrong); len(codes) != 1 || codes[diag.Code(code)] == "" {
			t.Errorf("%s: its wrong block gives %v", code, codes)
		}
		if codes := checkBlock(right); len(codes) != 0 {
			t.Errorf("%s: its right block gives %v", code, codes)
		}
	}
}
