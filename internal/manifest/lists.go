package manifest

import (
	"slices"
	"strings"
)

// longest bounds every list of a manifest; ours have some twenty entries. With the bound, code that
// compares entries with each other stays quick on a file that another program has written.
const longest = 1000

// list reads an array. what says what it should hold.
func (t *table) list(key, what string) []any {
	v, ok := t.get(key)
	if !ok {
		return nil
	}
	list, ok := v.([]any)
	switch {
	case !ok:
		t.fail(key, "expected %s, got %s", what, show(v))
	case len(list) > longest:
		t.fail(key, "has %d entries, more than %d", len(list), longest)
		return nil
	}
	return list
}

// empty tells an array that is there and holds nothing.
func (t *table) empty(key string) bool {
	list, ok := t.values[key].([]any)
	return ok && len(list) == 0
}

// texts reads an array of strings. With single, a lone string will do. It returns nothing if any of
// them is wrong, so that the places of the others stay true.
func (t *table) texts(key string, single bool) []string {
	if _, lone := t.values[key].(string); lone && single {
		return slices.DeleteFunc([]string{t.prose(key)}, func(s string) bool { return s == "" })
	}
	list := t.list(key, `an array of strings such as ["a", "b"]`)
	out := make([]string, 0, len(list))
	for i, e := range list {
		s, ok := e.(string)
		if !ok || strings.TrimSpace(s) == "" || len(s) > longestText {
			t.d.fail(t.atItem(key, i), "%s: expected text in quotes, got %s", key, show(e))
			continue
		}
		out = append(out, s)
	}
	if len(out) < len(list) {
		return nil
	}
	return out
}

// distinct is texts without repetition.
func (t *table) distinct(key string) []string {
	list := t.texts(key, false)
	for i, s := range list {
		if slices.Contains(list[:i], s) {
			t.d.fail(t.atItem(key, i), "%s: %q is there twice", key, s)
		}
	}
	return list
}

// words reads an array of words of a fixed list.
func (t *table) words(key string, known []string) []string {
	list := t.distinct(key)
	for i, s := range list {
		if !slices.Contains(known, s) {
			t.d.fail(t.atItem(key, i), "%s: %q is not known: %s", key, s, suggest(s, known))
		}
	}
	return list
}

// quantities reads an array of numbers with units.
func (t *table) quantities(key string, q quantity, least, most float64) []float64 {
	var out []float64
	for i, e := range t.list(key, "an array such as ["+q.like+"]") {
		n, err := q.parse(e)
		if err == nil {
			err = q.within(n, least, most)
		}
		if err == nil && slices.Contains(out, n) {
			t.d.fail(t.atItem(key, i), "%s: %s is there twice", key, show(e))
			continue
		}
		if err != nil {
			t.d.fail(t.atItem(key, i), "%s: %w", key, err)
			continue
		}
		out = append(out, n)
	}
	return out
}

// tables reads an array of tables.
func (t *table) tables(key string) []*table {
	var out []*table
	for i, e := range t.list(key, "tables [["+join(t.path, key)+"]]") {
		m, ok := e.(map[string]any)
		if !ok {
			t.d.fail(t.atItem(key, i), "%s: expected tables [[%s]], got %s", key, join(t.path, key),
				show(e))
			continue
		}
		out = append(out, &table{d: t.d, path: element(join(t.path, key), i), values: m})
	}
	return out
}

// pairs reads [[x, y], ...] with rising x.
func (t *table) pairs(key string) [][2]float64 {
	const like = "pairs such as [[1, 0.5], [2, 0.7]]"
	if !t.has(key) || t.empty(key) {
		t.get(key)
		t.missing(key, like)
	}
	var out [][2]float64
	for i, e := range t.list(key, like) {
		pair, _ := e.([]any)
		var xy [2]float64
		good := len(pair) == 2
		for j := range min(2, len(pair)) {
			n, ok := asNumber(pair[j])
			good = good && ok
			xy[j] = n
		}
		switch {
		case !good:
			t.d.fail(t.atItem(key, i), "%s: expected a pair of numbers such as [1, 0.5], got %s",
				key, show(e))
		case len(out) > 0 && out[len(out)-1][0] >= xy[0]:
			t.d.fail(t.atItem(key, i), "%s: %v does not rise over the value before it", key, xy[0])
		default:
			out = append(out, xy)
		}
	}
	return out
}
