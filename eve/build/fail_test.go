package build_test

import (
	"fmt"
	"strings"
	"testing"

	"interleave/eve/build"
	"interleave/eve/emit"
	"interleave/eve/trial"
)

// A program that fails prints the place and the reason on standard error, runs its deferred
// blocks, and ends with status 1. All cases are one program, whose argument selects one.
func TestFailures(t *testing.T) {
	trial.NeedCompiler(t)
	cases := []struct{ name, body, want string }{
		{"index", "v: vector<int> = [1]\n        print(\"%d\\n\", v[num(1)])",
			"index 1 is out of range"},
		{"negative", "v: vector<int> = [1]\n        print(\"%d\\n\", v[num(-1)])",
			"index -1 is out of range"},
		{"divide", "print(\"%d\\n\", 7 / num(0))", "division by zero"},
		{"rest", "print(\"%d\\n\", 7 % num(0))", "division by zero"},
		{"shift", "print(\"%d\\n\", 1 << num(64))", "shift"},
		{"overflow", "print(\"%d\\n\", num(9223372036854775807) * 2)", "integer overflow"},
		{"convert", "print(\"%d\\n\", int<8>(num(300)))", "does not fit"},
		{"key", "m: map<string, int>\n        print(\"%d\\n\", m[\"none\"])", "key"},
		{"cut", "print(\"%s\\n\", \"abc\"[1..num(9)])", "out of range"},
		{"fail", "fail \"on purpose\"", "on purpose"},
		{"assert", "assert num(1) == 2, \"one is not two\"",
			"assertion failed: num(1) == 2: one is not two"},
		{"call", "deep(num(3))", "deep enough"},
		{"first", "defer: fail \"second\"\n        assert num(1) == 2, \"the first\"",
			"assertion failed: num(1) == 2: the first"},
		{"alone",
			"if which != \"\":\n            defer: fail \"alone\"\n        print(\"behind\\n\")",
			"alone"},
		{"child", "print(\"%d\\n\", both(num(0)))", "division by zero"},
		{"queued",
			"c: int@\n        finish:\n            @ [+c]: c = 1 / num(0)\n            @ [+c]: " +
				"c = 2\n        print(\"%d\\n\", c)", "division by zero"},
		{"each",
			"v: vector<int> = [1, 0]\n        finish:\n            @ for (x: int& in v) [&x]: x " +
				"= 1 / x\n        print(\"%v\\n\", v)", "division by zero"},
	}
	var text strings.Builder
	text.WriteString(`num: (n: int) int: return n
deep: (n: int) void:
    if n == 0: fail "deep enough"
    deep(n - 1)
both: (n: int) int:
    a, b: int@
    finish:
        @ [+a, =n]: a = 1 / n
        @ [+b, =n]: b = 1 / (n + 1)
    return a + b
main: [+stdout] () void:
    which: string = process.args()[0]
    defer: print("deferred\n")
`)
	for _, c := range cases {
		text.WriteString("    if which == \"" + c.name + "\":\n        " + c.body + "\n")
	}
	exe := trial.Build(t, trial.Check(t, "fails.eve", text.String()), emit.Options{Checked: true,
		Debug: true}, build.Options{Debug: true})
	for _, c := range cases {
		for _, workers := range []int{1, 2} {
			t.Run(fmt.Sprint(c.name, workers), func(t *testing.T) {
				end := trial.Run(t, exe, workers, c.name)
				if end.Status != 1 || end.Out != "deferred\n" {
					t.Errorf("status %d, printed %q, want status 1 and what it deferred only",
						end.Status, end.Out)
				}
				if !strings.HasPrefix(end.Err, "fails.eve:") || !strings.Contains(end.Err, c.want) {
					t.Errorf("said %q, want %q", end.Err, c.want)
				}
			})
		}
	}
}

// The arguments of a stolen child stay until it is done, even if its finish fails meanwhile.
func TestFailureWaitsForStolenChildren(t *testing.T) {
	trial.NeedCompiler(t)
	const text = `work: (v: vector<int>, n: int) int:
    t: int = 0
    for (i in 0..n):
        for (x in v): t = t +% x
    return t
both: (round: int) int:
    v: vector<int>
    v.resize(1000)
    log: int@
    finish:
        @ [+log, =v]: log = work(v, 4000)
        @ [=round]:
            t: int = 0
            for (i in 0..1000000): t = t +% i
            assert round + t * 0 == 0
    return log
main: [+stdout] () void:
    stdout.write("%d\n", both(0))
    both(1)
`
	exe := trial.Build(t, trial.Check(t, "stolen.eve", text), emit.Options{},
		build.Options{Sanitize: "address", Optimise: true})
	for range 3 {
		end := trial.Run(t, exe, 2)
		if end.Status == 0 || strings.Contains(end.Err, "AddressSanitizer") ||
			!strings.Contains(end.Err, "assertion failed") {
			t.Fatalf("ended with %d and said\n%s", end.Status, end.Err)
		}
	}
}

// A frame larger than the guard page still hits the guard page: it does not skip it, into the
// stack of another worker.
func TestBigFramesMeetTheGuard(t *testing.T) {
	trial.NeedCompiler(t)
	const text = `deep: (n: int) int:
    rows: array<array<int, 1000>, 900>
    return deep(n + 1) + rows[3][n]
main: () void:
    finish:
        @ : assert deep(0) == 0
        @ : assert deep(0) == 0
`
	for _, o := range []build.Options{{}, {Optimise: true}} {
		exe := trial.Build(t, trial.Check(t, "frames.eve", text), emit.Options{}, o)
		for _, workers := range []int{1, 2} {
			end := trial.Run(t, exe, workers)
			if want := "eve: stack overflow: a task calls itself too deeply\n"; end.Status != 1 ||
				end.Err != want {
				t.Errorf("%d workers: ended with %d and said %q, want %q", workers, end.Status,
					end.Err, want)
			}
		}
	}
}
