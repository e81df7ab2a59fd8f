package interp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"interleave/eve/compile"
	"interleave/eve/generate"
	"interleave/eve/interp"
	"interleave/eve/source"
	"interleave/eve/trial"
)

// The order of tasks under many schedules. If several outcomes are right, all of them must occur.
func TestSchedules(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"writers in the order of their start", `main: () void:
    n: vector<int>@
    for (i in 0..4):
        @ [+n, =i]: n.push(i)
    @ [n, +stdout]: print("%v", n)
`, []string{"[0, 1, 2, 3]"}},
		{"readers in any order", `main: () void:
    n: int@ = 7
    out: vector<int>@
    for (i in 0..2):
        @ [n, -out, =i]: note(out, n + i)
    _ <- sleep(1s) [out, +stdout]
    print("%v", out)
note: (out: vector<int>@, x: int) void:
    @ [+out, =x]: out.push(x)
`, []string{"[7, 8]", "[8, 7]"}},
		{"a writer is not overtaken", `main: () void:
    n: int@
    log: vector<int>@
    @ [n, -log]: add(log, n)
    @ [+n]: n = 1
    @ [n, -log]: add(log, n + 10)
    _ <- sleep(1s) [log, +stdout]
    print("%v", log)
add: (log: vector<int>@, x: int) void:
    @ [+log, =x]: log.push(x)
`, []string{"[0, 11]"}},
		{"a failing child skips what has not begun", `main: () void:
    done: vector<int>@
    on lamp lit [+done, +stdout]:
        print("%v", done)
    @ []: work()
lamp: bulb@
type lit:
type bulb: emitter<lit>
    on: [+self] (self) void: emit lit()
work: () void:
    a: int@
    defer: light()
    finish:
        @ [+a]: a = 1
        @ [+a]: assert a == 2
        @ [+a]: unreachable()
light: () void:
    @ [+lamp]: lamp.on()
unreachable: () void:
    @ [+lamp, +stdout]: print("started!")
`, []string{"[]"}},
		{"consumed", `main: () void:
    b: bulb@
    on b lit = [b, +stdout] (e: lit&) bool:
        print("1")
        return e.n == 1
    on b lit [b, +stdout]: print("2")
    @ [+b]:
        b.on(0)
        b.on(1)
        b.on(2)
type lit:
    n: int
type bulb: emitter<lit>
    on: [+self] (self, n: int) void: emit lit(n)
`, []string{"12112"}},
		{"off while it runs", `main: () void:
    b: bulb@
    on b lit [+b, +stdout]:
        print("1")
        b.off()
        on b lit [+b, +stdout]: print("3")
    on b lit [+b, +stdout]: print("2")
    @ [+b]:
        b.on()
        b.on()
type lit:
type bulb: emitter<lit>
    on: [+self] (self) void: emit lit()
`, []string{"13"}},
		{"ticks", `main: () void:
    t: timer@ = timer.every(10ms)
    n: int@
    on t fired [+n, +stdout]:
        n += fired.count
        if n == 3:
            t.stop()
            print("%d %v", n, clock() >= 30ms)
`, []string{"3 true"}},
		{"in time and too late", `main: () void:
    a <- sleep(1s) within 2s [+stdout]
    match a:
        error(e): print("late ")
        else: print("in time ")
    b <- sleep(3s) within 2s [+stdout]
    match b:
        error(e): print("%d %s", e.code(), e.text())
        else: print("in time")
`, []string{"in time 110 timeout"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, seen := trial.Check(t, "t.eve", test.text), map[string]bool{}
			for seed := range uint64(60) {
				seen[run(p, seed)] = true
			}
			for _, want := range test.want {
				if !seen[want] {
					t.Errorf("no schedule gives %q", want)
				}
				delete(seen, want)
			}
			for got := range seen {
				t.Errorf("a schedule gives %q", got)
			}
		})
	}
}

// Ticks that come while the handler waits for its objects are one event.
func TestMissedTicks(t *testing.T) {
	const text = `main: () void:
    t: timer@ = timer.every(10ms)
    n, most: int@
    on t fired [+n, +most]:
        n += fired.count
        if fired.count > most: most = fired.count
        if n > 100: t.stop()
    _ <- sleep(5s) [n, most, +stdout]
    print("%v", n > 100 && most > 1)
`
	p := trial.Check(t, "t.eve", text)
	for seed := range uint64(10) {
		var out strings.Builder
		if end := interp.Run(p, interp.Options{Seed: seed, Stdout: &out,
			Late: true}); end.Status != 0 || out.String() != "true" {
			t.Errorf("seed %d: %q %s", seed, out.String(), end.Trace)
		}
	}
}

// A program without an end is stopped, and so is endless recursion.
func TestEndless(t *testing.T) {
	for _, test := range [][2]string{
		{"main: () void:\n    i: int = 0\n    while i >= 0: i = i & 7\n",
			"t.eve:3: the program has been running for too long"},
		{"main: () void: deep(0)\ndeep: (n: int) int: return 1 +% deep(n +% 1)\n",
			"stack overflow: a task calls itself too deeply"},
	} {
		text, want := test[0], test[1]
		p := trial.Check(t, "t.eve", text)
		if end := interp.Run(p, interp.Options{Steps: 1_000_000}); end.Status != 1 ||
			end.Trace != want {
			t.Errorf("%s\nends with %d %q", text, end.Status, end.Trace)
		}
	}
}

// No accepted program makes the interpreter itself fail: programs of the examples, and generated
// ones, also when integers wrap and time passes while they work.
func TestSurvives(t *testing.T) {
	files, err := filepath.Glob("../testdata/ok/*.eve")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	programs := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		programs[filepath.Base(file)] = string(text)
	}
	for seed := range uint64(6) {
		programs["generated"+string(rune('0'+seed))] = generate.Program(100+seed, 12)
	}
	for name, text := range programs {
		p, diags := compile.Check(source.NewFile(name, text), nil)
		if len(diags) > 0 && diags[0].Code.IsError() || p == nil || p.Main == nil {
			continue
		}
		for seed := range uint64(3) {
			end := interp.Run(p, interp.Options{Seed: seed, Steps: 60_000, Late: seed == 1,
				Wrap: seed == 2})
			if strings.Contains(end.Trace, "the interpreter") &&
				!strings.Contains(end.Trace, "a C function") {
				t.Errorf("%s: %s", name, end.Trace)
			}
			for _, test := range p.Tests {
				interp.Test(p, test, interp.Options{Seed: seed, Steps: 60_000})
			}
		}
	}
}
