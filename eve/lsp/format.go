package lsp

import (
	"strings"

	"interleave/eve/diag"
	"interleave/eve/format"
	"interleave/eve/source"
)

// formatting formats a document. A document with errors stays as it is: its diagnostics say why.
func (r *request) formatting(p documentParams) (any, error) {
	d, err := r.document(p.TextDocument)
	if err != nil {
		return nil, err
	}
	var diags diag.List
	text, ok := format.File(d.file, &diags)
	if !ok {
		return []textEdit{}, nil
	}
	return r.view.encoding.edits(d.file, text), nil
}

// edits returns the edits that turn a file into text: one for each part of lines that differs, so
// that editors keep cursors and marks in the others.
func (e encoding) edits(f *source.File, text string) []textEdit {
	all := []textEdit{}
	old, now := strings.SplitAfter(f.Text, "\n"), strings.SplitAfter(text, "\n")
	at := 0
	for i, j := 0, 0; i < len(old) || j < len(now); {
		if i < len(old) && j < len(now) && old[i] == now[j] {
			at += len(old[i])
			i++
			j++
			continue
		}
		di, dj := nextEqual(old[i:], now[j:])
		removed := strings.Join(old[i:i+di], "")
		part := source.Span{File: f, Start: at, End: at + len(removed)}
		all = append(all, textEdit{e.span(part), strings.Join(now[j:j+dj], "")})
		at += len(removed)
		i, j = i+di, j+dj
	}
	return all
}

// maxApart bounds how far apart equal lines are looked for. Formatting adds and removes few lines;
// a guess.
const maxApart = 50

// nextEqual returns how many lines of both to skip so that the next ones are equal; all of them
// if that is nowhere near.
func nextEqual(old, now []string) (skipOld, skipNow int) {
	for sum := 1; sum <= maxApart; sum++ {
		for i := 0; i <= sum; i++ {
			j := sum - i
			if i < len(old) && j < len(now) && old[i] == now[j] {
				return i, j
			}
		}
	}
	return len(old), len(now)
}
