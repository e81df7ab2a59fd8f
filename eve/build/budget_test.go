package build_test

import (
	"strings"
	"testing"

	"interleave/eve/build"
	"interleave/eve/emit"
	"interleave/eve/trial"
)

// Recursion that does not end in time is stopped, whether its functions can fail or not, and so are
// loops of which only the counter's variable says that they do not end.
func TestRecursionHasABudget(t *testing.T) {
	trial.NeedCompiler(t)
	t.Setenv("EVE_BUDGET", "0.2")
	const spent = "the time budget of the task is used up\n"
	for _, c := range []struct {
		name, text string
		how        emit.Options
		o          build.Options
		want       string
	}{
		{"checked", plainFib, emit.Options{Checked: true, Debug: true}, build.Options{},
			"t.eve:1: " + spent},
		{"cannot fail", plainFib, emit.Options{}, build.Options{Optimise: true},
			"eve: t.eve:1: " + spent},
		{"tasks", taskFib, emit.Options{}, build.Options{Optimise: true}, "eve: t.eve:1: " + spent},
		{"two functions", `even: (n: int) int: return odd(n) +% odd(n)
odd: (n: int) int:
    if n == 0: return 1
    return even(n - 1)
main: () void: assert even(90) == 0
`, emit.Options{}, build.Options{Optimise: true}, "eve: t.eve:"}, // it is in one of them
		{"a bound that a closure moves", `main: () void:
    n: int = 1
    more: <() void> = [] () void: n += 1
    for (i: int = 0; i < n; i += 1): more()
`, emit.Options{}, build.Options{Optimise: true}, "t.eve:4: " + spent},
		{"a counter that begins again", `main: () void:
    n: int = 300
    for (i: uint<8> = 0; i < n; i += 100): pass
`, emit.Options{}, build.Options{Optimise: true}, "t.eve:3: " + spent},
	} {
		exe := trial.Build(t, trial.Check(t, "t.eve", c.text), c.how, c.o)
		for _, workers := range []int{1, 2} {
			end := trial.Run(t, exe, workers)
			if end.Status != 1 || !strings.HasPrefix(end.Err, c.want) {
				t.Errorf("%s, %d workers: status %d, said\n%swant\n%s", c.name, workers, end.Status,
					end.Err, c.want)
			}
		}
	}
}

const plainFib = `fib: (n: int) int:
    if n < 2: return n
    return fib(n - 1) +% fib(n - 2)
main: () void:
    assert fib(200) == 0
`

const taskFib = `fib: (n: int) int:
    if n < 2: return n
    a, b: int@
    finish:
        @ [+a, =n]: a = fib(n - 1)
        @ [+b, =n]: b = fib(n - 2)
    return a +% b
main: () void: assert fib(200) == 0
`
