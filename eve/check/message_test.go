package check

import (
	"testing"
)

// TestMessages holds the sentences and the edits that users see.
func TestMessages(t *testing.T) {
	tests := []struct{ text, message, edit string }{
		{"hits: int = 0\n", "module variable 'hits' must be a shared object or a constant", "int@"},
		{"count: () int: return 1\nmain: () void:\n    x: int = cuont()\n", "unknown name 'cuont'; did you mean 'count'?", "count"},
		{"main: () void:\n    x: qwerty\n", "unknown name 'qwerty'", ""},
		{"main: () void:\n    x: vector<strnig>\n", "unknown name 'strnig'; did you mean 'string'?", "string"},
		{"main: () void:\n    x: process.args2\n", "module 'process' has no 'args2'; did you mean 'args'?", "args"},
		{"f: (v: slice<int>) void: pass\n", "a slice is a view: write slice<int>&", "slice<int>&"},
		{"x: int@@\n", "there is no T@@: a handle names its object for good", "int@"},
		{"main: () void:\n    n: int = 5\n    x: int<8> = n\n", "expected int<8>, found int", "int<8>(n)"},
		{"main: () void:\n    x: int = 5.0\n", "expected int, found a float", ""},
		{"main: () void:\n    b: bytes\n    s: string = b\n", "expected string, found bytes", "b.text()"},
		{"type p:\n    x: int\nmain: () void:\n    a: p = max(p(1), p(2))\n", "T = p is not ordered: p has no <", ""},
		{"f: <type T> (x: T) T: return x + x\ntype p:\n    x: int\nmain: () void:\n    a: p = f(p(1))\n",
			"'f' with T = p does not work: + does not apply to a p", ""},
		{"f: () int\n", "function 'f' has no body", ""},
		{"type node:\n    next: node\n", "'node' holds itself; write node@? or vector<node>", ""},
		{"import nowhere\n", "there is no module 'nowhere'", ""},
		{"main: () void:\n    x: map<float, int>\n", "float cannot be the key of a map: it is not hashed", ""},
		{"main: () void:\n    x: pair\ntype pair<type A, type B>:\n    a: A\n    b: B\n", "'pair' needs 2 type arguments", ""},
	}
	for _, test := range tests {
		all := checkText(test.text).Sorted()
		if len(all) != 1 {
			t.Errorf("%q: %d diagnostics: %v", test.text, len(all), all)
			continue
		}
		edit := ""
		if all[0].Fix != nil {
			edit = all[0].Fix.New
		}
		if all[0].Message != test.message || edit != test.edit {
			t.Errorf("%q:\ngot  %q, edit %q\nwant %q, edit %q", test.text, all[0].Message, edit, test.message, test.edit)
		}
	}
}
