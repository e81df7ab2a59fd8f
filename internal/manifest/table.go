package manifest

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// A table is one table of a document. Each read notes the key as known; what is never asked for is
// an unknown key, so the code that reads a file is also the list of what may stand in it.
type table struct {
	d      *document
	path   string
	values map[string]any
	known  []string
}

// line is where the table starts; 0 for the top of the document.
func (t *table) line() int { return t.d.lines[t.path] }

// at is the line of a key, or of the table where the key is absent.
func (t *table) at(key string) int {
	if line, ok := t.d.lines[join(t.path, key)]; ok {
		return line
	}
	return t.line()
}

// atItem is the line of an element of an array.
func (t *table) atItem(key string, i int) int {
	if line, ok := t.d.lines[element(join(t.path, key), i)]; ok {
		return line
	}
	return t.at(key)
}

// title is how messages name the table.
func (t *table) title() string {
	if t.path == "" {
		return "the file"
	}
	if at := strings.LastIndexByte(t.path, '['); at > 0 && strings.HasSuffix(t.path, "]") {
		return "[[" + t.path[:at] + "]]"
	}
	return "[" + t.path + "]"
}

func (t *table) fail(key, format string, args ...any) {
	t.d.fail(t.at(key), key+": "+format, args...)
}

func (t *table) has(key string) bool {
	_, ok := t.values[key]
	return ok
}

// get returns a value and notes its key as known.
func (t *table) get(key string) (any, bool) {
	if !slices.Contains(t.known, key) {
		t.known = append(t.known, key)
	}
	v, ok := t.values[key]
	return v, ok
}

// missing says that a key must be there.
func (t *table) missing(key, like string) {
	t.d.fail(t.line(), "%s: %s is missing: expected %s", t.title(), key, like)
}

// prose reads text for people; line breaks in it are only layout.
func (t *table) prose(key string) string {
	v, ok := t.get(key)
	if !ok {
		return ""
	}
	s, ok := v.(string)
	if !ok {
		t.fail(key, "expected text in quotes, got %s", show(v))
		return ""
	}
	if s = strings.Join(strings.Fields(s), " "); s == "" {
		t.fail(key, "is empty")
	}
	return s
}

// need is prose that must be there.
func (t *table) need(key, what string) string {
	if !t.has(key) {
		t.get(key)
		t.missing(key, what)
		return ""
	}
	return t.prose(key)
}

// word reads one of a fixed list. It returns an empty string for an absent or unknown word.
func (t *table) word(key string, known []string) string {
	s := t.prose(key)
	if s == "" || slices.Contains(known, s) {
		return s
	}
	t.fail(key, "%q is not known: %s", s, suggest(s, known))
	return ""
}

func (t *table) needWord(key string, known []string) string {
	if !t.has(key) {
		t.get(key)
		t.missing(key, "one of "+strings.Join(known, ", "))
		return ""
	}
	return t.word(key, known)
}

// texts reads an array of strings. With single, a lone string will do.
func (t *table) texts(key string, single bool) []string {
	v, ok := t.get(key)
	if !ok {
		return nil
	}
	if s, ok := v.(string); ok && single {
		v = []any{s}
	}
	list, ok := v.([]any)
	if !ok {
		t.fail(key, `expected an array of strings such as ["a", "b"], got %s`, show(v))
		return nil
	}
	out := make([]string, 0, len(list))
	for i, e := range list {
		s, ok := e.(string)
		if !ok || strings.TrimSpace(s) == "" {
			t.d.fail(t.atItem(key, i), "%s: expected text in quotes, got %s", key, show(e))
			continue
		}
		out = append(out, s)
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

// integer reads a whole number within bounds.
func (t *table) integer(key string, least, most int64) int64 {
	v, ok := t.get(key)
	if !ok {
		return 0
	}
	n, ok := v.(int64)
	if !ok || n < least || n > most {
		t.fail(key, "expected a whole number from %d to %d, got %s", least, most, show(v))
		return 0
	}
	return n
}

// number reads any finite number.
func (t *table) number(key string) float64 {
	v, ok := t.get(key)
	if !ok {
		return 0
	}
	n, ok := asNumber(v)
	if !ok {
		t.fail(key, "expected a number, got %s", show(v))
	}
	return n
}

func asNumber(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	}
	return 0, false
}

// flag reads true or false.
func (t *table) flag(key string) bool {
	v, ok := t.get(key)
	b, isBool := v.(bool)
	if ok && !isBool {
		t.fail(key, "expected true or false, got %s", show(v))
	}
	return b
}

// quantity reads a number with a unit, within bounds in the first unit.
func (t *table) quantity(key string, q quantity, least, most float64) float64 {
	v, ok := t.get(key)
	if !ok {
		return 0
	}
	n, err := q.parse(v)
	if err == nil {
		err = q.within(n, least, most)
	}
	if err != nil {
		t.fail(key, "%w", err)
		return 0
	}
	return n
}

// quantities reads an array of numbers with units.
func (t *table) quantities(key string, q quantity, least, most float64) []float64 {
	v, ok := t.get(key)
	if !ok {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		t.fail(key, "expected an array such as [%s], got %s", q.like, show(v))
		return nil
	}
	var out []float64
	for i, e := range list {
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

// duration reads a time of at least least; absent gives def.
func (t *table) duration(key string, least, def time.Duration) time.Duration {
	v, ok := t.get(key)
	if !ok {
		return def
	}
	d, err := duration(v)
	if err != nil {
		t.fail(key, "%w", err)
		return def
	}
	// A day bounds any cell; it also keeps sums of durations from overflowing.
	const longest = 24 * time.Hour
	if d < least || d > longest {
		t.fail(key, "expected a duration from %v to %v, got %v", least, longest, d)
		return def
	}
	return d
}

// table reads a table; nil if it is absent or no table.
func (t *table) table(key string) *table {
	v, ok := t.get(key)
	if !ok {
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		t.fail(key, "expected a table [%s], got %s", join(t.path, key), show(v))
		return nil
	}
	return &table{d: t.d, path: join(t.path, key), values: m}
}

// tables reads an array of tables.
func (t *table) tables(key string) []*table {
	v, ok := t.get(key)
	if !ok {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		t.fail(key, "expected tables [[%s]], got %s", join(t.path, key), show(v))
		return nil
	}
	var out []*table
	for i, e := range list {
		m, ok := e.(map[string]any)
		if !ok {
			t.d.fail(t.atItem(key, i), "%s: expected tables [[%s]], got %s", key, join(t.path, key), show(e))
			continue
		}
		out = append(out, &table{d: t.d, path: element(join(t.path, key), i), values: m})
	}
	return out
}

// finish reports the keys that nobody asked for.
func (t *table) finish() {
	for _, key := range slices.Sorted(maps.Keys(t.values)) {
		if !slices.Contains(t.known, key) {
			t.d.fail(t.at(key), "unknown key %q in %s: %s", key, t.title(), suggest(key, t.known))
		}
	}
}
