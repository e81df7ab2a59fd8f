package diag

import (
	"embed"
	"strings"
)

// pages describe one code each: explain/E0402.md.
//
//go:embed explain/*.md
var pages embed.FS

// Explain returns the page that describes a code, in Markdown; false when there is none. The case
// of letters does not matter.
func Explain(code string) (string, bool) {
	text, err := pages.ReadFile("explain/" + strings.ToUpper(code) + ".md")
	return string(text), err == nil
}

// Codes lists the codes that have a page, in order.
func Codes() []string {
	entries, err := pages.ReadDir("explain")
	if err != nil {
		return nil
	}
	var codes []string
	for _, e := range entries {
		codes = append(codes, strings.TrimSuffix(e.Name(), ".md"))
	}
	return codes
}
