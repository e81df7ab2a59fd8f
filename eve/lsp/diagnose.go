package lsp

import (
	"fmt"
	"slices"
	"strings"

	"interleave/eve/diag"
	"interleave/eve/source"
)

// A published is the result of a check, for the documents' diagnostics.
type published struct {
	doc     *document
	program *program
}

// checkDirty starts to check the documents whose diagnostics may have changed.
func (s *server) checkDirty() {
	for path := range s.dirty {
		delete(s.dirty, path)
		d := s.view.docs[path]
		if d == nil {
			continue
		}
		r := &request{ctx: s.ctx, view: s.view, options: &s.options}
		go func() {
			p, err := r.program(d)
			if err != nil {
				return // the session ends
			}
			select {
			case s.checked <- published{d, p}:
			case <-s.ctx.Done():
			}
		}()
	}
}

// publish sends the diagnostics of a document, unless there is a newer version.
func (s *server) publish(p published) error {
	if s.view.docs[p.doc.path] != p.doc {
		return nil
	}
	return s.notify("textDocument/publishDiagnostics", publishParams{URI: p.doc.uri,
		Version: &p.doc.version, Diagnostics: s.view.diagnostics(p.doc, p.program)})
}

// diagnostics are those of the document itself. An error in a module that it imports is shown at
// the import.
func (v *view) diagnostics(d *document, p *program) []diagnostic {
	all := []diagnostic{}
	said := map[*source.File]bool{}
	for _, x := range p.diags {
		if x.Span.File == d.file || !x.Span.IsValid() {
			all = append(all, v.diagnostic(x))
		} else if x.Code.IsError() && !said[x.Span.File] {
			said[x.Span.File] = true
			all = append(all, v.imported(d, p, x))
		}
	}
	return all
}

func (v *view) diagnostic(x diag.Diagnostic) diagnostic {
	d := diagnostic{Range: v.encoding.span(x.Span), Severity: severityWarning,
		Code: string(x.Code), Source: "eve", Message: x.Message}
	if x.Code.IsError() {
		d.Severity = severityError
	}
	if x.Label != "" {
		d.Message += ": " + x.Label
	}
	if x.Fix != nil {
		d.Message += "\nfix: " + x.Fix.Text
		if x.Fix.Note != "" {
			d.Message += "\nnote: " + x.Fix.Note
		}
	}
	if x.Code == "W0403" || x.Code == "W0431" { // an entry that is not used, unreachable code
		d.Tags = []int{tagUnnecessary}
	}
	for _, a := range x.Also {
		if l, ok := v.location(a.Span); ok {
			d.Related = append(d.Related, related{l, a.Text})
		}
	}
	return d
}

// imported is an error of another module, at the import that leads to it if that is direct.
func (v *view) imported(d *document, p *program, x diag.Diagnostic) diagnostic {
	at := source.Span{File: d.file}
	for _, i := range d.syntax().Imports {
		if len(i.Path) == 0 {
			continue
		}
		last := i.Path[len(i.Path)-1].Span
		if u, ok := p.use(last); ok && u.File == x.Span.File {
			at = i.Path[0].Span.To(last)
		}
	}
	e := diagnostic{Range: v.encoding.span(at), Severity: severityError, Code: string(x.Code),
		Source: "eve"}
	e.Message = fmt.Sprintf("%s:%d: %s", x.Span.File.Name, x.Span.Line(), x.Message)
	if l, ok := v.location(x.Span); ok {
		e.Related = []related{{l, x.Message}}
	}
	return e
}

// location converts a place in any file that is open or on the disk; false for others.
func (v *view) location(s source.Span) (location, bool) {
	if !s.IsValid() {
		return location{}, false
	}
	uri := uriOf(s.File.Name)
	if d := v.docs[s.File.Name]; d != nil {
		uri = d.uri
	} else if !onDisk(s.File.Name) {
		return location{}, false
	}
	return location{uri, v.encoding.span(s)}, true
}

// fixes are the compiler's corrections for the diagnostics that touch a part of a document.
func fixes(p *program, at source.Span) []diag.Diagnostic {
	var all []diag.Diagnostic
	for _, d := range p.diags {
		if d.Fix != nil && d.Fix.Span.File == at.File && d.Span.File == at.File &&
			d.Span.Start <= at.End && at.Start <= d.Span.End {
			all = append(all, d)
		}
	}
	return all
}

type codeActionParams struct {
	rangeParams
	Context struct {
		Only []string `json:"only"`
	} `json:"context"`
}

type codeAction struct {
	Title       string        `json:"title"`
	Kind        string        `json:"kind"`
	Diagnostics []diagnostic  `json:"diagnostics"`
	IsPreferred bool          `json:"isPreferred"`
	Edit        workspaceEdit `json:"edit"`
}

// codeActions offers the compiler's own fixes.
func (r *request) codeActions(p codeActionParams) (any, error) {
	all := []codeAction{}
	wanted := func(kind string) bool { return kind == "" || kind == "quickfix" }
	if p.Context.Only != nil && !slices.ContainsFunc(p.Context.Only, wanted) {
		return all, nil
	}
	d, err := r.document(p.TextDocument)
	if err != nil {
		return nil, err
	}
	checked, err := r.program(d)
	if err != nil {
		return nil, err
	}
	for _, x := range fixes(checked, r.view.encoding.part(d.file, p.Range)) {
		edit := textEdit{r.view.encoding.span(x.Fix.Span), x.Fix.New}
		all = append(all, codeAction{
			Title: capital(x.Fix.Text), Kind: "quickfix", IsPreferred: true,
			Diagnostics: []diagnostic{r.view.diagnostic(x)},
			Edit:        workspaceEdit{map[string][]textEdit{d.uri: {edit}}},
		})
	}
	return all, nil
}

// capital begins a sentence.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
