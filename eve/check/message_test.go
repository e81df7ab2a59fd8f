package check

import (
	"testing"
)

// digits begins a program with an iterator.
const digits = "type digits:\n    next: [+self] (self) int?: return 1\n" +
	"main: () void:\n    it: digits\n"

// TestMessages holds the messages and the edits that users see.
func TestMessages(t *testing.T) {
	tests := []struct{ text, message, edit string }{
		{"hits: int = 0\n", "module variable 'hits' must be a shared object or a constant", "int@"},
		{"count: () int: return 1\nmain: () void:\n    x: int = cuont()\n",
			"unknown name 'cuont'; did you mean 'count'?", "count"},
		{"main: () void:\n    x: qwerty\n", "unknown name 'qwerty'", ""},
		{"main: () void:\n    x: vector<strnig>\n", "unknown name 'strnig'; did you mean 'string'?",
			"string"},
		{"main: () void:\n    x: process.args2\n",
			"module 'process' has no 'args2'; did you mean 'args'?", "args"},
		{"f: (v: slice<int>) void: pass\n", "a slice is a view: write slice<int>&", "slice<int>&"},
		{"x: int@@\n", "there is no T@@: a handle names its object for good", "int@"},
		{"main: () void:\n    n: int = 5\n    x: int<8> = n\n", "expected int<8>, found int",
			"int<8>(n)"},
		{"main: () void:\n    x: int = 5.0\n", "expected int, found a float", ""},
		{"main: () void:\n    b: bytes\n    s: string = b\n", "expected string, found bytes",
			"b.text()"},
		{"type p:\n    x: int\nmain: () void:\n    a: p = max(p(1), p(2))\n",
			"T = p is not ordered: p has no <", ""},
		{"f: <type T> (x: T) T: return x + x\ntype p:\n    x: int\nmain: () void:\n    a: p = " +
			"f(p(1))\n",
			"'f' with T = p does not work: + does not apply to a p", ""},
		{"f: () int\n", "function 'f' has no body", ""},
		{"type node:\n    next: node\n", "'node' holds itself; write node@? or vector<node>", ""},
		{"import nowhere\n", "there is no module 'nowhere'", ""},
		{"main: () void:\n    x: map<float, int>\n",
			"float cannot be the key of a map: it is not hashed", ""},
		{"main: () void:\n    x: pair\ntype pair<type A, type B>:\n    a: A\n    b: B\n",
			"'pair' needs 2 type arguments", ""},
		// Forms of other languages, and Eve's answers.
		{"main: () void:\n    for (i in range(3)): pass\n", "unknown name 'range'", "0..3"},
		{"main: () void:\n    for (i in range(1, 3)): pass\n", "unknown name 'range'", "1..3"},
		{"main: () void:\n    v: vector<int>\n    n: int = len(v)\n", "unknown name 'len'",
			"v.size()"},
		{"x: int32@\n", "unknown name 'int32'; did you mean 'int<32>'?", "int<32>"},
		{"main: () void:\n    n: int = 3\n    s: string = n.to_string()\n",
			"int has no method 'to_string'", "string(n)"},
		{"main: () void:\n    n: int = 3\n    s: string = n\n", "expected string, found int",
			"string(n)"},
		{"main: () void:\n    n: int = 7\n    f: float = n / 2\n", "expected float, found int",
			"float(n) / 2"},
		{"main: () void:\n    v: vector<int>\n    v.append(2)\n",
			"expected slice<int>&, found an integer", "[2]"},
		{"main: [+stdout] () void: print(42)\n", "a format is a string, and this is an int",
			"\"%d\\n\", 42"},
		{"main: [+stdout] () void: print(\"n is\\n\", 1)\n",
			"the format has no directive for this value", " %d"},
		{"f: (n: int) int:\n    n * 2\n", "'f' can end without returning an int", "return "},
		{"import socket\n", "there is no module 'socket'; did you mean 'io.socket'?", "io.socket"},
		{"main: () void:\n    tcp_socket.listen(80)\n",
			"unknown name 'tcp_socket'; the module io.socket has it", "import io.socket.*\n\n"},
		{"main: () void:\n    fetch.get(80)\n",
			"unknown name 'fetch'; it is the module io.fetch", "import io.fetch\n\n"},
		{"import io.socket\nmain: () void:\n    tcp_socket.listen(80)\n",
			"unknown name 'tcp_socket'; did you mean 'socket.tcp_socket'?", "socket.tcp_socket"},
		{"union shape:\n    circle(r: int)\nmain: () void:\n    s: shape = circle(1)\n",
			"unknown name 'circle'; did you mean 'shape.circle'?", "shape.circle"},
		{"type a:\n    n: int\n    inc: () void:\n        self.n += 1\nmain: () void:\n    x: " +
			"a\n    x.inc()\n",
			"there is no self here: only methods that have it as their first parameter do", "self"},
		{"main: () void:\n    c: char = \"a\"\n", "expected char, found string", "'a'"},
		{"main: () void:\n    n: int = \"80\"\n", "expected int, found string", "80"},
		{"main: () void:\n    assert(1 == 2, \"no\")\n",
			"assert takes a condition and a message without brackets", " 1 == 2, \"no\""},
		{"f: (x: T) int: return 1\n", "unknown name 'T'", ""},
		{"main: [+stdout] () void:\n    n: int? = 3\n    print(\"%d\", n)\n",
			"%d prints integers, and this is an int?", ""},
		{"f: <T> (x: T) T: return x\nmain: () void:\n    f(1)\n",
			"a type parameter of a function is written 'type T'", "type "},
		{"main: [+stdout] () void:\n    n: int = 3\n    print(\"n is {n}\\n\")\n",
			"this prints {n} as it is", "f"},
		{"main: () void:\n    sleep(1s)\n", "'sleep' takes time: wait for it with <-", "_ <- "},
		{"main: () void:\n    s: string = \"a\"\n    s.upper()\n", "this value is not used", ""},
		{"main: () void:\n    a: array<int, 1> = [1, 2]\n",
			"array<int, 1> has 1 element, and here are 2", ""},
		{"main: () void:\n    a: array<int, 3> = [1]\n",
			"array<int, 3> has 3 elements, and here is one", ""},
		{"type a:\n    x: int&\n",
			"int& cannot be stored in a field: a reference ends with the call or block that " +
				"made it",
			""},
		{"f: (v: slice<int>&) void:\n    u: union_ = union_.a([1])\n    match u:\n        " +
			"a(items):\n            for (i: int& in items): pass\nunion union_:\n    a(items: " +
			"vector<int>)\n",
			"cannot change 'items': it is part of the matched value", "int"},
		{"type dice:\n    next: [+self] (self, below: int) int?: return below\nmain: () void:\n" +
			"    d: dice\n    for (x in d): pass\n",
			"a loop cannot run over a dice: its method 'next' takes arguments", ""},
		{"type dice:\n    next: [+self] (self) int: return 4\nmain: () void:\n    d: dice\n" +
			"    for (x in d): pass\n",
			"a loop cannot run over a dice: its method 'next' returns an int", ""},
		{"main: () void:\n    for (v in fs.walk(\".\")): pass\n",
			"a loop cannot wait for the method 'next' of a walker, which takes time", ""},
		{digits + "    for (x: int& in it): pass\n",
			"the elements of a digits cannot be changed in place: the method 'next' makes them",
			"int"},
		{digits + "    @ for (x in it) [=x]: pass\n",
			"@ for cannot run over a digits: the method 'next' gives one element after the other",
			""},
		{digits + "    for (x in it): x = 1\n", "cannot change 'x': it is the loop's own", ""},
		{digits + "    all: vector<digits>\n    for (x in all[0]): pass\n",
			"the loop would look up all[0] again in every turn", ""},
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
			t.Errorf("%q:\ngot  %q, edit %q\nwant %q, edit %q", test.text, all[0].Message, edit,
				test.message, test.edit)
		}
	}
}
