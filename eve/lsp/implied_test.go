package lsp

import (
	"slices"
	"strings"
	"testing"
)

// orders has types with and without a form in JSON.
const orders = `import util.json

type order:
    name: string
    parts: vector<int>

type secret:
    inner: order@

type vault:
    all: vector<secret>

type own:
    n: int
    # As a number.
    to_json: (self) json.value: return json.value.integer(self.n)

union colour:
    red
    mixed(parts: vector<order>)

`

// Members that no text declares are explained as those that one does.
func TestHoverImplied(t *testing.T) {
	text, places := marked(orders + `read: (v: json.value) order!: return order.$1from_json(v)
write: (o: order, k: own, all: vector<order>) void:
    a: json.value = o.$2to_json()
    b: order = o.$3copy()
    c: json.value = k.$4to_json()
    d: json.value = all.$5to_json()
`)
	c := open(t)
	c.didOpen(hello, text)
	if all := c.diagnostics(hello, 1); len(all) > 0 {
		t.Errorf("the program has the errors\n%s", short(all))
	}
	for marker, want := range map[string][]string{
		"$1": {"order.from_json: (v: json.value) order!", "derives it"},
		"$2": {"order.to_json: (self) json.value", "derives it"},
		"$3": {"order.copy: (self) order", "A copy of the value"},
		"$4": {"own.to_json: (self) json.value", "As a number."},
		"$5": {"vector<order>.to_json: (self) json.value", "derives it"},
	} {
		var h hover
		c.must("textDocument/hover", at(hello, places[marker]), &h)
		for _, w := range want {
			if !strings.Contains(h.Contents.Value, w) {
				t.Errorf("%s: got\n%s\nwant\n%s", marker, h.Contents.Value, w)
			}
		}
	}
}

func TestCompletionImplied(t *testing.T) {
	const json, copied = "to_json (self) json.value", "copy (self) "
	without := strings.Replace(orders[:strings.Index(orders, "type own")], "import util.json\n", "",
		1)
	for _, c := range []struct {
		name, text    string
		want, without []string // label and detail
	}{
		{"value", orders + "f: (o: order) void:\n    o.$1\n", []string{json, copied + "order"},
			[]string{"from_json"}},
		{"type", orders + "f: () void:\n    order.$1\n",
			[]string{"from_json (v: json.value) order!"}, []string{"to_json", "copy"}},
		{"own", orders + "f: (o: own) void:\n    o.$1\n", []string{json}, nil},
		{"no function of its own", orders + "f: () void:\n    own.$1\n",
			[]string{"from_json (v: json.value) own!"}, nil},
		{"union", orders + "f: (o: colour@) void:\n    o.$1\n", []string{json}, nil},
		{"union type", orders + "f: () void:\n    x: colour = colour.$1\n",
			[]string{"from_json (v: json.value) colour!", "red red"}, nil},
		{"container", orders + "f: (o: map<string, order>) void:\n    o.$1\n", []string{json}, nil},
		{"text", orders + "f: (s: string) void:\n    s.$1\n", []string{json}, nil},
		{"handle inside", orders + "f: (o: secret) void:\n    o.$1\n", []string{copied + "secret"},
			[]string{"to_json"}},
		{"handle deep inside", orders + "f: (o: vault) void:\n    o.$1\n",
			[]string{copied + "vault"}, []string{"to_json"}},
		{"type with a handle", orders + "f: () void:\n    secret.$1\n", nil,
			[]string{"from_json"}},
		{"no import", without + "f: (o: order) void:\n    o.$1\n", []string{copied + "order"},
			[]string{"to_json"}},
		{"no import, type", without + "f: () void:\n    order.$1\n", nil, []string{"from_json"}},
		{"open type", orders + "f: <type T> (o: T) void:\n    o.$1\n", nil, []string{"to_json"}},
		{"field", "type p:\n    copy: int\nf: (o: p) void:\n    o.$1\n", []string{"copy int"},
			nil},
		{"begun", orders + "f: (o: order) void:\n    o.to$1\n", []string{json},
			[]string{"copy"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got, labels []string
			for _, i := range completed(t, c.text) {
				got = append(got, i.Label+" "+i.Detail)
				if slices.Contains(labels, i.Label) {
					t.Errorf("%q is there twice", i.Label)
				}
				labels = append(labels, i.Label)
			}
			for _, w := range c.want {
				if !slices.Contains(got, w) {
					t.Errorf("no %q in %q", w, got)
				}
			}
			for _, w := range c.without {
				if slices.Contains(labels, w) {
					t.Errorf("%q in %q", w, labels)
				}
			}
		})
	}
}

func TestSignatureImplied(t *testing.T) {
	for call, want := range map[string]string{
		"order.from_json($1":     "order.from_json: (v: json.value) order!",
		"order.from_json($1)":    "order.from_json: (v: json.value) order!",
		"order.from_json(v$1)":   "order.from_json: (v: json.value) order!",
		"o.to_json($1":           "order.to_json: () json.value",
		"o.to_json($1)":          "order.to_json: () json.value",
		"o.copy($1":              "order.copy: () order",
		"own(1).to_json($1":      "own.to_json: () json.value",
		"colour.from_json(v, $1": "colour.from_json: (v: json.value) colour!",
	} {
		cl := open(t)
		text, places := marked(orders + "f: (v: json.value, o: order) void:\n    x = " + call +
			"\n")
		cl.didOpen(hello, text)
		var help signatureHelp
		cl.must("textDocument/signatureHelp", at(hello, places["$1"]), &help)
		if len(help.Signatures) != 1 || help.Signatures[0].Label != want {
			t.Errorf("%s: got %+v, want %s", call, help, want)
		}
	}
}
