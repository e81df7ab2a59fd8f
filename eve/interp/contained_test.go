package interp_test

import (
	"fmt"
	"strings"
	"testing"

	"interleave/eve/interp"
	"interleave/eve/trial"
)

const job = `type done:
    n: int
type job: emitter<done, error>
    end: [+self] (self) void: emit done(1)
`

func inTask(line int) string { return fmt.Sprint("\n    in the task of lost.eve:", line) }

// A contained failure is reported if no handler is called, once.
func TestContained(t *testing.T) {
	const goesOn = "\n    the program goes on\n"
	cases := []struct{ name, text, said string }{
		{"no emitter", "main: () void:\n    @ []: fail \"lost\"\n", "lost.eve:2: lost" +
			inTask(2) + goesOn},
		{"timer",
			"main: () void:\n    t: timer@ = timer.every(1ms)\n" +
				"    on t fired [+t]: fail \"late\"\n",
			"lost.eve:3: late" + inTask(3) + goesOn},
		{"no handler", job +
			"main: () void:\n    j: job@\n    on j done [+j]: fail \"unheard\"\n    j.end()\n",
			"lost.eve:7: unheard" + inTask(7) + goesOn},
		{"handler", job +
			"main: () void:\n    j: job@\n    on j error: pass\n    on j done [+j]: fail " +
			"\"heard\"\n    j.end()\n", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := trial.Check(t, "lost.eve", c.text)
			for seed := range uint64(seeds) {
				var said strings.Builder
				end := interp.Run(p, interp.Options{Seed: seed, Stderr: &said})
				if end.Status != 0 || said.String() != c.said {
					t.Fatalf("seed %d: ended with %+v and said %q, want %q", seed, end,
						said.String(), c.said)
				}
			}
		})
	}
}

// Any failure fails a test, also that of a root after its body, and one with a handler.
func TestContainedInTests(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"continuation", "test \"t\":\n    _ <- sleep(1s)\n    fail \"late\"\n",
			"lost.eve:3: late" + inTask(2)},
		{"root", "test \"t\":\n    @ []: fail \"lost\"\n", "lost.eve:2: lost" + inTask(2)},
		{"handler", job +
			"test \"t\":\n    j: job@\n    on j error: pass\n    on j done [+j]: fail " +
			"\"heard\"\n    j.end()\n",
			"lost.eve:8: heard" + inTask(8)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := trial.Check(t, "lost.eve", c.text)
			for seed := range uint64(seeds) {
				end := interp.Test(p, p.Tests[0], interp.Options{Seed: seed})
				if end.Status != 1 || end.Trace != c.want {
					t.Fatalf("seed %d: ended with %+v, want %q", seed, end, c.want)
				}
			}
		})
	}
}
