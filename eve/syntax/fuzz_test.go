package syntax

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"interleave/eve/diag"
	"interleave/eve/source"
)

// optional are the fields of the tree that may be nil; all others are always set.
var optional = map[string]bool{
	"Import.As": true, "Func.Perms": true, "TestDecl.Perms": true, "Func.Result": true,
	"Func.Body": true, "VarDecl.Init": true,
	"ConstDecl.Type": true, "TypeParam.Constraint": true, "Param.Type": true, "Param.Default": true,
	"FuncType.Result": true, "TaskStmt.Perms": true, "TaskForStmt.Type": true,
	"TaskForStmt.Perms": true,
	"OnStmt.Perms":      true, "OnStmt.Body": true, "OnStmt.Handler": true, "AwaitStmt.Var": true,
	"AwaitStmt.Within": true, "AwaitStmt.Perms": true, "IfStmt.Else": true, "ForStmt.Init": true,
	"ForStmt.Cond": true, "ForStmt.Step": true, "ForInStmt.Type": true, "ReturnStmt.X": true,
	"AssertStmt.Message": true, "Lambda.Perms": true, "Lambda.Result": true, "Lambda.X": true,
	"Lambda.Body": true, "Arg.Name": true, "FPart.X": true,
}

// verify checks the guarantees of every parse: the tokens give the text back, spans are inside the
// file, the tree is complete.
func verify(t *testing.T, f *File, diags *diag.List) {
	t.Helper()
	var b strings.Builder
	for _, tok := range f.Tokens {
		b.WriteString(tok.Lead + tok.Text())
	}
	if b.String() != f.Source.Text {
		t.Errorf("tokens give %q, want %q", b.String(), f.Source.Text)
	}
	inside := func(s source.Span) bool {
		return s.File == f.Source && 0 <= s.Start && s.Start <= s.End && s.End <= len(f.Source.Text)
	}
	for _, d := range diags.Sorted() {
		if !inside(d.Span) || d.Message == "" || d.Fix != nil && !inside(d.Fix.Span) {
			t.Errorf("diagnostic %+v", d)
		}
	}
	walk(t, reflect.ValueOf(f), inside)
}

func walk(t *testing.T, v reflect.Value, inside func(source.Span) bool) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			walk(t, v.Elem(), inside)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(t, v.Index(i), inside)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Name == "Tokens" || f.Name == "Source" {
				continue
			}
			if at, ok := v.Field(i).Interface().(At); ok && !inside(at.Span) {
				t.Errorf("%s has the span %d-%d", v.Type().Name(), at.Span.Start, at.Span.End)
			}
			k := f.Type.Kind()
			if name := v.Type().Name() + "." + f.Name; (k == reflect.Interface ||
				k == reflect.Pointer) && v.Field(i).IsNil() && !optional[name] {
				t.Errorf("%s is nil", name)
			}
			if f.Type != placeType && f.Type != spanType {
				walk(t, v.Field(i), inside)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, glob := range []string{"../std/*.eve", "../std/*/*.eve", "testdata/*.eve"} {
		files, _ := filepath.Glob(glob)
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text))
		}
	}
	for _, c := range mistakes {
		f.Add(c.source())
	}
	f.Add(strings.Repeat("(", 300))
	f.Add("a: () void:\r\n\tf(\"\\u{}\", '\\x', f\"{a:{b}}\" <- >>= \x80 «»\n  x <- y() [a\n @ " +
		"for (")
	f.Fuzz(func(t *testing.T, text string) {
		var diags diag.List
		file := Parse(source.NewFile("fuzz.eve", text), &diags)
		verify(t, file, &diags)
	})
}
