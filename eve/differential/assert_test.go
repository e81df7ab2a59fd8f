package differential

import (
	"fmt"
	"strings"
	"testing"

	"interleave/eve/build"
	"interleave/eve/emit"
	"interleave/eve/interp"
	"interleave/eve/trial"
)

// assertions are conditions that fail, with what the failure says behind their text.
var assertions = []struct{ condition, want string }{
	{"num(3) == 9", "left is 3, right is 9"},
	{"num(3) != 3", "left is 3, right is 3"},
	{"num(3) < num(2)", "left is 3, right is 2"},
	{"9 <= num(8)", "left is 9, right is 8"},
	{"num(1) > 1", "left is 1, right is 1"},
	{"num(1) >= 2", "left is 1, right is 2"},
	{"small == 300", "left is 200, right is 300"},
	{"num(1) == 1 && num(2) == 3", ""},
	{"!(num(1) == 1)", ""},
	{"half == 0.25", "left is 0.5, right is 0.25"},
	{"bool_of(1) == false", "left is true, right is false"},
	{"letter == 'b'", "left is a, right is b"},
	{"wait == 2s", "left is 1.5s, right is 2s"},
	{`word(1) == "b\"\\\t\n\x01"`, `left is "a", right is "b\"\\\t\n\x01"`},
	{`word(0) == "é"`, `left is "", right is "é"`},
	{`word(399) + "é" == ""`, `left is "` + strings.Repeat("a", 399) + `"..., right is ""`},
	{`word(400) == ""`, `left is "` + strings.Repeat("a", 400) + `", right is ""`},
	{"list(2) == list(3)", "left is [0, 1], right is [0, 1, 2]"},
	{"held == list(1)", "left is [7], right is [0]"},
	{"waits == [2s]", "left is [1s], right is [2s]"},
	{"maybe(0) == 3", "left is none, right is 3"},
	{"maybe(2) == 3", "left is 2, right is 3"},
	{"maybe(2) == none", ""},
	{"at == point(1, 3)", "left is point(x = 1, y = 2), right is point(x = 1, y = 3)"},
	// Both have the text 0.
	{"cost == price(2)", "left is price(cents = 1), right is price(cents = 2)"},
	{"counter == 5", "left is 4, right is 5"},
	{"same(2, 3)", ""},
	{"num(list(0)[0]) == 1", "index 0 is out of range"},
}

// A failed assertion on a comparison says both values, in a compiled program and in the
// interpreter.
func TestAssertSaysBothSides(t *testing.T) {
	trial.NeedCompiler(t)
	var text strings.Builder
	text.WriteString(`import process
type point:
    x, y: int
type price:
    cents: int
    text: (self) string: return f"{self.cents / 100}"
num: (n: int) int: return n
word: (n: int) string: return "a".repeat(n)
bool_of: (n: int) bool: return n > 0
maybe: (n: int) int?:
    if n > 0: return n
    return none
list: (n: int) vector<int>:
    v: vector<int>
    for (i in 0..n): v.push(i)
    return v
same: <type T: equal> (a: T, b: T) bool: return a == b
main: [+stdout] () void:
    which: string = process.args()[0]
    small: uint<16> = 200
    half: float = 0.5
    letter: char = 'a'
    wait: duration = 1500ms
    held: vector<int> = [7]
    waits: vector<duration> = [1s]
    at: point = point(1, 2)
    cost: price = price(1)
    counter: int@ = 4
`)
	for i, a := range assertions {
		fmt.Fprintf(&text, "    if which == \"%d\":\n        assert %s\n", i, a.condition)
	}
	text.WriteString("    print(\"behind\\n\")\n")
	p := trial.Check(t, "sides.eve", text.String())
	quick := trial.Build(t, p, emit.Options{Checked: true, Debug: true}, build.Options{})
	best := trial.Build(t, p, emit.Options{}, build.Options{Optimise: true})
	for i, a := range assertions {
		want := "assertion failed: " + a.condition
		switch {
		case strings.HasPrefix(a.want, "left"):
			want += ": " + a.want + "\n"
		case a.want != "":
			want = a.want
		default:
			want += "\n"
		}
		for _, exe := range []string{quick, best} {
			if got := trial.Run(t, exe, 2, fmt.Sprint(i)).Err; !strings.Contains(got, want) {
				t.Errorf("%s: compiled: got %s want %s", a.condition, got, want)
			}
		}
		end := interp.Run(p, interp.Options{Args: []string{fmt.Sprint(i)}})
		if !strings.Contains(end.Trace+"\n", want) {
			t.Errorf("%s: interpreted: got %s want %s", a.condition, end.Trace, want)
		}
	}
	if end := trial.Run(t, quick, 2, "none"); end.Out != "behind\n" {
		t.Errorf("without a failure: %q, %s", end.Out, end.Err)
	}
}
