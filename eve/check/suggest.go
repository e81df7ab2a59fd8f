package check

import (
	"slices"
	"sort"

	"interleave/eve/diag"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// suggest suggests the name that was probably meant, if there is a similar one.
func (l *lowerer) suggest(d *diag.Diagnostic, n *syntax.Name, names []string) {
	best := nearest(n.Text, names)
	if best == "" {
		best = translated(n.Text, names)
	}
	if best != "" {
		d.Fix = &diag.Fix{Text: "write " + best, Span: n.Span, New: best}
	}
}

// memberNames lists the fields and methods of a type.
func (l *lowerer) memberNames(t *types.Type) []string {
	var all []string
	if t.Def != nil {
		for _, f := range t.Def.Fields {
			all = append(all, f.Name)
		}
	}
	for _, tn := range l.owners(t) {
		for name := range tn.methods {
			all = append(all, name)
		}
	}
	return append(all, "copy")
}

// staticNames lists the members of a type: the cases of a union.
func staticNames(t *types.Type) []string {
	var all []string
	if t.Def != nil {
		for _, c := range t.Def.Cases {
			all = append(all, c.Name)
		}
	}
	return all
}

// words has in each row Eve's name and the names that other languages give it.
var words = [][]string{
	{"size", "length", "len", "count"},
	{"push", "add", "append", "push_back", "insert"},
	{"insert", "add", "push", "append"},
	{"has", "contains", "includes", "exists"},
	{"contains", "has", "includes"},
	{"remove", "delete", "erase"},
	{"index_of", "find", "search"},
	{"lower", "to_lower", "lowercase"},
	{"upper", "to_upper", "uppercase"},
	{"trim", "strip"},
	{"text", "to_string", "string", "message"},
	{"empty", "is_empty"},
	{"first", "front"},
	{"last", "back"},
	{"to_int", "parse_int", "int"},
	{"write", "send", "print"},
	{"close", "end", "disconnect"},
}

// elsewhere maps names of other languages to Eve's names.
var elsewhere = map[string]string{
	"null": "none", "nil": "none", "None": "none", "nullptr": "none", "NULL": "none",
	"undefined": "none",
	"True":      "true", "TRUE": "true", "False": "false", "FALSE": "false", "this": "self",
	"list": "vector", "List": "vector", "Vec": "vector", "Vector": "vector", "Array": "vector",
	"dict": "map", "Map": "map", "HashMap": "map", "hashmap": "map", "unordered_map": "map",
	"Dictionary": "map",
	"Set":        "set", "HashSet": "set", "unordered_set": "set",
	"str": "string", "String": "string", "boolean": "bool", "Bool": "bool", "Int": "int",
	"integer": "int", "long": "int",
	"double": "float", "Float": "float", "f64": "float", "f32": "float<32>", "byte": "char",
	"i8": "int<8>", "i16": "int<16>", "i32": "int<32>", "i64": "int", "short": "int<16>",
	"u8": "uint<8>", "u16": "uint<16>", "u32": "uint<32>", "u64": "uint", "usize": "int",
	"size_t":  "int",
	"println": "print", "printf": "print", "puts": "print", "echo": "print",
}

// translated returns Eve's name for a name of another language; empty when there is none.
func translated(name string, names []string) string {
	for _, row := range words {
		if slices.Contains(row[1:], name) && slices.Contains(names, row[0]) {
			return row[0]
		}
	}
	return ""
}

// nearest returns the name within a distance of a third of its letters, or of one letter; empty
// when there is none. A name of one letter has no similar names.
func nearest(name string, names []string) string {
	sort.Strings(names)
	best, least := "", max(1, len(name)/3)
	if len(name) <= 1 {
		return ""
	}
	for _, n := range names {
		if d := diag.Distance(name, n); n != name && d <= least && (best == "" ||
			d < diag.Distance(name, best)) {
			best = n
		}
	}
	return best
}
