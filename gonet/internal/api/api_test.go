// Package api has the listing of GoNet's API, and a test that holds it against the packages.
package api

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "add new names to the listing")

const (
	// root is the module's folder.
	root = "../.."
	// listed has what programs may use of the module, a line for each name, as on linux/amd64.
	listed = "testdata/api.txt"
	// removed has the lines that were once listed, below comments that say why they went.
	removed = "testdata/removed.txt"
)

// TestAPI compares the exported names of the module's packages, with their types, with the listing.
func TestAPI(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the listing is of linux/amd64")
	}
	now, was, gone := exported(t), readListing(t, listed), readListing(t, removed)
	if fresh := added(now, was); *update && len(fresh) > 0 {
		was = slices.Sorted(slices.Values(append(was, fresh...)))
		text := "# What programs may use of GoNet, on linux/amd64.\n" +
			strings.Join(was, "\n") + "\n"
		if err := os.WriteFile(listed, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	reasons, err := os.ReadFile(removed)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range slices.Concat(compare(now, was, gone), unexplained(string(reasons))) {
		t.Error(fault)
	}
}

// compare returns what is wrong with a listing. New names are listed by -update. A name that is
// removed, or has another type, breaks programs: its line is moved by hand to the removed ones.
func compare(now, was, gone []string) (faults []string) {
	for _, line := range was {
		if !slices.Contains(now, line) {
			faults = append(faults, line+": removed or changed, so programs that use it do not "+
				"compile. If that is meant, move the line to "+removed+
				", below a comment that says why")
		}
	}
	for _, line := range gone {
		if slices.Contains(now, line) {
			faults = append(faults, line+": it is there, so it does not belong into "+removed)
		}
	}
	for _, line := range added(now, was) {
		faults = append(faults, line+": new: go test ./gonet/internal/api -update lists it")
	}
	return faults
}

// added are the lines of now that were not there.
func added(now, was []string) (fresh []string) {
	for _, line := range now {
		if !slices.Contains(was, line) {
			fresh = append(fresh, line)
		}
	}
	return fresh
}

// unexplained finds paragraphs of removed lines that do not begin with a comment.
func unexplained(text string) (faults []string) {
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		first, _, _ := strings.Cut(strings.TrimSpace(paragraph), "\n")
		if first != "" && !strings.HasPrefix(first, "#") {
			faults = append(faults, removed+" does not say why this was removed: "+first)
		}
	}
	return faults
}

// readListing returns the lines of a listing without its comments.
func readListing(t *testing.T, name string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestCompare(t *testing.T) {
	for _, test := range []struct {
		now, was, gone string
		want           string // a part of the only fault; empty: there is none
	}{
		{"a b", "a b", "", ""},
		{"a b", "a b", "c", ""},
		{"a b c", "a b", "", "c: new"},
		{"a", "a b", "", "b: removed or changed"},
		{"a", "a b", "b", "b: removed or changed"}, // it must be moved, not copied
		{"a b", "a b", "b", "b: it is there"},
	} {
		got := compare(strings.Fields(test.now), strings.Fields(test.was),
			strings.Fields(test.gone))
		if fine := test.want == ""; fine != (len(got) == 0) ||
			!fine && (len(got) != 1 || !strings.Contains(got[0], test.want)) {
			t.Errorf("%+v: got %q", test, got)
		}
	}
	if got := unexplained("# The file.\n\n# Why.\na\nb\n\nc\n"); len(got) != 1 ||
		!strings.HasSuffix(got[0], ": c") {
		t.Errorf("got %q, want that nothing explains c", got)
	}
}

// exported lists the names that programs may use of the module, from the export data of its
// packages. Internal packages, commands, and packetdrill, which is for tests, are not listed.
func exported(t *testing.T) (lines []string) {
	t.Helper()
	const form = "{{if .Export}}{{.ImportPath}} {{.Export}} {{with .Module}}{{.Dir}}{{end}}{{end}}"
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f", form, "./...")
	cmd.Dir = root
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, said.String())
	}
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	var ours []string
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		files[words[0]] = words[1]
		if len(words) == 3 && words[2] == here {
			ours = append(ours, words[0])
		}
	}
	open := func(name string) (io.ReadCloser, error) { return os.Open(files[name]) }
	from := importer.ForCompiler(token.NewFileSet(), "gc", open)
	for _, name := range ours {
		pkg, err := from.Import(name)
		if err != nil {
			t.Fatal(err)
		}
		if pkg.Name() != "main" && path.Base(name) != "packetdrill" &&
			!strings.Contains(name, "/internal/") {
			lines = append(lines, describe(pkg)...)
		}
	}
	if len(lines) == 0 {
		t.Fatal("the module exports nothing")
	}
	slices.Sort(lines)
	return lines
}

