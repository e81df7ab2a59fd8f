package build_test

import (
	"testing"

	"interleave/eve/build"
	"interleave/eve/compile"
	"interleave/eve/emit"
	"interleave/eve/source"
	"interleave/eve/trial"
)

// The default of a parameter is written at the call, and that of a field with its type. Both may
// call private functions of their module from the code of another one.
func TestDefaultsOfAnotherModule(t *testing.T) {
	const lib = `seven: () int: return 7
eight: () int: return 8
pub type box:
    n: int = eight()
pub add: (a: int, b: int = seven()) int: return a + b
`
	const main = `import lib
main: [+stdout] () void:
    b: lib.box
    print("%d %d\n", lib.add(1), b.n)
`
	p, diags := compile.Check(source.NewFile("main.eve", main),
		func(name string) (*source.File, bool) {
			return source.NewFile("lib.eve", lib), name == "lib"
		})
	for _, d := range diags {
		t.Errorf("%s: %s", d.Code, d.Message)
	}
	exe := trial.Build(t, p, emit.Options{}, build.Options{})
	if got := trial.Output(t, exe, 1); got != "8 8\n" {
		t.Errorf("printed %q", got)
	}
}
