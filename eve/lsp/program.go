package lsp

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"

	"interleave/eve/check"
	"interleave/eve/compile"
	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/std"
	"interleave/eve/syntax"
)

// maxText bounds the files that are checked, in bytes. Larger ones are data, not programs; a
// guess.
const maxText = 4 << 20

// A program is the checked program of one document, with all that it imports. Its ir and index are
// nil if the compiler failed.
type program struct {
	main  *source.File
	ir    *ir.Program
	index *check.Index
	diags []diag.Diagnostic
	// the paths of the files that were looked for, whether they are there or not
	reads map[string]bool

	sorting sync.Once
	sorted  []place // the names of the main module
}

// A request is one request that is being answered.
type request struct {
	ctx       context.Context
	view      *view
	workspace *workspace
	options   *Options
	flat      bool
}

// document returns an open document.
func (r *request) document(id documentID) (*document, error) {
	d := r.view.docs[pathOf(id.URI)]
	if d == nil {
		return nil, failed("%s is not open", id.URI)
	}
	return d, nil
}

// program returns the checked program of d. It waits for the check unless the request is
// cancelled.
func (r *request) program(d *document) (*program, error) {
	v, log := r.view, r.options
	d.checking.Do(func() {
		go func() {
			d.program = checkFile(v, d.file, log)
			close(d.checked)
		}()
	})
	select {
	case <-d.checked:
		return d.program, nil
	case <-r.ctx.Done():
		return nil, r.ctx.Err()
	}
}

// A compiler checks a program, all of it or a part.
type compiler func(*source.File, check.Loader) (*ir.Program, *check.Index, []diag.Diagnostic)

// checkFile checks the program whose main module is file. A module of std that an editor shows is
// no program: checked alone, each of its functions that the runtime implements would be an error.
func checkFile(v *view, file *source.File, o *Options) *program {
	if o.Cache != "" && within(file.Name, filepath.Join(o.Cache, "std")) {
		return &program{main: file, reads: map[string]bool{}}
	}
	return v.compiled(file, o, compile.Index)
}

// checkAt finds the names and types around a place, which is in the main module of the program.
func checkAt(v *view, at source.Span, o *Options) *program {
	return v.compiled(at.File, o, func(f *source.File, load check.Loader) (*ir.Program,
		*check.Index, []diag.Diagnostic) {
		p, index := check.IndexedAt(f, load, at.Start)
		return p, index, nil
	})
}

// compiled runs a compiler. If it panics, the program has only that as an error.
func (v *view) compiled(file *source.File, o *Options, run compiler) (p *program) {
	p = &program{main: file, reads: map[string]bool{}}
	if len(file.Text) > maxText {
		p.fault("a program of more than %d bytes is not checked", maxText)
		return p
	}
	defer func() {
		if e := recover(); e != nil {
			fmt.Fprintf(o.Log, "eve lsp: checking %s: %v\n%s", file.Name, e, debug.Stack())
			p.ir, p.index, p.diags = nil, nil, nil
			p.fault("the compiler failed: %v", e)
		}
	}()
	p.ir, p.index, p.diags = run(file, v.loader(file, p.reads))
	return p
}

// fault makes a message the only diagnostic of the program.
func (p *program) fault(format string, args ...any) {
	at := source.Span{File: p.main}
	p.diags = []diag.Diagnostic{{Code: "E0000", Span: at, Message: fmt.Sprintf(format, args...)}}
}

// loader finds the modules of the program whose main module is file, first among the open
// documents. It notes in reads what it looked for.
func (v *view) loader(file *source.File, reads map[string]bool) check.Loader {
	dir := v.base(file, reads)
	return func(module string) (*source.File, bool) {
		return v.read(modulePath(dir, module), reads)
	}
}

// read returns the text of a file: of the open document or of the disk.
func (v *view) read(path string, reads map[string]bool) (*source.File, bool) {
	reads[path] = true
	if d := v.docs[path]; d != nil {
		return source.NewFile(path, d.file.Text), true
	}
	if !onDisk(path) {
		return nil, false
	}
	if info, err := os.Stat(path); err != nil || info.Size() > maxText {
		return nil, false
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, false
	}
	return source.NewFile(path, string(text)), true
}

// modulePath is the file of a module below the folder of a program: a.b is a/b.eve.
func modulePath(dir, module string) string {
	return filepath.Join(dir, filepath.FromSlash(strings.ReplaceAll(module, ".", "/"))+".eve")
}

// base is the folder below which the imports of a file are found. For a file with main that is
// its own folder. The file may also be a module of a program above it, whose imports start there:
// base is the nearest folder, up to that of the workspace, that has all of them but those of std.
func (v *view) base(file *source.File, reads map[string]bool) string {
	path := file.Name
	own := filepath.Dir(path)
	modules := imported(file)
	if len(modules) == 0 || !onDisk(path) {
		return own
	}
	for dir := own; ; dir = filepath.Dir(dir) {
		if v.hasAll(dir, modules, reads) {
			return dir
		}
		if !v.inFolder(filepath.Dir(dir)) || filepath.Dir(dir) == dir {
			return own
		}
	}
}

func (v *view) inFolder(path string) bool {
	for _, f := range v.folders {
		if within(path, f) {
			return true
		}
	}
	return false
}

func (v *view) hasAll(dir string, modules []string, reads map[string]bool) bool {
	for _, m := range modules {
		path := modulePath(dir, m)
		reads[path] = true
		if _, _, ok := std.Text(m); ok || v.docs[path] != nil {
			continue
		}
		if _, err := os.Stat(path); err != nil {
			return false
		}
	}
	return true
}

// imported lists the modules that a file imports. It reads the file up to its last import, which
// mostly is a small part.
func imported(file *source.File) []string {
	text := "\n" + file.Text
	last := strings.LastIndex(text, "\nimport ")
	if last < 0 {
		return nil
	}
	end := strings.IndexByte(text[last+1:], '\n')
	if end >= 0 {
		text = text[:last+1+end]
	}
	var diags diag.List
	var all []string
	for _, i := range syntax.Parse(newFile(file.Name, text), &diags).Imports {
		var names []string
		for _, n := range i.Path {
			names = append(names, n.Text)
		}
		if len(names) > 0 {
			all = append(all, strings.Join(names, "."))
		}
	}
	return all
}
