package interp_test

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// util.toml reads any text or says where it is wrong. What it reads does not change when a comment
// and a table follow, or when the lines end with \r\n.
func FuzzTOML(f *testing.F) {
	for _, s := range tomlSeeds {
		f.Add(s)
	}
	p := newTool(f, "toml", `
    match toml.parse(args[0]):
        ok(v): say(json.write(v))
        error(e): wrong(e)
`, "json")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > longest {
			return
		}
		got, wrong := p.call(t, text)
		if wrong != "" {
			at, err := strconv.Atoi(wrong[:strings.IndexByte(wrong, ' ')])
			if err != nil || at < 0 || at > len(text) {
				t.Fatalf("%q: %s", text, wrong)
			}
			return
		}
		if !json.Valid([]byte(got)) {
			t.Fatalf("%q was read as %q", text, got)
		}
		more, wrong := p.call(t, text+"\n# more\n[\"a new table\"]\n")
		want := strings.TrimSuffix(got, "}")
		if want != "{" {
			want += ","
		}
		if want += `"a new table":{}}`; more != want && !strings.Contains(text, "a new table") {
			t.Fatalf("%q was read as %q, and with another table as %q %s", text, got, more, wrong)
		}
		if lines := strings.ReplaceAll(text, "\n", "\r\n"); !strings.Contains(text, "\r") {
			if again, wrong := p.call(t, lines); again != got {
				t.Fatalf("%q was read as %q, and with \\r\\n as %q %s", text, got, again, wrong)
			}
		}
	})
}

// What util.toml writes is read as the same value, except for fields that are null.
func FuzzWrittenTOML(f *testing.F) {
	for _, s := range tomlSeeds {
		f.Add(s)
	}
	p := newTool(f, "toml", `
    match written(args[0]):
        ok(s): say(s)
        error(e): wrong(e)

written: (text: string) string!:
    v: json.value = toml.parse(text)?
    again: json.value = toml.parse(toml.write(v)?)?
    return json.write(json.value.list([v, again]))
`, "json")
	reads := newTool(f, "toml", `
    match toml.parse(args[0]):
        ok: say("")
        error(e): wrong(e)
`)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > longest {
			return
		}
		both, wrong := p.call(t, text)
		if wrong != "" {
			if _, unread := reads.call(t, text); unread == "" {
				t.Fatalf("%q is read, and written or read again: %s", text, wrong)
			}
			return
		}
		pair := decoded(t, both).([]any)
		if !reflect.DeepEqual(pair[0], pair[1]) { // the order of the fields may differ
			t.Fatalf("%q is, when it is written and read again, %s", text, both)
		}
	})
}

var tomlSeeds = []string{"", "a = 1", "a.b.c = [1, 2.5e3, \"x\", 'y',]\n",
	"[a]\nb = {c = 1, d.e = true}\n", "[[a]]\nb = 0xff\n[[a]]\nb = 1979-05-27T07:32:00Z\n",
	"s = \"\"\"\na\\\n  b\"\"\"\"\n", "s = '''a'b''''", "a = 07:32:00.5", "a = 1_000\nb = -inf",
	"a = \"\\u00e9\\U0001f600\"", "a = 1\na = 2", "[a]\n[a]", "a = [[", "a = {", "a", "= 1",
	"\"\" = 1", "a = 1 # c\n#", "[a.b]\n[a]\n", "a.b = 1\n[a]", "\xff", "a = 1979-02-29",
	"a = 0x8000000000000000"}
