package emit

import (
	"strings"
	"testing"
)

// The plain branch of a recursion does not share a C++ function with the finish of the other
// branch, and has one test a turn.
func TestRestApart(t *testing.T) {
	const text = `search: (n: int, row: int) int:
    k: int = 0
    m: int = n
    if row > 3:
        while m > 0:
            k += search(m, row + 1)
            m = m & (m - 1)
        return k
    v: vector<int>
    v.resize(n)
    finish:
        @ for (x: int& in v) [&x, =row]: x = search(1, row + 1)
    for (x in v): k += x
    return k
main: () void: pass
`
	got := units(t, text, nil, Options{})["main"]
	for _, want := range []string{
		"eve::poll_and_check(w_, top_, &at_5);",
		"return [w_, top_, n, row, k]() mutable __attribute__((noinline)) -> eve::i64 {\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if got := units(t, text, nil, Options{Debug: true})["main"]; strings.Contains(got, "noinline") {
		t.Errorf("a program for the debugger has one C++ function for one of Eve:\n%s", got)
	}
}
