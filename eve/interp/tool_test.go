package interp_test

import (
	"strings"
	"testing"

	"interleave/eve/interp"
	"interleave/eve/ir"
	"interleave/eve/trial"
)

// A tool is a program that passes its arguments to a function of the library and prints what the
// function makes of them. Fuzz targets compare that with Go's standard library.
type tool struct{ program *ir.Program }

// newTool makes a tool of the module util.<module>. The body is indented by four spaces. In it,
// args are the arguments, and say and wrong print a result. It may use more modules of util.
func newTool(t testing.TB, module, body string, more ...string) tool {
	t.Helper()
	var imports strings.Builder
	for _, name := range append(more, module) {
		imports.WriteString("import util." + name + "\n")
	}
	return tool{trial.Check(t, "tool.eve", imports.String()+`say: [+stdout] (s: string) void: stdout.write("ok %s", s)
wrong: [+stdout] (e: error) void: stdout.write("error %d %s", e.code(), e)
main: [+stdout] () void:
    args: vector<string> = process.args()
`+body)}
}

// call returns the result for these arguments, or else the error's text.
func (p tool) call(t *testing.T, args ...string) (result, wrong string) {
	t.Helper()
	var out strings.Builder
	end := interp.Run(p.program, interp.Options{Stdout: &out, Args: args})
	if end.Status != 0 {
		t.Fatalf("%q: %s", args, end.Trace)
	}
	if result, ok := strings.CutPrefix(out.String(), "ok "); ok {
		return result, ""
	}
	wrong, ok := strings.CutPrefix(out.String(), "error ")
	if !ok {
		t.Fatalf("%q: printed %q", args, out.String())
	}
	return "", wrong
}

// longest is the size of the inputs that fuzz targets try: longer ones only take time.
const longest = 2048
