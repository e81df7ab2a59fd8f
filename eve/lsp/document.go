package lsp

import (
	"maps"
	"sync"

	"interleave/eve/diag"
	"interleave/eve/source"
	"interleave/eve/syntax"
)

// A document is one version of an open file. Its text never changes.
type document struct {
	uri     string
	path    string
	version int
	file    *source.File

	parsing sync.Once
	tree    *syntax.File
	faults  []diag.Diagnostic // of the text alone

	checking sync.Once
	checked  chan struct{} // closed when program is set
	program  *program
}

func newDocument(uri string, version int, text string) *document {
	path := pathOf(uri)
	return &document{uri: uri, path: path, version: version, file: newFile(path, text),
		checked: make(chan struct{})}
}

func newFile(path, text string) *source.File { return source.NewFile(path, text) }

// again is the same version, not checked yet.
func (d *document) again() *document { return newDocument(d.uri, d.version, d.file.Text) }

// syntax returns the tree of the document.
func (d *document) syntax() *syntax.File {
	d.parsing.Do(func() {
		var diags diag.List
		d.tree = syntax.Parse(d.file, &diags)
		d.faults = diags.Sorted()
	})
	return d.tree
}

func (d *document) isChecked() bool {
	select {
	case <-d.checked:
		return true
	default:
		return false
	}
}

// dependsOn says whether the program of the document may change when the file at path does.
func (d *document) dependsOn(path string) bool {
	return d.path == path || !d.isChecked() || d.program.reads[path]
}

// A view is the state of all documents at one time. It never changes.
type view struct {
	encoding encoding
	folders  []string
	docs     map[string]*document // by path
}

// with returns the view with another version of d, or with d. The documents that import it are
// to be checked again.
func (v *view) with(d *document) *view {
	next := v.changed(d.path)
	next.docs[d.path] = d
	return next
}

// without returns the view without the document at path.
func (v *view) without(path string) *view {
	next := v.changed(path)
	delete(next.docs, path)
	return next
}

// changed returns a copy of the view, in which the documents that depend on path are not checked.
func (v *view) changed(path string) *view {
	next := *v
	next.docs = maps.Clone(v.docs)
	for p, d := range next.docs {
		if d.dependsOn(path) {
			next.docs[p] = d.again()
		}
	}
	return &next
}

// afresh returns the view with all documents unchecked.
func (v *view) afresh() *view {
	next := *v
	next.docs = maps.Clone(v.docs)
	for p, d := range next.docs {
		next.docs[p] = d.again()
	}
	return &next
}
