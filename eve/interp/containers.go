package interp

import (
	"encoding/hex"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"interleave/eve/types"
)

func init() {
	registerSequence("vector")
	registerSequence("array", "empty", "reverse", "first", "last", "partition")
	registerSequence("slice", "first", "last")
	register(map[string]func(*called) value{
		"vector.push": func(c *called) value {
			c.free()
			l := c.list()
			l.elems = append(l.elems, c.args[1])
			return nil
		},
		"vector.pop": func(c *called) value {
			c.free()
			l := c.list()
			if len(l.elems) == 0 {
				return none()
			}
			last := l.elems[len(l.elems)-1]
			l.elems = l.elems[:len(l.elems)-1]
			return some(last)
		},
		"vector.insert": func(c *called) value {
			c.free()
			l := c.list()
			i := c.int(1)
			if i != int64(len(l.elems)) {
				c.index(i, len(l.elems))
			}
			l.elems = slices.Insert(l.elems, int(i), c.args[2])
			return nil
		},
		"vector.remove": func(c *called) value {
			c.free()
			l := c.list()
			i := c.index(c.int(1), len(l.elems))
			v := l.elems[i]
			l.elems = slices.Delete(l.elems, i, i+1)
			return v
		},
		"vector.append": func(c *called) value {
			c.free()
			l := c.list()
			l.elems = append(l.elems, copied(&list{elems: elemsOf(c.args[1])}).(*list).elems...)
			return nil
		},
		"vector.clear":   func(c *called) value { c.free(); c.list().elems = nil; return nil },
		"vector.reserve": func(*called) value { return nil },
		"vector.resize": func(c *called) value {
			c.free()
			l, n := c.list(), c.int(1)
			if n < 0 {
				fail(c.at, "a vector cannot have %d elements", n)
			}
			for int64(len(l.elems)) < n {
				l.elems = append(l.elems, c.in.zero(c.elem()))
			}
			l.elems = l.elems[:n]
			return nil
		},
		"slice.copy_from": func(c *called) value {
			from := elemsOf(c.args[1])
			to := c.elems()
			if len(from) != len(to) {
				fail(c.at, "the slices differ: %d and %d elements", len(to), len(from))
			}
			copy(to, copied(&list{elems: from}).(*list).elems)
			return nil
		},
		"slice.to_vector": func(c *called) value { return copied(&list{elems: c.elems()}) },
		"bytes.text":      func(c *called) value { return textOf(c.elems()) },
		"bytes.hex":       func(c *called) value { return hex.EncodeToString(raw(*c.self())) },
		"bytes.append_uint": func(c *called) value {
			c.free()
			x, size := c.int(1), c.int(2)
			checkSize(c, size)
			for i := size - 1; i >= 0; i-- {
				c.list().elems = append(c.list().elems, int64(byte(x>>(8*i))))
			}
			return nil
		},
		"bytes.uint_at": func(c *called) value {
			size := c.int(2)
			checkSize(c, size)
			at := c.index(c.int(1), len(c.elems()))
			c.index(c.int(1)+size-1, len(c.elems()))
			x := int64(0)
			for _, b := range c.elems()[at : at+int(size)] {
				x = x<<8 | b.(int64)
			}
			return x
		},
		"bytes.append_text": func(c *called) value {
			c.free()
			l := c.list()
			l.elems = append(l.elems, bytesOf(c.str(1)).elems...)
			return nil
		},
	})
	registerTables()
	registerStrings()
}

// checkSize fails if an integer cannot have this many bytes.
func checkSize(c *called, size int64) {
	if size < 1 || size > 8 {
		fail(c.at, "an integer has 1 to 8 bytes, not %d", size)
	}
}

// elem is the type of self's elements.
func (c *called) elem() *types.Type {
	t := c.fn.Params[0].Type.Deref()
	return t.Elem
}

// registerSequence makes the methods that vectors, arrays and slices share, except those that a
// kind does not have.
func registerSequence(kind string, without ...string) {
	register(sequence(kind))
	for _, name := range without {
		delete(natives, kind+"."+name)
	}
}

func sequence(kind string) map[string]func(*called) value {
	return map[string]func(*called) value{
		kind + ".size":  func(c *called) value { return int64(len(c.elems())) },
		kind + ".empty": func(c *called) value { return len(c.elems()) == 0 },
		kind + ".fill": func(c *called) value {
			e := c.elems()
			for i := range e {
				e[i] = copied(c.args[1])
			}
			return nil
		},
		kind + ".swap": func(c *called) value {
			e := c.elems()
			i, j := c.index(c.int(1), len(e)), c.index(c.int(2), len(e))
			e[i], e[j] = e[j], e[i]
			return nil
		},
		kind + ".reverse": func(c *called) value { slices.Reverse(c.elems()); return nil },
		kind + ".first":   func(c *called) value { return c.end(0) },
		kind + ".last":    func(c *called) value { return c.end(len(c.elems()) - 1) },
		kind + ".contains": func(c *called) value {
			return c.find() >= 0
		},
		kind + ".index_of": func(c *called) value {
			if i := c.find(); i >= 0 {
				return some(int64(i))
			}
			return none()
		},
		kind + ".sort": func(c *called) value {
			c.sort()
			return nil
		},
		kind + ".split": func(c *called) value {
			at, size := c.int(1), len(c.elems())
			if at < 0 || at > int64(size) {
				fail(c.at, "0..%d is out of range: %s", at, thereAre(size))
			}
			return c.halves(int(at))
		},
		kind + ".partition": func(c *called) value {
			c.sort()
			n := len(c.elems())
			if n > 1 {
				n = 1 + c.in.random.IntN(n-1) // a program must not depend on the place of the cut
			}
			return c.halves(n)
		},
	}
}

