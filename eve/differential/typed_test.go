package differential

import (
	"flag"
	"fmt"
	"testing"

	"interleave/eve/build"
	"interleave/eve/generate"
	"interleave/eve/trial"
)

var typed = flag.Int("typed", 2, "how many modules of ten typed programs are compared")

// perTyped is the number of parts in a typed module: each has functions and types of its own, so
// g++ takes longer for it.
const perTyped = 10

// Programs that compute with values of all types.
func TestTyped(t *testing.T) {
	trial.NeedCompiler(t)
	for n := range uint64(*typed) {
		t.Run(fmt.Sprint("seed=", *seed+n), func(t *testing.T) {
			t.Parallel()
			if n == 0 { // as in TestGenerated
				compare(t, "typed.eve", generate.Typed(*seed+n, perTyped/5), asserted,
					build.Options{Optimise: true})
			}
			compare(t, "typed.eve", generate.Typed(*seed+n, perTyped), asserted,
				build.Options{Debug: true})
		})
	}
}

func TestTypedUnderAddressSanitizer(t *testing.T) {
	trial.NeedCompiler(t)
	for n := range uint64((*clean + 2*perTyped - 1) / (2 * perTyped)) {
		t.Run(fmt.Sprint("seed=", *seed+n), func(t *testing.T) {
			t.Parallel()
			compare(t, "typed.eve", generate.Typed(*seed+n, perTyped/2), asserted,
				build.Options{Sanitize: "address"})
		})
	}
}
