package interp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
)

// util.json_stream reads the same from parts of every size; what it reads is what encoding/json
// reads; and what util.json reads whole, it reads in parts.
func FuzzJSONStream(f *testing.F) {
	for _, s := range []string{"", "null", "[]", "[1,\n[2,\"],\"],{\"a\":\"\\\\\\\"\"}]", "1 2",
		"1\n{}[]", "{}{}", "\"a\"\"b\"", "1{}", "[1,]", "[,]", "[1]]", "[1 2]", "{]", "\"\xff\"",
		"\"\\", "[[[", "nul", "tru e", "-", "\u00e9", "[\"\u00e9\", x]", " \t\r\n",
		"9223372036854775808"} {
		f.Add(s, 3)
	}
	stream := newTool(f, "json_stream", `
    text: string = args[0]
    size: int = args[1].to_int() else 1
    r: json_stream.reader = json_stream.values()
    if args[2] == "elements": r = json_stream.elements()
    at: int = 0
    all: vector<string>
    for (turn in 0..2 * text.size() + 4):
        match r.next():
            value(v): all.push(json.write(v))
            over:
                say(join(all, "\n"))
                return
            failed(e):
                wrong(error(e.code(), f"{all.size()} {e.text()}"))
                return
            more:
                if at == text.size(): r.finish()
                end: int = min(at + size, text.size())
                r.push(text[at..end])
                at = end
    say("no end")
`, "json")
	whole := newTool(f, "json", `
    match json.parse(args[0]):
        error(e): wrong(e)
        ok(v):
            all: vector<string> = [json.write(v)]
            if args[1] == "elements":
                all = []
                match v:
                    list(items): for (i in items): all.push(json.write(i))
                    else:
                        wrong(error("no list"))
                        return
            say(join(all, "\n"))
`)
	f.Fuzz(func(t *testing.T, text string, size int) {
		if len(text) > longest/4 || size < 1 {
			return
		}
		for _, how := range []string{"values", "elements"} {
			got, wrong := stream.call(t, text, fmt.Sprint(len(text)+1), how)
			again, wrongAgain := stream.call(t, text, fmt.Sprint(size), how)
			if got != again || wrong != wrongAgain {
				t.Fatalf("%s of %q: %q %s; in parts of %d: %q %s", how, text, got, wrong, size,
					again, wrongAgain)
			}
			if want, none := whole.call(t, text, how); none == "" && (wrong != "" || got != want) {
				t.Fatalf("%s of %q: got %q %s, want %q", how, text, got, wrong, want)
			}
			if wrong == "" && how == "values" && !sameValues(t, got, text) {
				t.Fatalf("values of %q: got %q", text, got)
			}
		}
	})
}

// sameValues says whether two texts have the same values of JSON.
func sameValues(t *testing.T, a, b string) bool {
	t.Helper()
	var all [2][]any
	for i, text := range []string{a, b} {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		for {
			var v any
			err := d.Decode(&v)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			all[i] = append(all[i], typed(v))
		}
	}
	return reflect.DeepEqual(all[0], all[1])
}
