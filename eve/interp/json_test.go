package interp_test

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// util.json reads what encoding/json reads, except for the texts that it refuses by its contract,
// and writes a text with the same value.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{"", "null", "[]", "{}", `{"a":[1,-2.5e3,true,"\u00e9\ud83d\ude00"]}`,
		`{"a":1,"a":2}`, "[1,]", "{\"a\"}", "\"\\ud800\"", "\"\xff\"", "-", "-0", "01", "1e999",
		"1.",
		"9223372036854775808", "-9223372036854775808", "[[[", " \t\n\r1 ", "nul", "\"\t\"", "1 2",
		"\"\\", `"\u12"`, `{"":{"":[]}}`, "0.1e-400", "12345678901234567890.0", "\"\\/\x7f\"",
		strings.Repeat("[", 513) + strings.Repeat("]", 513)} {
		f.Add(s)
	}
	p := newTool(f, "json", `
    match json.parse(args[0]):
        ok(v): say(json.write(v))
        error(e): wrong(e)
`)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > longest {
			return
		}
		written, wrong := p.call(t, text)
		valid := json.Valid([]byte(text))
		switch {
		case wrong == "" && !valid:
			t.Fatalf("%q is not JSON, and was read as %q", text, written)
		case wrong != "" && valid && !refused(t, text):
			t.Fatalf("%q: %s", text, wrong)
		case wrong != "":
			return
		}
		if got, want := decoded(t, written), decoded(t, text); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q was read as %q", text, written)
		}
		if again, wrong := p.call(t, written); again != written {
			t.Fatalf("%q was written as %q, and that as %q %s", text, written, again, wrong)
		}
	})
}

// A type that is read by its fields is written as a text that is read as the same value. A text
// that is refused has its place.
func FuzzJSONFields(f *testing.F) {
	for _, s := range []string{`{"a":1,"b":[{"kind":"one"},{"kind":{"two":{"n":200}}}],"c":null}`,
		`{"a":128,"b":[]}`, `{"b":[],"a":0,"c":{"x/y":[true,"t"],"~":[false,""]}}`, `{"a":1}`,
		`{"a":1,"b":[{"kind":{"two":{}}}]}`, `{"a":1,"b":[{"kind":"none"}]}`, "[]", "null", "{",
		"{\"a\":\n-1,\"b\":[{}]}", `{"a":1,"b":[],"c":{"":[true]}}`,
		`{"a":1,"a":"2","b":[]}`} {
		f.Add(s)
	}
	p := newTool(f, "json", `
    match json.decode<all>(args[0]):
        ok(x): say(json.encode(x))
        error(e): wrong(e)

union kind:
    one
    two(n: uint<8>, x: float?)
type part:
    kind: kind
type all:
    a: int<8>
    b: vector<part>
    c: map<string, (bool, string)>?
    d: uint = 7
    e: json.value = json.value.null
`)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > longest {
			return
		}
		written, wrong := p.call(t, text)
		if wrong != "" {
			at, rest, _ := strings.Cut(wrong, " ")
			n, err := strconv.Atoi(at)
			if err != nil || n < 0 || n > len(text) || !strings.HasPrefix(rest, "line ") {
				t.Fatalf("%q: %s", text, wrong)
			}
			return
		}
		if !json.Valid([]byte(text)) || !json.Valid([]byte(written)) {
			t.Fatalf("%q was read, and written as %q", text, written)
		}
		if again, wrong := p.call(t, written); again != written {
			t.Fatalf("%q was written as %q, and that as %q %s", text, written, again, wrong)
		}
	})
}

// decoded is the value of a JSON text, with numbers as util.json has them: int64, float64, or a
// string if neither has the number.
func decoded(t *testing.T, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return typed(v)
}

func typed(v any) any {
	switch v := v.(type) {
	case json.Number:
		return number(string(v))
	case []any:
		for i := range v {
			v[i] = typed(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = typed(v[k])
		}
	}
	return v
}

func number(text string) any {
	if text != "-0" && !strings.ContainsAny(text, ".eE") {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
		return text
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	return x
}

// refused says whether util.json refuses a text that encoding/json accepts.
func refused(t *testing.T, text string) bool {
	if !utf8.ValidString(text) {
		return true
	}
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			if i++; text[i] != 'u' {
				break
			}
			first, _ := strconv.ParseUint(text[i+1:i+5], 16, 32)
			i += 4
			if first < 0xd800 || first > 0xdfff {
				break
			}
			if first >= 0xdc00 || !strings.HasPrefix(text[i+1:], `\u`) {
				return true
			}
			if second, _ := strconv.ParseUint(text[i+3:i+7], 16, 32); second>>10 != 0xdc00>>10 {
				return true
			}
			i += 6
		case c == '"':
			quoted = !quoted
		case !quoted && (c == '[' || c == '{'):
			if depth++; depth > 512 {
				return true
			}
		case !quoted && (c == ']' || c == '}'):
			depth--
		}
	}
	// A value that a later field replaced counts as well.
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return false
		}
		if n, is := token.(json.Number); is {
			if _, none := number(string(n)).(string); none {
				return true
			}
		}
	}
}