// sort sorts self's elements. Floats have a total order: NaN comes after all numbers, or before
// them if its sign is set, and -0 before 0.
func (c *called) sort() {
	e, t := c.elems(), c.elem()
	sort.SliceStable(e, func(i, j int) bool {
		if x, is := e[i].(float64); is {
			return rank(x) < rank(e[j].(float64))
		}
		return compare(e[i], e[j], t) < 0
	})
}

// rank is an integer that orders floats.
func rank(x float64) int64 {
	bits := int64(math.Float64bits(x))
	if bits < 0 {
		return bits ^ math.MaxInt64
	}
	return bits
}

func (c *called) end(i int) value {
	if e := c.elems(); i >= 0 && i < len(e) {
		return some(copied(e[i]))
	}
	return none()
}

func (c *called) find() int {
	return slices.IndexFunc(c.elems(), func(e value) bool { return equal(e, c.args[1]) })
}

// halves are two views of self without a common element.
func (c *called) halves(at int) value {
	v, is := (*c.self()).(*view)
	if !is {
		l := c.list()
		v = &view{l, 0, len(l.elems)}
	}
	return &record{0, []value{&view{v.of, v.start, v.start + at}, &view{v.of, v.start + at, v.end}}}
}

func registerTables() {
	for _, kind := range []string{"map", "set"} {
		register(map[string]func(*called) value{
			kind + ".size":  func(c *called) value { return int64(len(c.table().keys)) },
			kind + ".empty": func(c *called) value { return len(c.table().keys) == 0 },
			kind + ".has":   func(c *called) value { return c.table().find(c.args[1]) != nil },
			kind +
				".remove": func(c *called) value { c.free(); return c.table().remove(c.args[1]) },
			kind + ".clear": func(c *called) value { c.free(); c.table().clear(); return nil },
		})
	}
	register(map[string]func(*called) value{
		"set.insert": func(c *called) value {
			c.free()
			return c.table().put(c.args[1], nil)
		},
		"map.get": func(c *called) value {
			if p := c.table().find(c.args[1]); p != nil {
				return some(copied(*p))
			}
			return none()
		},
		"map.set": func(c *called) value {
			c.free()
			c.table().put(c.args[1], c.args[2])
			return nil
		},
		"map.get_or_add": func(c *called) value {
			c.free()
			t := c.table()
			if t.find(c.args[1]) == nil {
				t.put(c.args[1], c.in.zero(c.t))
			}
			return copied(*t.find(c.args[1]))
		},
		"map.keys":   func(c *called) value { return copied(&list{elems: c.table().keys}) },
		"map.values": func(c *called) value { return copied(&list{elems: c.table().values}) },
	})
}

// mapped shifts the letters from low to high; other bytes stay.
func mapped(s string, low, high byte, by int) string {
	b := []byte(s)
	for i, c := range b {
		if low <= c && c <= high {
			b[i] = byte(int(c) + by)
		}
	}
	return string(b)
}

func registerStrings() {
	register(map[string]func(*called) value{
		"string.size":  func(c *called) value { return int64(len(c.text())) },
		"string.empty": func(c *called) value { return c.text() == "" },
		"string.bytes": func(c *called) value { return bytesOf(c.text()) },
		"string.upper": func(c *called) value { return mapped(c.text(), 'a', 'z', -32) },
		"string.lower": func(c *called) value { return mapped(c.text(), 'A', 'Z', +32) },
		"string.trim": func(c *called) value {
			return strings.Trim(c.text(), " \t\n\r\v\f")
		},
		"string.starts_with": func(c *called) value {
			return strings.HasPrefix(c.text(), c.str(1))
		},
		"string.ends_with": func(c *called) value {
			return strings.HasSuffix(c.text(), c.str(1))
		},
		"string.contains": func(c *called) value { return strings.Contains(c.text(), c.str(1)) },
		"string.find": func(c *called) value {
			if i := strings.Index(c.text(), c.str(1)); i >= 0 {
				return some(int64(i))
			}
			return none()
		},
		"string.replace": func(c *called) value {
			if c.str(1) == "" {
				return c.text()
			}
			return strings.ReplaceAll(c.text(), c.str(1), c.str(2))
		},
		"string.repeat": func(c *called) value {
			if n := c.int(1); n > 0 && len(c.text()) > 0 && n > (1<<30)/int64(len(c.text())) {
				fail(c.at, "a vector cannot have %d elements", n)
			}
			return strings.Repeat(c.text(), int(max(0, c.int(1))))
		},
		"string.split": func(c *called) value {
			if c.str(1) == "" {
				return stringsOf([]string{c.text()})
			}
			return stringsOf(strings.Split(c.text(), c.str(1)))
		},
		"string.to_int": func(c *called) value {
			if n, err := strconv.ParseInt(c.text(), 10, 64); err == nil {
				return some(n)
			}
			return none()
		},
		"string.to_float": func(c *called) value {
			if x, err := strconv.ParseFloat(c.text(), 64); err == nil &&
				!strings.ContainsAny(c.text(), "xX_pP") {
				return some(x)
			}
			return none()
		},
	})
}
