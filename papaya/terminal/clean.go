package terminal

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"interleave/papaya/irc"
)

// clean makes a text from others safe to show.
func clean(text string) string { return irc.Plain(text) }

// cleanLines is clean for a text of several lines. A line cannot change those after it.
func cleanLines(text string) string {
	if !strings.Contains(text, "\n") {
		return clean(text)
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = clean(l)
	}
	return strings.Join(lines, "\n")
}

// fit cuts or pads a text to a width.
func fit(s string, width int) string {
	if width <= 0 {
		return ""
	}
	if ansi.StringWidth(s) > width {
		s = ansi.Truncate(s, width, "…")
	}
	return s + strings.Repeat(" ", max(0, width-ansi.StringWidth(s)))
}

// wrap breaks a text into lines of at most width columns, at blanks if possible.
func wrap(text string, width int) []string {
	if width < 2 { // a wide character needs two columns
		width = 2
	}
	return strings.Split(ansi.Wrap(text, width, ""), "\n")
}
