package differential

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"interleave/eve/build"
	"interleave/eve/emit"
	"interleave/eve/trial"
)

var loops = flag.Int("loops", 1, "how many modules of random loops are compared")

// perLoops is the number of loops in a module.
const perLoops = 60

// Loops that count, in each of the four ways to write them, do the same in the interpreter and
// compiled: with indexes that are tested before the loop, in it, or not at all, and some of which
// are out of range. A failure ends one job only.
func TestLoops(t *testing.T) {
	trial.NeedCompiler(t)
	for n := range uint64(*loops) {
		t.Run(fmt.Sprint("seed=", *seed+n), func(t *testing.T) {
			t.Parallel()
			text := loopProgram(rand.New(rand.NewPCG(*seed+n, 1)))
			compareTo(t, "loops.eve", text, 1, emit.Options{Checked: true},
				build.Options{Optimise: true})
		})
	}
}

func loopProgram(r *rand.Rand) string {
	var b, calls strings.Builder
	b.WriteString(trial.AnyOrder + `
type upto:
    at: int
    end: int
    next: [+self] (self) int?:
        if self.at >= self.end: return none
        self.at += 1
        return self.at - 1
type poke:
type done:
    k: int
    v: vector<int>
type job: emitter<poke, done, error>
    begin: [+self] (self) void: emit poke()
    report: [+self] (self, k: int, v: vector<int>) void: emit done(k, v.copy())

`)
	for n := range perLoops {
		writeLoop(&b, r, n)
		fmt.Fprintf(&calls, "        if n == %d: k = loop%[1]d(v, %d)\n", n, r.IntN(8)-1)
	}
	b.WriteString(`attempt: (n: int) void:
    j: job@
    on j poke [+j, =n]:
        v: vector<int> = [3, 1, 4, 1, 5]
        k: int = 0
` + calls.String() + `        j.report(k, v)
    on j done [=n, +stdout]: print("%d: %d %v\n", n, done.k, done.v)
    on j error [=n, +stdout]:
        text: string = error.text()
        at: int = text.find(": ") else 0
        print("%d%s\n", n, text[at..text.size()])
    @ [+j]: j.begin()
main: () void:
`)
	fmt.Fprintf(&b, "    for (n in 0..%d): attempt(n)\n", perLoops)
	return b.String()
}

// writeLoop writes a function with one loop: it returns what the loop has computed, and where its
// counter ends if that is there behind it.
func writeLoop(b *strings.Builder, r *rand.Rand, n int) {
	low := []string{"0", "1", "2", "-1", "m", "m - 1"}[r.IntN(6)]
	bound := []string{"m", "v.size()", "5", "6", "m + 1", "v.size() - 1"}[r.IntN(6)]
	lines := []string{"k += v[i]", "v[i] = k", "k += i", "k += v[i + 1]", "v[m] += 1",
		"if v[i] == 4: break", "if k > 9: return -k", "k = k * 2 + v[0]", "v[i] += v[v.size() - 1]",
		"if k % 3 == 1: k += 5"}
	fmt.Fprintf(b, "loop%d: (v: vector<int>&, m: int) int:\n    k: int = 0\n", n)
	behind := ""
	form := r.IntN(4)
	switch form {
	case 0:
		fmt.Fprintf(b, "    for (i in %s..%s):\n", low, bound)
	case 1:
		fmt.Fprintf(b, "    for (i: int = %s; i < %s; i += %d):\n", low, bound, 1+r.IntN(5)/4)
	case 3:
		fmt.Fprintf(b, "    for (i in upto(%s, %s)):\n", low, bound)
	default:
		fmt.Fprintf(b, "    i: int = %s\n    while i < %s:\n", low, bound)
		behind = " * 100 + i"
	}
	if form != 2 && r.IntN(3) == 0 {
		b.WriteString("        if i == 1: continue\n")
	}
	for range 1 + r.IntN(3) {
		b.WriteString("        " + lines[r.IntN(len(lines))] + "\n")
	}
	if form == 2 {
		b.WriteString("        " + []string{"i += 1", "i = i + 1"}[r.IntN(2)] + "\n")
	}
	fmt.Fprintf(b, "    return k%s\n", behind)
}