// describe lists the exported names of a package, in the form of Go's own listings (go/api).
func describe(pkg *types.Package) (lines []string) {
	add := func(format string, args ...any) {
		lines = append(lines, "pkg "+pkg.Name()+", "+fmt.Sprintf(format, args...))
	}
	for _, name := range pkg.Scope().Names() {
		o := pkg.Scope().Lookup(name)
		if !o.Exported() {
			continue
		}
		switch o := o.(type) {
		case *types.Const:
			add("const %s %s = %s", name, typeText(o.Type()), o.Val().ExactString())
		case *types.Var:
			add("var %s %s", name, typeText(o.Type()))
		case *types.Func:
			add("func %s%s", name, signature(o.Signature()))
		case *types.TypeName:
			describeType(o, add)
		}
	}
	return lines
}

// describeType lists a type: what it is, its exported fields or methods.
func describeType(o *types.TypeName, add func(format string, args ...any)) {
	named, ok := o.Type().(*types.Named)
	if o.IsAlias() || !ok {
		add("type %s = %s", o.Name(), typeText(types.Unalias(o.Type())))
		return
	}
	switch under := named.Underlying().(type) {
	case *types.Struct:
		add("type %s struct", o.Name())
		for f := range under.Fields() {
			switch {
			case f.Exported() && f.Embedded():
				add("type %s struct, embeds %s", o.Name(), typeText(f.Type()))
			case f.Exported():
				add("type %s struct, %s %s", o.Name(), f.Name(), typeText(f.Type()))
			}
		}
	case *types.Interface: // a method more is a change: others implement it
		var methods []string
		for m := range under.Methods() {
			methods = append(methods, m.Name()+signature(m.Signature()))
		}
		add("type %s interface { %s }", o.Name(), strings.Join(methods, "; "))
	default:
		add("type %s %s", o.Name(), typeText(under))
	}
	for m := range named.Methods() {
		if !m.Exported() {
			continue
		}
		receiver := o.Name()
		if _, pointer := m.Signature().Recv().Type().(*types.Pointer); pointer {
			receiver = "*" + receiver
		}
		add("method (%s) %s%s", receiver, m.Name(), signature(m.Signature()))
	}
}

// signature is the text of a function's type, without the names of parameters.
func signature(s *types.Signature) string {
	return strings.TrimPrefix(typeText(s), "func")
}

// typeText is the text of a type, in which packages have their names only.
func typeText(t types.Type) string {
	return types.TypeString(unnamed(t), func(p *types.Package) string { return p.Name() })
}

// unnamed is a type whose functions have parameters without names: a caller does not see them.
func unnamed(t types.Type) types.Type {
	switch t := t.(type) {
	case *types.Pointer:
		return types.NewPointer(unnamed(t.Elem()))
	case *types.Slice:
		return types.NewSlice(unnamed(t.Elem()))
	case *types.Map:
		return types.NewMap(unnamed(t.Key()), unnamed(t.Elem()))
	case *types.Chan:
		return types.NewChan(t.Dir(), unnamed(t.Elem()))
	case *types.Signature:
		if t.TypeParams().Len() > 0 {
			return t
		}
		return types.NewSignatureType(nil, nil, nil, anonymous(t.Params()), anonymous(t.Results()),
			t.Variadic())
	}
	return t
}

func anonymous(all *types.Tuple) *types.Tuple {
	var vars []*types.Var
	for v := range all.Variables() {
		vars = append(vars, types.NewParam(token.NoPos, v.Pkg(), "", unnamed(v.Type())))
	}
	return types.NewTuple(vars...)
}

// TestDescribe lists a small package.
func TestDescribe(t *testing.T) {
	const source = `package small

type (
	Stack struct {
		Name  string
		Queue chan<- func(to *Stack) (n int, err error)
		inner
	}
	Link interface {
		Read(b []byte, more ...[]int) (int, error)
		Close() error
	}
	Code  uint8
	Other = map[string]Code
	inner struct{ Hidden int }
)

const Most Code = 1 + 2

var Default *Stack

func New(of, to Link, now func(name string)) (*Stack, error) { return nil, nil }
func (s *Stack) Close() error                               { return nil }
func (c Code) Error() string                                { return "" }
func (s *Stack) hidden()                                    {}
`
	want := []string{
		"pkg small, const Most small.Code = 3",
		"pkg small, func New(small.Link, small.Link, func(string)) (*small.Stack, error)",
		"pkg small, method (*Stack) Close() error",
		"pkg small, method (Code) Error() string",
		"pkg small, type Code uint8",
		"pkg small, type Link interface { Close() error; Read([]byte, ...[]int) (int, error) }",
		"pkg small, type Other = map[string]small.Code",
		"pkg small, type Stack struct",
		"pkg small, type Stack struct, Name string",
		"pkg small, type Stack struct, Queue chan<- func(*small.Stack) (int, error)",
		"pkg small, var Default *small.Stack",
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "small.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := new(types.Config).Check("example.org/small", set, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(slices.Values(describe(pkg))); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
