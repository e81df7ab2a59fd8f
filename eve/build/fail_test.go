package build_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"interleave/eve/build"
	"interleave/eve/emit"
)

// A program that fails says where and why on standard error, runs what it deferred, and ends with status 1.
// All cases are one program, which is told which one to run.
func TestFailures(t *testing.T) {
	needCompiler(t)
	cases := []struct{ name, body, want string }{
		{"index", "v: vector<int> = [1]\n        print(\"%d\\n\", v[num(1)])", "index 1 is out of range"},
		{"negative", "v: vector<int> = [1]\n        print(\"%d\\n\", v[num(-1)])", "index -1 is out of range"},
		{"divide", "print(\"%d\\n\", 7 / num(0))", "division by zero"},
		{"rest", "print(\"%d\\n\", 7 % num(0))", "division by zero"},
		{"shift", "print(\"%d\\n\", 1 << num(64))", "shift"},
		{"overflow", "print(\"%d\\n\", num(9223372036854775807) * 2)", "integer overflow"},
		{"convert", "print(\"%d\\n\", int<8>(num(300)))", "does not fit"},
		{"key", "m: map<string, int>\n        print(\"%d\\n\", m[\"none\"])", "key"},
		{"cut", "print(\"%s\\n\", \"abc\"[1..num(9)])", "out of range"},
		{"fail", "fail \"on purpose\"", "on purpose"},
		{"assert", "assert num(1) == 2, \"one is not two\"", "assertion failed: num(1) == 2: one is not two"},
		{"call", "deep(num(3))", "deep enough"},
		{"first", "defer: fail \"second\"\n        assert num(1) == 2, \"the first\"", "assertion failed: num(1) == 2: the first"},
		{"alone", "if which != \"\":\n            defer: fail \"alone\"\n        print(\"behind\\n\")", "alone"},
		{"child", "print(\"%d\\n\", both(num(0)))", "division by zero"},
		{"queued", "c: int@\n        finish:\n            @ [+c]: c = 1 / num(0)\n            @ [+c]: c = 2\n        print(\"%d\\n\", c)", "division by zero"},
		{"each", "v: vector<int> = [1, 0]\n        finish:\n            @ for (x: int& in v) [&x]: x = 1 / x\n        print(\"%v\\n\", v)", "division by zero"},
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
	exe := made(t, program(t, "fails.eve", text.String()), emit.Options{Checked: true, Debug: true}, build.Options{Debug: true})
	for _, c := range cases {
		for _, workers := range []string{"1", "2"} {
			t.Run(c.name+workers, func(t *testing.T) {
				cmd := exec.Command(exe, c.name)
				cmd.Env = append(os.Environ(), "EVE_WORKERS="+workers)
				var said strings.Builder
				cmd.Stderr = &said
				out, err := cmd.Output()
				var exit *exec.ExitError
				if !errors.As(err, &exit) || exit.ExitCode() != 1 {
					t.Errorf("ended with %v, want status 1", err)
				}
				if string(out) != "deferred\n" {
					t.Errorf("printed %q, want what it deferred only", out)
				}
				if !strings.HasPrefix(said.String(), "fails.eve:") || !strings.Contains(said.String(), c.want) {
					t.Errorf("said %q, want %q", said.String(), c.want)
				}
			})
		}
	}
}

// What a stolen child was given stays until it is done, also when its finish fails meanwhile.
func TestFailureWaitsForStolenChildren(t *testing.T) {
	needCompiler(t)
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
	exe := made(t, program(t, "stolen.eve", text), emit.Options{}, build.Options{Sanitize: "address", Optimise: true})
	for range 3 {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), "EVE_WORKERS=2")
		said, err := cmd.CombinedOutput()
		if err == nil || strings.Contains(string(said), "AddressSanitizer") || !strings.Contains(string(said), "assertion failed") {
			t.Fatalf("ended with %v and said\n%s", err, said)
		}
	}
}
