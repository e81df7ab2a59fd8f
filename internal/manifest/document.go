package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// A document is one TOML file under examination: its values, the line of each, and what is wrong so
// far. All that is wrong is collected, so that a person mends a file in one go.
//
// The trade: values are read through a map and by hand, where decoding into a struct would be
// shorter. But the decoder stops at the first wrong type and forgets the lines, and a message
// without its line is half a message.
type document struct {
	file  string
	lines map[string]int // path of a value -> line
	errs  []*Error
}

// parse reads a TOML document and returns its top table. On a syntax error the table is nil.
func parse(file string, data []byte) (*document, *table) {
	d := &document{file: file, lines: map[string]int{}}
	values := map[string]any{}
	if err := toml.Unmarshal(data, &values); err != nil {
		line := 0
		if de := (*toml.DecodeError)(nil); errors.As(err, &de) {
			line, _ = de.Position()
		}
		d.fail(line, "not TOML: %s", clean(err))
		return d, nil
	}
	d.index(data)
	return d, &table{d: d, values: values}
}

// clean strips the library's own prefix from its message.
func clean(err error) string {
	const prefix = "toml: "
	s := err.Error()
	if len(s) > len(prefix) && s[:len(prefix)] == prefix {
		return s[len(prefix):]
	}
	return s
}

// index notes the line of each key and of each element of an array. It runs on documents that the
// library has accepted, so that tables are known not to contradict each other.
func (d *document) index(data []byte) {
	x := indexer{lines: d.lines, elements: map[string]int{}}
	x.p.Reset(data)
	for x.p.NextExpression() {
		e := x.p.Expression()
		switch e.Kind {
		case unstable.Table:
			x.head = x.walk("", e.Key(), false)
		case unstable.ArrayTable:
			x.head = x.walk("", e.Key(), true)
		case unstable.KeyValue:
			x.keyValue(x.head, e, 0)
		}
	}
}

// An indexer walks a document from its top to its end.
type indexer struct {
	p        unstable.Parser
	lines    map[string]int
	elements map[string]int // path of an array of tables -> how many so far
	head     string         // path of the table that keys belong to
	offset   int            // line counting goes on from here, or a long file would be quadratic
	line     int
}

// walk goes down a dotted key and returns the path it names. With array it opens a new element.
func (x *indexer) walk(path string, key unstable.Iterator, array bool) string {
	line := 0
	for key.Next() {
		path = join(path, string(key.Node().Data))
		line = x.lineOf(key.Node())
		note(x.lines, path, line)
		if array && key.IsLast() {
			x.elements[path]++
		}
		if n := x.elements[path]; n > 0 {
			path = element(path, n-1)
		}
	}
	note(x.lines, path, line)
	return path
}

func (x *indexer) keyValue(head string, e *unstable.Node, depth int) {
	path := x.walk(head, e.Key(), false)
	x.value(path, e.Value(), depth)
}

// deepest bounds how far into nested values lines are noted; ours go to 3.
const deepest = 8

// value notes the lines inside arrays and inline tables.
func (x *indexer) value(path string, v *unstable.Node, depth int) {
	if depth > deepest {
		return
	}
	children := v.Children()
	switch v.Kind {
	case unstable.Array:
		for i := 0; children.Next(); i++ {
			at := element(path, i)
			if n := children.Node(); n.Raw.Length > 0 {
				note(x.lines, at, x.lineOf(n))
			}
			x.value(at, children.Node(), depth+1)
		}
	case unstable.InlineTable:
		for children.Next() {
			x.keyValue(path, children.Node(), depth+1)
		}
	}
}

// lineOf counts the lines up to a node. Nodes come in the order of the file but for a key, which is
// visited before its value and so never steps back.
func (x *indexer) lineOf(n *unstable.Node) int {
	to := int(n.Raw.Offset)
	data := x.p.Data()
	if x.line == 0 || to < x.offset {
		x.offset, x.line = 0, 1
	}
	for ; x.offset < to; x.offset++ {
		if data[x.offset] == '\n' {
			x.line++
		}
	}
	return x.line
}

func note(lines map[string]int, path string, line int) {
	if _, ok := lines[path]; !ok {
		lines[path] = line
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func element(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// mostErrors bounds what is told of one file: more would not be read.
const mostErrors = 100

// fail notes that something is wrong, once.
func (d *document) fail(line int, format string, args ...any) {
	if len(d.errs) == mostErrors {
		return
	}
	e := &Error{File: d.file, Line: line, Err: fmt.Errorf(format, args...)}
	same := func(o *Error) bool { return o.Line == line && o.Err.Error() == e.Err.Error() }
	if !slices.ContainsFunc(d.errs, same) {
		d.errs = append(d.errs, e)
	}
}

// err is all that is wrong, from the top of the file to its end.
func (d *document) err() error {
	slices.SortStableFunc(d.errs, func(a, b *Error) int { return a.Line - b.Line })
	errs := make([]error, len(d.errs))
	for i, e := range d.errs {
		errs[i] = e
	}
	return errors.Join(errs...)
}
