package interp

import (
	"math"
	"strings"

	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/types"
)

// called is one call of a native function.
type called struct {
	in   *interp
	f    *frame
	at   source.Span
	fn   *ir.Func
	t    *types.Type // of the result
	args []value

	waiting *pending // the continuation, of an async native
}

// self is the place of the receiver.
func (c *called) self() place      { return c.args[0].(place) }
func (c *called) list() *list      { return (*c.self()).(*list) }
func (c *called) table() *table    { return (*c.self()).(*table) }
func (c *called) elems() []value   { return elemsOf(*c.self()) }
func (c *called) text() string     { return (*c.self()).(string) }
func (c *called) socket() *socket  { return (*c.self()).(*socket) }
func (c *called) int(i int) int64  { return c.args[i].(int64) }
func (c *called) str(i int) string { return c.args[i].(string) }

// free fails if the container is being iterated: a change through another name would disturb the
// loop.
func (c *called) free() {
	unfrozen(*c.self(), c.fn.Params[0].Type.Deref(), c.at)
}

// at checks an index of self.
func (c *called) index(i int64, n int) int {
	if i < 0 || i >= int64(n) {
		fail(c.at, "index %d is out of range: %s", i, thereAre(n))
	}
	return int(i)
}

// natives are the functions of std without a body, by their Native name.
var natives = map[string]func(*called) value{}

// asyncs are the natives that are called by <-. They pass their value to answer.
var asyncs = map[string]func(c *called, answer func(value)){}

func register(group map[string]func(*called) value) {
	for name, f := range group {
		natives[name] = f
	}
}

func init() {
	asyncs["sleep"] = func(c *called,
		answer func(value)) {
		c.in.after(c.int(0), func() { answer(nil) })
	}
	asyncs["testing.until_rest"] = func(c *called, answer func(value)) {
		c.in.after(c.int(0), func() { answer(nil) }).last = true
	}
	natives["testing.faked"] = func(c *called) value { return c.in.faked }
	natives["opening.begin"] = func(c *called) value {
		return c.in.object(&opening{}, c.t.Elem)
	}
	natives["opening.cancel"] = func(c *called) value {
		(*c.self()).(*opening).cancelled = true
		return nil
	}
	asyncs["unwanted"] = func(c *called, answer func(value)) { c.unwanted(answer) }
	asyncs["tcp_socket.connect"] = func(c *called, answer func(value)) {
		c.connect(answer)
	}
	asyncs["tcp_socket.addresses"] = func(c *called, answer func(value)) {
		c.addresses(answer)
	}
	register(map[string]func(*called) value{
		"emitter.off": func(c *called) value {
			if o := c.in.emitterOf(c.self()); o != nil {
				c.in.off(o)
			}
			return nil
		},
		"error.code": func(c *called) value { return (*c.self()).(*fault).code },
		"error.text": func(c *called) value { return (*c.self()).(*fault).text },
		"error.cause": func(c *called) value {
			if cause := (*c.self()).(*fault).cause; cause != nil {
				return some(cause)
			}
			return none()
		},
		"make_error": func(c *called) value { return &fault{code: c.int(0), text: c.str(1)} },
		"min": func(c *called) value {
			if compare(c.args[1], c.args[0], c.t) < 0 {
				return c.args[1]
			}
			return c.args[0]
		},
		"max": func(c *called) value {
			if compare(c.args[0], c.args[1], c.t) < 0 {
				return c.args[1]
			}
			return c.args[0]
		},
		"abs": func(c *called) value {
			if x, is := c.args[0].(float64); is {
				return math.Abs(x)
			}
			if x := c.int(0); x < 0 && !c.t.IsUnsigned() {
				return c.f.arithmetic(&ir.Zero{Place: ir.Place{T: c.t, Span: c.at}}, "-", 0, x)
			}
			return c.args[0]
		},
		"same": func(c *called) value { return c.args[0] == c.args[1] },
		"join": func(c *called) value {
			var parts []string
			for _, e := range elemsOf(c.args[0]) {
				parts = append(parts, e.(string))
			}
			return strings.Join(parts, c.str(1))
		},
		"cancelled": func(c *called) value {
			for s := c.in.scope; s != nil; s = s.outer {
				if s.failure != nil {
					return true
				}
			}
			return false
		},
		"clock": func(c *called) value { return int64(c.in.now) },
		"now":   func(c *called) value { return c.in.instant() },
		"duration.seconds": func(c *called) value {
			return float64((*c.self()).(int64)) / 1e9
		},
		"duration.milliseconds": func(c *called) value { return (*c.self()).(int64) / 1e6 },
		"duration.nanoseconds":  func(c *called) value { return (*c.self()).(int64) },
		"print":                 func(c *called) value { c.in.print(c.str(0)); return nil },
		"output.write":          func(c *called) value { c.put([]byte(c.str(1))); return nil },
		"output.write_buffer":   func(c *called) value { c.put(raw(c.args[1])); return nil },
		"output.flush":          func(*called) value { return nil },
		"input.close_input": func(c *called) value {
			(*c.self()).(*input).end(c.in)
			return nil
		},
		"timer.every": func(c *called) value {
			return c.in.timer(c.t.Elem, c.int(0), true)
		},
		"timer.after": func(c *called) value {
			return c.in.timer(c.t.Elem, c.int(0), false)
		},
		"timer.stop":   func(c *called) value { c.stop(); return nil },
		"process.args": func(c *called) value { return stringsOf(c.in.options.Args) },
		"process.env": func(c *called) value {
			if c.in.options.Env != nil {
				if v, there := c.in.options.Env(c.str(0)); there {
					return some(v)
				}
			}
			return none()
		},
		"process.shutdown": func(c *called) value { c.in.shutdown(c.int(0)); return nil },
		"process.exit":     func(c *called) value { c.in.exit(int(c.int(0))); return nil },
		"process.workers":  func(*called) value { return int64(1) },
	})
	for name, f := range map[string]func(float64) float64{"sqrt": math.Sqrt, "floor": math.Floor,
		"ceil": math.Ceil,
		"sin":  math.Sin, "cos": math.Cos, "exp": math.Exp, "log": math.Log} {
		natives["math."+name] = func(c *called) value { return f(c.args[0].(float64)) }
	}
	natives["math.pow"] = func(c *called) value {
		return math.Pow(c.args[0].(float64), c.args[1].(float64))
	}
	registerSockets()
	registerCalendar()
	registerRandom()
	registerFiles()
	registerCommands()
	registerChildren()
	registerDatagrams()
	registerCompiledOnly()
}

