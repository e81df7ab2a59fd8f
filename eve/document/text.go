package document

import (
	"strings"
	"unicode/utf8"
)

// List writes the modules, each with the first sentence of its comment. width is the number of
// columns; 0 is no limit.
func List(all []Module, width int) string {
	longest := 0
	for _, m := range all {
		longest = max(longest, len(m.Name))
	}
	var b strings.Builder
	for _, m := range all {
		line := m.Name + strings.Repeat(" ", longest-len(m.Name)) + "  " + m.sentence()
		b.WriteString(strings.TrimRight(shorten(line, width), " ") + "\n")
	}
	return b.String()
}

// sentence is the first one about a module. A module of one type is described by it.
func (m Module) sentence() string {
	about := m.About
	if about == "" && len(m.Items) > 0 {
		about = m.Items[0].About
	}
	about, _, _ = strings.Cut(about, "\n")
	about, _, _ = strings.Cut(about, ". ")
	return strings.TrimRight(about, ".:")
}

// shorten cuts a line to a width.
func shorten(line string, width int) string {
	if width == 0 || utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:width-1]) + "…"
}

// Text writes what was found.
func (f Found) Text(width int) string {
	var b strings.Builder
	b.WriteString(f.Path + "\n")
	if f.Item != nil {
		b.WriteString("\n")
		writeItem(&b, *f.Item, "", width)
		return b.String()
	}
	if f.Module.About != "" {
		b.WriteString("\n" + wrap(f.Module.About, "", width))
	}
	for _, item := range f.Module.Items {
		b.WriteString("\n")
		writeItem(&b, item, "", width)
	}
	return b.String()
}

// writeItem writes a declaration, its comment below it, and its members.
func writeItem(b *strings.Builder, item Item, indent string, width int) {
	for line := range strings.SplitSeq(item.Text, "\n") {
		b.WriteString(indent + line + "\n")
	}
	b.WriteString(wrap(item.About, indent+"    # ", width))
	for _, m := range item.Members {
		writeItem(b, m, indent+"    ", width)
	}
}

// leastWidth is the least number of columns for text, however deep it is indented.
const leastWidth = 40

// wrap breaks paragraphs into lines that begin with indent. Code stays as it is.
func wrap(text, indent string, width int) string {
	if text == "" {
		return ""
	}
	var b strings.Builder
	for i, paragraph := range strings.Split(text, "\n\n") {
		if i > 0 {
			b.WriteString(strings.TrimRight(indent, " ") + "\n")
		}
		for line := range strings.SplitSeq(paragraph, "\n") {
			switch kindOf(line) {
			case ofCode:
				b.WriteString(indent + line + "\n")
			case ofList:
				wrapLine(&b, line, indent, indent+"  ", width)
			default:
				wrapLine(&b, line, indent, indent, width)
			}
		}
	}
	return b.String()
}

// wrapLine breaks a line between words: indent stands before the first of the new lines, hanging
// before the others.
func wrapLine(b *strings.Builder, text, indent, hanging string, width int) {
	line := ""
	for _, word := range strings.Fields(text) {
		room := max(width-len(indent), leastWidth)
		full := utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > room
		switch {
		case line == "":
			line = word
		case width > 0 && full:
			b.WriteString(indent + line + "\n")
			line, indent = word, hanging
		default:
			line += " " + word
		}
	}
	b.WriteString(indent + line + "\n")
}
