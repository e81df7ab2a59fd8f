package compile

import (
	"slices"
	"testing"

	"interleave/eve/source"
)

// An error hides those of later passes in its own function and nowhere else.
func TestFunctionsFailApart(t *testing.T) {
	text := `total: int@
wrong: () void:
    n: int = "text"
    total += n
racy: () void:
    total += 1
lost: () int:
    v: vector<int>
    w: vector<int> = v
    return v.size() + w.size()
unused: [+total] () void: pass
`
	_, diags := Check(source.NewFile("f.eve", text), nil)
	want := []string{`f.eve:3 E0300 "text"`, "f.eve:6 E0401 total", "f.eve:9 E0408 v"}
	if got := found(diags); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A missing name is one diagnostic, however often and however it is used.
func TestOneMissingNameIsOneDiagnostic(t *testing.T) {
	text := `raise: [+n] (n: int@) void: n += 1
f: (n: int@) void:
    @ :
        m: int = n
        n = m
        raise(n)
        k: int@ = n
        assert same(k, n)
        @ [+n]: n += 1
`
	_, diags := Check(source.NewFile("f.eve", text), nil)
	if got, want := found(diags), []string{"f.eve:4 E0401 n"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The modules that come with the language break no rule.
func TestStdIsClean(t *testing.T) {
	text := `import io.socket.*
import util.timeout
main: () void:
    v: vector<int> = [3, 1, 2]
    par.sort(v)
    par.each(v, [] (x: int&) void: x += 1)
    assert par.reduce(v, 0, [] (a: int, b: int) int: a + b) == 9
`
	_, diags := Check(source.NewFile("f.eve", text), nil)
	if len(diags) > 0 {
		t.Errorf("%q: %s", found(diags), diags[0].Message)
	}
}
