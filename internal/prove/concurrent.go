package prove

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// An inspector finds out which packages start goroutines. The race detector compares goroutines, so
// it sees nothing in a package that starts none, neither itself, nor by what it imports of this
// module, nor by its tests.
type inspector struct {
	root string
	// of packages without their tests, by folder: whether they or their imports start a goroutine
	known map[string]bool
}

// without removes the jobs that are for packages with goroutines only, of packages without any.
func (i *inspector) without(jobs []*job) (kept []*job, err error) {
	for _, j := range jobs {
		if j.concurrent {
			starts, err := i.concurrent(j.pkg)
			if err != nil {
				return nil, fmt.Errorf("looking for goroutines in %s: %w", j.pkg.dir, err)
			}
			if !starts {
				continue
			}
		}
		kept = append(kept, j)
	}
	return kept, nil
}

// concurrent tells whether a package, what it imports of this module, or one of its tests starts a
// goroutine. What its tests import of this module is tested with that package.
func (i *inspector) concurrent(p testPackage) (bool, error) {
	module := strings.TrimSuffix(p.path, "/"+p.dir)
	if starts, err := i.starts(module, p.dir); starts || err != nil {
		return starts, err
	}
	tests, err := i.parse(p.dir, true)
	return slices.ContainsFunc(tests, func(f *ast.File) bool { return startsOne(f, true) }), err
}

// starts tells whether a package without its tests, or what it imports of the module, starts a
// goroutine.
func (i *inspector) starts(module, dir string) (starts bool, err error) {
	if starts, ok := i.known[dir]; ok {
		return starts, nil
	}
	defer func() { i.known[dir] = starts }()
	files, err := i.parse(dir, false)
	if err != nil {
		return false, err
	}
	for _, file := range files {
		if startsOne(file, false) {
			return true, nil
		}
		for _, name := range imports(file) {
			below, ours := strings.CutPrefix(name, module+"/")
			if !ours {
				continue
			}
			if starts, err := i.starts(module, below); starts || err != nil {
				return starts, err
			}
		}
	}
	return false, nil
}

// parse reads the Go files of a folder: its tests, or the others.
func (i *inspector) parse(dir string, tests bool) (files []*ast.File, err error) {
	all, err := filepath.Glob(filepath.Join(i.root, filepath.FromSlash(dir), "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range all {
		if strings.HasSuffix(name, "_test.go") != tests {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path.Base(name), text,
			parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// imports are the paths that a file imports.
func imports(file *ast.File) (names []string) {
	for _, spec := range file.Imports {
		if name, err := strconv.Unquote(spec.Path.Value); err == nil {
			names = append(names, name)
		}
	}
	return names
}

// starting are packages of others that call their caller's functions in goroutines of their own.
var starting = []string{"net/http", "net/http/httptest", "golang.org/x/sync/errgroup",
	"github.com/rogpeppe/go-internal/testscript"}

// startsOne tells whether a file starts a goroutine: by a go statement, or by a function or method
// of the standard library that does so. Tests call time.AfterFunc for a limit that only panics,
// which does not count.
func startsOne(file *ast.File, test bool) (found bool) {
	if slices.ContainsFunc(imports(file),
		func(name string) bool { return slices.Contains(starting, name) }) {
		return true
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.SelectorExpr:
			switch n.Sel.Name {
			case "Go", "Parallel", "RunParallel", "HandleFunc":
				found = true
			case "AfterFunc":
				found = found || !test
			}
		}
		return !found
	})
	return found
}
