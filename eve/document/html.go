package document

import (
	_ "embed"
	"html/template"
	"io"
	"strings"
)

//go:embed page.html
var page string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"prose": prose, "dict": func(path string, item Item) entry { return entry{path, item} },
}).Parse(page))

// An entry is an item with its path, which is its place in the page.
type entry struct {
	Path string
	Item Item
}

// HTML writes one page with all modules and a search. It needs no other file.
func HTML(w io.Writer, title string, all []Module) error {
	return pageTemplate.Execute(w, struct {
		Title   string
		Modules []Module
	}{title, all})
}

// prose makes paragraphs of a comment. What stands in backticks is code.
func prose(text string) template.HTML {
	var b strings.Builder
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		switch {
		case paragraph == "":
		case kindOf(paragraph) == ofCode:
			b.WriteString("<pre>" + template.HTMLEscapeString(unindented(paragraph)) + "</pre>")
		case kindOf(paragraph) == ofList:
			b.WriteString("<ul>")
			for line := range strings.SplitSeq(paragraph, "\n") {
				b.WriteString("<li>" + words(strings.TrimPrefix(line, "- ")) + "</li>")
			}
			b.WriteString("</ul>")
		default:
			b.WriteString("<p>" + words(paragraph) + "</p>")
		}
	}
	return template.HTML(b.String())
}

// unindented is a paragraph of code without the four spaces before each line.
func unindented(paragraph string) string {
	return strings.ReplaceAll(strings.TrimPrefix(paragraph, "    "), "\n    ", "\n")
}

// words escapes a line of prose, and marks its code.
func words(text string) string {
	var b strings.Builder
	parts := strings.Split(text, "`")
	for i, part := range parts {
		escaped := template.HTMLEscapeString(part)
		switch {
		case i%2 == 0:
			b.WriteString(escaped)
		case i == len(parts)-1: // a backtick that has no second one
			b.WriteString("`" + escaped)
		default:
			b.WriteString("<code>" + escaped + "</code>")
		}
	}
	return b.String()
}
