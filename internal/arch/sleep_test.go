package arch

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// maxSleep is the longest real sleep in a test of the first ring: a test waits for
// events, or polls.
const maxSleep = 50 * time.Millisecond

// maySleep are the files in which tests sleep for longer, or for a duration that is not constant,
// with the reason. In files that import testing/synctest time is fake, and no sleep takes any.
var maySleep = map[string]string{
	"internal/load/chat_test.go": "a server that stalls for a known time: the engine " +
		"under test reads the kernel's clock",
	"internal/load/chatserver_test.go":  "a server that answers after a known time, likewise",
	"internal/load/imageserver_test.go": "a server that answers after a known time, likewise",
	"internal/load/server_test.go":      "a server that stalls for a known time, likewise",
	"internal/load/stream_test.go": "a server that says something each second, as its " +
		"protocol asks, or late by a known time",
	"services/chat/slow_test.go": "only with -clock, as make siege asks",
	"services/images/slow_test.go": "the second ring: clients that are slow for minutes, " +
		"as the contract bounds them",
}

// TestNoLongSleeps refuses time.Sleep of more than maxSleep in tests, and of a variable.
func TestNoLongSleeps(t *testing.T) {
	seen := map[string]bool{}
	for _, file := range tracked(t) {
		if !strings.HasSuffix(file, "_test.go") || strings.Contains(file, "testdata/") {
			continue
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, filepath.Join(root, file), nil, 0)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if fakesTime(f) {
			continue
		}
		for _, call := range sleeps(f) {
			if long(call) {
				seen[file] = true
				if maySleep[file] == "" {
					t.Errorf("%s:%d: a real sleep of more than %v, or of a time that is not "+
						"constant: wait for an event, or poll",
						file, set.Position(call.Pos()).Line, maxSleep)
				}
			}
		}
	}
	for file := range maySleep {
		if !seen[file] {
			t.Errorf("%s has no long sleep: it needs no exception", file)
		}
	}
}

// fakesTime tells whether a file's tests run in bubbles of testing/synctest.
func fakesTime(f *ast.File) bool {
	return slices.ContainsFunc(f.Imports,
		func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing/synctest"` })
}

// sleeps finds the calls of time.Sleep.
func sleeps(f *ast.File) (calls []*ast.CallExpr) {
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if s, ok := call.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Sleep" &&
			len(call.Args) == 1 {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" {
				calls = append(calls, call)
			}
		}
		return true
	})
	return calls
}

// long tells whether a sleep is longer than maxSleep, or may be.
func long(call *ast.CallExpr) bool {
	text := types.ExprString(call.Args[0])
	for name, unit := range map[string]time.Duration{"time.Microsecond": time.Microsecond,
		"time.Nanosecond":  1,
		"time.Millisecond": time.Millisecond, "time.Second": time.Second,
		"time.Minute": time.Minute, "time.Hour": time.Hour} {
		text = strings.ReplaceAll(text, name, strconv.FormatInt(int64(unit), 10))
	}
	value, err := types.Eval(token.NewFileSet(), nil, token.NoPos, text)
	if err != nil || value.Value == nil {
		return true
	}
	ns, exact := constant.Int64Val(constant.ToInt(value.Value))
	return !exact || time.Duration(ns) > maxSleep
}

// TestLong checks sleeps on both sides of the limit.
func TestLong(t *testing.T) {
	for text, want := range map[string]bool{
		"time.Millisecond": false, "50*time.Millisecond": false, "51 * time.Millisecond": true,
		"time.Second": true,
		"wait":        true, "time.Until(at)": true, "time.Second / 20": false,
		"300 * time.Microsecond": false, "n * time.Millisecond": true,
	} {
		expr, err := parser.ParseExpr("time.Sleep(" + text + ")")
		if err != nil {
			t.Fatal(err)
		}
		if got := long(expr.(*ast.CallExpr)); got != want {
			t.Errorf("time.Sleep(%s) is long: %v, want %v", text, got, want)
		}
	}
}

// TestNoLongSleepsInScripts refuses `sleep` of more than maxSleep in the scripts that tests run. A
// sleep of a minute or more is a program that the test stops.
func TestNoLongSleepsInScripts(t *testing.T) {
	for _, file := range tracked(t) {
		if !strings.HasSuffix(file, ".txtar") &&
			!(strings.HasSuffix(file, ".sh") && strings.Contains(file, "testdata/")) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(string(text), "\n") {
			if longScript(line) {
				t.Errorf("%s:%d: %q sleeps for more than %v: wait for an event, or poll",
					file, n+1, strings.TrimSpace(line), maxSleep)
			}
		}
	}
}

// scriptSleep matches the command, with a number of seconds.
var scriptSleep = regexp.MustCompile(`\bsleep ([0-9]*\.?[0-9]+)`)

// longScript tells whether a line of shell sleeps for longer than maxSleep, and less than a minute.
func longScript(line string) bool {
	for _, found := range scriptSleep.FindAllStringSubmatch(line, -1) {
		seconds, err := strconv.ParseFloat(found[1], 64)
		if err != nil || seconds > maxSleep.Seconds() && seconds < time.Minute.Seconds() {
			return true
		}
	}
	return false
}

// TestLongScript checks lines on both sides of the limits.
func TestLongScript(t *testing.T) {
	for line, want := range map[string]bool{
		"sleep 0.05": false, "sleep .05; done": false, "until x; do sleep 0.06; done": true,
		"sleep 1 # once": true, "sleep 60 &": false, "sleep infinity": false, "sleeps 5": false,
		"sleep 0.01; sleep 2": true,
	} {
		if got := longScript(line); got != want {
			t.Errorf("%q is long: %v, want %v", line, got, want)
		}
	}
}
