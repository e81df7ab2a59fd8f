package differential

import (
	"math/rand/v2"
	"strings"
	"testing"

	"interleave/eve/build"
	"interleave/eve/emit"
	"interleave/eve/interp"
	"interleave/eve/trial"
)

// readers is a program that gives each of its arguments to every parser of the library, and prints
// what they make of it.
const readers = `import util.base64
import util.csv
import util.graphemes
import util.hash
import util.hex
import util.json
import util.json_stream
import util.normal
import util.text
import util.toml
import util.url
import util.utf8

show: [+stdout] (what: string, r: string!) void:
    match r:
        ok(s): stdout.write("%s: %s\n", what, s)
        error(e): stdout.write("%s: error %d, %s\n", what, e.code(), e)

json_of: (s: string) string!: return json.indented(json.parse(s)?)
stream_of: (s: string) string!:
    r: json_stream.reader = json_stream.values()
    all: string = ""
    at: int = 0
    for (turn in 0..2 * s.size() + 4):
        match r.next():
            value(v): all += json.write(v) + ";"
            over: return all
            failed(e): return e
            more:
                if at == s.size(): r.finish()
                r.push(s[at..min(at + 3, s.size())])
                at = min(at + 3, s.size())
    return error("no end")
csv_of: (s: string) string!: return csv.write(csv.parse(s)?)
toml_of: (s: string) string!: return json.write(toml.parse(s)?)
fields_of: (s: string) string!: return json.encode(json.decode<table>(s)?)
settings_of: (s: string) string!: return toml.encode(toml.decode<table>(s)?)

union role:
    plain
    sized(n: uint<8>)
type table:
    a: vector<float?> = []
    b: map<string, json.value>? = none
    c: role = role.plain
    d: (string, int<16>) = ("", 0)

hex_of: (s: string) string!: return hex.decode(s)?.text()
base64_of: (s: string) string!: return base64.decode(s)?.text()
url_of: (s: string) string!: return f"{url.parse(s)?} {url.resolve("http://a/b/c", s)?}"
query_of: (s: string) string!: return url.build_query(url.parse_query(s)?)

main: [+stdout] () void:
    for (s: string in process.args()):
        show("json", json_of(s))
        show("stream", stream_of(s))
        show("csv", csv_of(s))
        show("toml", toml_of(s))
        show("fields", fields_of(s))
        show("settings", settings_of(s))
        show("hex", hex_of(s))
        show("base64", base64_of(s))
        show("url", url_of(s))
        show("query", query_of(s))
        show("text", f"{text.upper(s)} {text.lower(s)} {text.width(s)} {utf8.runes(s)}")
        show("forms", f"{normal.nfc(s)} {normal.nfkd(s)} {normal.caseless(s)} {graphemes.split(s)}")
        show("codes", f"{base64.encode(s)} {url.encode(s)} {json.quote(s)}")
        sums: string = f"{hash.sha256(s):x} {hash.sha512(s):x} {hash.crc32(s)} {hash.xxhash64(s)}"
        show("hash", sums)
`

// The parsers of the library do the same in a compiled program and in the interpreter, with inputs
// that are right and with their mutants.
func TestReaders(t *testing.T) {
	trial.NeedCompiler(t)
	inputs := mutants(rand.New(rand.NewPCG(*seed, 2)), []string{
		`{"a":[1,-2.5e3,true,null,"\u00e9\ud83d\ude00\n"],"b":{}}`,
		`{"a":[1,null,-2.5],"b":{"x":[]},"c":{"sized":{"n":255}},"d":["y",-32768]}`,
		"a = [1, 2.5]\nc = 'plain'\nd = ['x', 7]\n[b]\nk = {l = 1}\n",
		"name,born\n\"Ada, L.\",1815\r\n",
		"http://user:pw@example.com:8080/a/../b;c?q=1&r=%41#frag", "//[::1]:80/x?y", "a=1&b=+%2B",
		"[a]\nb.c = {d = [1, \"e\"]}\n[[f]]\ng = 1979-05-27 07:32:00\n", "h = '''i'''",
		"Zm9vYg==", "48656c6c6f", "Grüße, ΣΊΣ 漢字 e\u0301\U0001f600", "9223372036854775807",
		strings.Repeat("[", 20) + strings.Repeat("]", 20), "0.1e-7"}, 200)
	p := trial.Check(t, "readers.eve", readers)
	var want strings.Builder
	if end := interp.Run(p, interp.Options{Stdout: &want, Args: inputs}); end.Status != 0 {
		t.Fatal(end.Trace)
	}
	for _, o := range []build.Options{{Sanitize: "address"}, {Optimise: true}} {
		exe := trial.Build(t, p, emit.Options{Checked: !o.Optimise}, o)
		end := trial.Run(t, exe, 1, inputs...)
		if end.Status != 0 {
			t.Fatalf("%+v: status %d\n%s", o, end.Status, end.Err)
		}
		if d := trial.Difference(readers, want.String(), end.Out); d != "" {
			t.Errorf("%+v against the interpreter:\n%s", o, d)
		}
	}
}

// mutants returns the texts, and n texts that are made of them: bytes are dropped, doubled,
// changed, or exchanged for those of another text.
func mutants(random *rand.Rand, texts []string, n int) []string {
	all := texts
	for range n {
		text := []byte(texts[random.IntN(len(texts))])
		for range 1 + random.IntN(3) {
			if len(text) == 0 {
				break
			}
			at := random.IntN(len(text))
			switch other := texts[random.IntN(len(texts))]; random.IntN(5) {
			case 0:
				text = append(text[:at], text[at+1:]...)
			case 1:
				text = append(text[:at+1], text[at:]...)
			case 2:
				text[at] = byte(1 + random.IntN(255)) // an argument contains no 0
			case 3:
				text[at] = other[random.IntN(len(other))]
			case 4:
				text = append(text[:at], other[random.IntN(len(other)):]...)
			}
		}
		all = append(all, string(text))
	}
	return all
}
