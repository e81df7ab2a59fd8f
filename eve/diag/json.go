package diag

import (
	"encoding/json"
	"io"

	"interleave/eve/source"
)

// The JSON form is for editors and scripts. The names and meanings of its fields do not change;
// new fields may be added. Lines and columns count from 1, columns in bytes. An end is the place
// behind the last byte.

type jsonReport struct {
	Diagnostics []jsonDiagnostic `json:"diagnostics"`
	Errors      int              `json:"errors"`
	Warnings    int              `json:"warnings"`
}

type jsonSpan struct {
	File      string `json:"file"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	EndLine   int    `json:"end_line"`
	EndColumn int    `json:"end_column"`
}

type jsonDiagnostic struct {
	Code     string      `json:"code"`
	Severity string      `json:"severity"` // "error" or "warning"
	Message  string      `json:"message"`
	Label    string      `json:"label,omitempty"`
	Span     *jsonSpan   `json:"span,omitempty"`
	Labels   []jsonLabel `json:"labels,omitempty"`
	Fix      *jsonFix    `json:"fix,omitempty"`
}

type jsonLabel struct {
	Text string    `json:"text"`
	Span *jsonSpan `json:"span,omitempty"`
}

type jsonFix struct {
	Text string    `json:"text"`
	Note string    `json:"note,omitempty"`
	Span *jsonSpan `json:"span,omitempty"`
	New  string    `json:"new"` // replaces the text of span
}

// JSON writes diagnostics as one JSON object, all of them.
func JSON(w io.Writer, diags []Diagnostic) error {
	report := jsonReport{Diagnostics: []jsonDiagnostic{}}
	for _, d := range diags {
		report.Diagnostics = append(report.Diagnostics, toJSON(d))
		if d.Code.IsError() {
			report.Errors++
		} else {
			report.Warnings++
		}
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(report)
}

func toJSON(d Diagnostic) jsonDiagnostic {
	j := jsonDiagnostic{Code: string(d.Code), Severity: "error", Message: d.Message, Label: d.Label,
		Span: toSpan(d.Span)}
	if !d.Code.IsError() {
		j.Severity = "warning"
	}
	for _, a := range d.Also {
		j.Labels = append(j.Labels, jsonLabel{a.Text, toSpan(a.Span)})
	}
	if d.Fix != nil {
		j.Fix = &jsonFix{d.Fix.Text, d.Fix.Note, toSpan(d.Fix.Span), d.Fix.New}
	}
	return j
}

// toSpan is nil for the zero span.
func toSpan(s source.Span) *jsonSpan {
	if !s.IsValid() {
		return nil
	}
	j := &jsonSpan{File: s.File.Name}
	j.Line, j.Column = s.File.Position(s.Start)
	j.EndLine, j.EndColumn = s.File.Position(s.End)
	return j
}