// as the program's own print would fail
func (in *interp) print(text string) { _, _ = in.options.Stdout.Write([]byte(text)) }

// put writes to the stream that self is.
func (c *called) put(b []byte) {
	if s, is := (*c.self()).(*stream); is {
		_, _ = s.w.Write(b)
	}
}

// raw are the bytes of a bytes value.
func raw(v value) []byte {
	elems := elemsOf(v)
	b := make([]byte, len(elems))
	for i, e := range elems {
		b[i] = byte(e.(int64))
	}
	return b
}

func stringsOf(all []string) *list {
	l := &list{}
	for _, s := range all {
		l.elems = append(l.elems, s)
	}
	return l
}

// stop ends a timer and drops its handlers.
func (c *called) stop() {
	t := (*c.self()).(*timer)
	t.stop()
	c.in.off(t.object)
}

func registerSockets() {
	register(map[string]func(*called) value{
		"connection.call": func(c *called) value {
			j := (*c.self()).(*joining)
			if !j.taken {
				j.taken = true
				j.client.adopt(c.in)
			}
			return j.client.object
		},
		"connection.address": func(c *called) value {
			return (*c.self()).(*joining).client.address
		},
		"socket.read_buffer": func(c *called) value {
			return bytesOf(string(c.socket().read(c.in)))
		},
		"socket.write_buffer": func(c *called) value {
			c.socket().write(c.in, raw(c.args[1]))
			return nil
		},
		"socket.write": func(c *called) value {
			c.socket().write(c.in, []byte(c.str(1)))
			return nil
		},
		"socket.close":       func(c *called) value { c.socket().close(c.in); return nil },
		"socket.abort":       func(c *called) value { c.socket().abort(c.in, nil); return nil },
		"socket.close_write": func(c *called) value { c.socket().closeWrite(c.in); return nil },
		"socket.pause":       func(c *called) value { c.socket().paused = true; return nil },
		"socket.resume":      func(c *called) value { c.socket().resume(c.in); return nil },
		"socket.full_duplex": func(c *called) value {
			c.socket().fullDuplex(c.in)
			return nil
		},
		"socket.limit": func(c *called) value {
			c.socket().limit = max(0, c.int(1))
			return nil
		},
		"socket.every":   func(c *called) value { c.socket().wind(c.in, c.int(1)); return nil },
		"socket.pending": func(c *called) value { return int64(len(c.socket().out)) },
		"socket.address": func(c *called) value {
			if s := c.socket(); !s.retired {
				return s.address
			}
			return ""
		},
		"socket.protocol":   func(*called) value { return "" },
		"tcp_socket.listen": (*called).listen,
		"tcp_socket.close": func(c *called) value {
			(*c.self()).(*listener).close(c.in)
			return nil
		},
	})
}
