package document

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// columns is the width of a page of Markdown, that of our other pages.
const columns = 100

// Title and About are those of the page of the library, docs/eve/library.md.
const (
	Title = "The library of Eve"
	About = "Every public declaration of the library with its comment, as " +
		"[eve/std](../../eve/std) has them.\n`eve doc --markdown` writes this page. " +
		"[reference.md](reference.md) has the language, and shows how\nthe " +
		"larger modules are used."
)

// Markdown is a page with a table of the modules and the declarations of each. about stands at its
// head, and is Markdown.
func Markdown(title, about string, all []Module) string {
	var b strings.Builder
	b.WriteString("# " + title + "\n")
	if about != "" {
		b.WriteString(about + "\n")
	}
	if len(all) > 1 {
		b.WriteString("\n" + Table(all, ""))
	}
	for _, m := range all {
		if len(all) > 1 {
			b.WriteString("\n## " + m.Name + "\n")
		}
		if m.About != "" {
			b.WriteString(markdownOf(m.About) + "\n")
		}
		if len(m.Items) > 0 {
			b.WriteString("```\n" + declarations(m.Items) + "```\n")
		}
	}
	return b.String()
}

// Table is a table of modules with the first sentence of each. page is the file that Markdown has
// written; empty within that file itself.
func Table(all []Module, page string) string {
	var b strings.Builder
	b.WriteString("| module | what it has |\n|---|---|\n")
	for _, m := range all {
		about := strings.ReplaceAll(escaped(m.sentence()), kept, " ")
		b.WriteString("| [`" + m.Name + "`](" + page + "#" + anchor(m.Name) + ") | " +
			strings.ReplaceAll(about, "|", `\|`) + " |\n")
	}
	return b.String()
}

// anchor is the name that GitHub gives to a heading.
func anchor(heading string) string {
	return strings.ReplaceAll(strings.ToLower(heading), ".", "")
}

// declarations writes items as they stand in a module, with their comments above or behind them.
// Constants of one group have no empty lines between them.
func declarations(items []Item) string {
	var b strings.Builder
	for i, item := range items {
		if i > 0 && (!item.Joined || item.About != "" && !item.Behind) {
			b.WriteString("\n")
		}
		writeDeclaration(&b, item, "")
	}
	return b.String()
}

func writeDeclaration(b *strings.Builder, item Item, indent string) {
	text := indent + strings.ReplaceAll(item.Text, "\n", "\n"+indent)
	behind := "  # " + item.About
	width := utf8.RuneCountInString(text) + utf8.RuneCountInString(behind)
	switch {
	case item.About == "":
		b.WriteString(text + "\n")
	case item.Behind && width <= columns && !strings.Contains(text, "\n"):
		b.WriteString(text + behind + "\n")
	default:
		b.WriteString(wrap(item.About, indent+"# ", columns) + text + "\n")
	}
	for _, m := range item.Members {
		writeDeclaration(b, m, indent+"    ")
	}
}

// markdownOf is a comment as Markdown.
func markdownOf(about string) string {
	var b strings.Builder
	last := ofNothing
	for paragraph := range strings.SplitSeq(about, "\n\n") {
		kind := kindOf(paragraph)
		if last == ofCode && kind != ofCode {
			b.WriteString("```\n")
		}
		if last != ofNothing {
			b.WriteString("\n")
		}
		if kind == ofCode {
			if last != ofCode {
				b.WriteString("```\n")
			}
			b.WriteString(unindented(paragraph) + "\n")
		} else {
			for line := range strings.SplitSeq(paragraph, "\n") {
				writeProse(&b, line, kind)
			}
		}
		last = kind
	}
	if last == ofCode {
		b.WriteString("```\n")
	}
	return b.String()
}

// kept stands for a blank in a code span, in which no line is broken.
const kept = "\x00"

// writeProse writes a line of prose or of a list, broken into lines.
func writeProse(b *strings.Builder, line string, kind kind) {
	first, hanging := "", ""
	if kind == ofList {
		line, first, hanging = strings.TrimPrefix(line, "- "), "- ", "  "
	}
	var broken strings.Builder
	wrapLine(&broken, escaped(line), first, hanging, columns)
	before := first
	for row := range strings.Lines(strings.ReplaceAll(broken.String(), kept, " ")) {
		b.WriteString(before + marked.ReplaceAllString(row[len(before):], `$1\$2$3`))
		before = hanging
	}
}

// marked is what Markdown takes for a mark of its own at the start of a line: a heading, an item, a
// quotation.
var marked = regexp.MustCompile(`^([0-9]{0,9})([-+#>.)=])(\s)`)

// special is what Markdown takes for a mark within a line: of HTML, emphasis, mathematics.
var special = regexp.MustCompile(`[*~$\\]|<[A-Za-z/!?]|\b_|_\b`)

// escaped has the marks of a line of prose escaped, but those in backticks. There each blank is
// kept.
func escaped(line string) string {
	parts := strings.Split(line, "`")
	for i, part := range parts {
		if i%2 == 1 && i < len(parts)-1 {
			parts[i] = strings.ReplaceAll(part, " ", kept)
		} else {
			parts[i] = special.ReplaceAllString(part, `\$0`)
		}
	}
	return strings.Join(parts, "`")
}
