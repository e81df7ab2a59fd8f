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
	if t.path == "" {
		t.d.fail(0, "%s is missing: expected %s", key, like)
		return
	}
	t.d.fail(t.line(), "%s: %s is missing: expected %s", t.title(), key, like)
}

// longestText bounds a text in bytes; our longest transfer note has some 500. Messages quote texts.
const longestText = 4000

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
	s = strings.Join(strings.Fields(s), " ")
	switch {
	case s == "":
		t.fail(key, "is empty")
	case len(s) > longestText:
		t.fail(key, "is longer than %d bytes", longestText)
		return ""
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

// finish reports the keys that were never read.
func (t *table) finish() {
	for _, key := range slices.Sorted(maps.Keys(t.values)) {
		if !slices.Contains(t.known, key) {
			t.d.fail(t.at(key), "unknown key %s in %s: %s", show(key), t.title(),
				suggest(key, t.known))
		}
	}
}
