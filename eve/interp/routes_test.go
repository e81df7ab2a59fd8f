package interp_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"interleave/eve/interp"
	"interleave/eve/ir"
	"interleave/eve/trial"
)

// route runs a program whose arguments are a pattern and paths, and returns what it says.
func route(p *ir.Program, args ...string) trial.Ending {
	var out strings.Builder
	end := interp.Run(p, interp.Options{Stdout: &out, Args: args})
	return trial.Ending{Status: end.Status, Out: out.String(), Err: end.Trace}
}

// A pattern that is wrong, and one with other parameters than the fields of its type, fail the task
// that makes the route.
func TestWrongPatterns(t *testing.T) {
	plain := trial.Check(t, "plain.eve", `import io.http
main: () void:
    table: http.routes
    args: vector<string> = process.args()
    table.get(args[0]):
        run = [] (x: http.exchange) void: x.respond(200, "")
`)
	for pattern, want := range map[string]string{
		"a":                     "a pattern starts with a slash: a",
		"/a{b}":                 "a parameter is a whole part",
		"/{b":                   "a parameter without its end: /{b",
		"/{}":                   "a parameter without a name: /{}",
		"/{:int}":               "a parameter without a name: /{:int}",
		"/{...}":                "a parameter without a name: /{...}",
		"/{a}/{a:int}":          "two parameters with the name a: /{a}/{a:int}",
		"/{a...}/b":             "the rest of a path is its last part: /{a...}/b",
		"/{a:}":                 "an unknown kind of parameter: /{a:}",
		"/{a:integer}":          "an unknown kind of parameter: /{a:integer}",
		"/{a:x|}":               "an empty word in a parameter: /{a:x|}",
		"/{a:[]}":               "a set of characters has no end, or is empty: /{a:[]}",
		"/{a:[a-z}":             "a set of characters has no end, or is empty: /{a:[a-z}",
		"/{a:[^a]}":             "a set of characters and ranges: /{a:[^a]}",
		"/{a:[z-a]}":            "a range ends before it begins: /{a:[z-a]}",
		"/{a:[a-z]*}":           "expected +, {n} or {n,m}: /{a:[a-z]*}",
		"/{a:[a-z]{0}}":         "expected {n}, {n,} or {n,m}: /{a:[a-z]{0}}",
		"/{a:[a-z]{3,2}}":       "expected {n}, {n,} or {n,m}: /{a:[a-z]{3,2}}",
		"/{a:[a-z]{1,2,3}}":     "expected {n}, {n,} or {n,m}: /{a:[a-z]{1,2,3}}",
		"/{a:[a-z]{x}}":         "expected {n}, {n,} or {n,m}: /{a:[a-z]{x}}",
		"/x/{a:.{1,32}}/{b...}": "",
	} {
		end := route(plain, pattern)
		if (end.Status == 0) != (want == "") || !strings.Contains(end.Err, want) {
			t.Errorf("%s: got status %d, %q, want %q", pattern, end.Status, end.Err, want)
		}
	}
	typed := trial.Check(t, "typed.eve", `import io.http
import io.route
type place:
    code: string
    page_: int = 1
main: () void:
    table: http.routes
    args: vector<string> = process.args()
    route.get(table, args[0]):
        run = [] (x: http.exchange, p: place) void: x.respond(200, p.code)
`)
	for pattern, want := range map[string]string{
		"/{code}/{page}":        "",
		"/{page:int}/{code...}": "",
		"/{cod}/{page}":         "/{cod}/{page} has no parameter code, only [cod, page]",
		"/{code}":               "/{code} has no parameter page, only [code]",
		"/{code}/{page}/{to}": "/{code}/{page}/{to} has the parameter to, and its type only " +
			"[code, page]",
	} {
		end := route(typed, pattern)
		if (end.Status == 0) != (want == "") || !strings.Contains(end.Err, want) {
			t.Errorf("%s: got status %d, %q, want %q", pattern, end.Status, end.Err, want)
		}
	}
}

// The sets of characters of a pattern take the texts that they take as regular expressions.
func FuzzPatternSets(f *testing.F) {
	for _, s := range [][2]string{{"[a-z]+", "abc"}, {"[a-z0-9_-]{2,3}", "a-9"}, {".{2}", "é漢"},
		{"[é-漢]", "漢"}, {"[-a]+", "a-"}, {"[a-]+", "-"}, {"[.]{1,}", "."}, {"[a-c-e]+", "d"},
		{"[z-a]", "b"}, {"[^a]", "b"}, {"[]a]", "]"}, {".{1,2}", "a\nb"}, {"[a]{1001}", "a"}} {
		f.Add(s[0], s[1])
	}
	p := trial.Check(f, "sets.eve", `import io.http
main: [+stdout] () void:
    table: http.routes
    args: vector<string> = process.args()
    table.get("/{a:" + args[0] + "}"):
        run = [] (x: http.exchange) void: x.respond(200, "")
    print("%d", table.table.find("GET", [args[1]]))
`)
	// a set as RE2 reads it in the same way: without the escapes, classes and negation of RE2
	same := regexp.MustCompile(`^(\.|\[[^\]\[\\^|/{}][^\]\[\\|/{}]*\])` +
		`(\+|\{[1-9]\d{0,2}(,([1-9]\d{0,2})?)?\})?$`)
	f.Fuzz(func(t *testing.T, set, text string) {
		if len(set) > 100 || len(text) > 200 || strings.Contains(set, "/") {
			return
		}
		end := route(p, set, text)
		if end.Status != 0 && !strings.Contains(end.Err, "assertion failed") {
			t.Fatalf("%q: %s", set, end.Err)
		}
		if !same.MatchString(set) || !utf8.ValidString(set) || !utf8.ValidString(text) ||
			strings.ContainsAny(text, "/\\\x00") {
			return
		}
		r, err := regexp.Compile("^(?s:" + set + ")$")
		if (err == nil) != (end.Status == 0) {
			t.Fatalf("%q: %v, and here %q", set, err, end.Err)
		}
		if err == nil && (end.Out == "0") != r.MatchString(text) {
			t.Fatalf("%q of %q: %q", set, text, end.Out)
		}
	})
}
