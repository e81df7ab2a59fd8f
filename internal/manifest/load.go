package manifest

import (
	"slices"
	"time"
)

// Shape is a way to offer load. Each is declared in the file of the family that it was made for.
type Shape string

// Load is what a point offers to the server. It is written to records as it is.
type Load struct {
	Shape       Shape `json:"shape"`
	Connections int   `json:"connections"`
	// for each connection; 0 = as many as the window takes
	Requests  int64 `json:"requests,omitempty"`
	SizeBytes int   `json:"size_bytes"` // of one message
	// requests in flight on a connection, closed and fanout shapes; 1 unless told
	Pipeline int `json:"pipeline"`
	// requests a second over all connections, open shape; connections that are opened in a
	// second, stream shape
	Rate float64 `json:"rate,omitempty"`
	Gaps string  `json:"gaps,omitempty"` // "constant" or "exponential", open shape
	// bits a second for each connection, paced shape
	Bits      float64 `json:"bits,omitempty"`
	ReadShare float64 `json:"read_share,omitempty"` // 0 .. 1, counter
	// Interval is between two pings of a pinger, ping shape (0 = the next is sent when the last has
	// been answered), or of a client, idle shape.
	Interval time.Duration `json:"interval_ns,omitempty"`
	// "in" to the server or "out" of it, bulk shape
	Direction string `json:"direction,omitempty"`
	Output    string `json:"output,omitempty"` // of a sink: OutputFile; "" = thrown away
	// clients that share a room, chat; AllMembers = all
	Members int `json:"members,omitempty"`
	Senders int `json:"senders,omitempty"` // of them, those that send, chat; 0 = all
	// what is fetched after an upload, image services
	Ask   string `json:"ask,omitempty"`
	Reads int    `json:"reads,omitempty"` // how often, image services; 0 = once
	// servers of which each asks the next, image services; 0 = one
	Chain   int    `json:"chain,omitempty"`
	Kernel  string `json:"kernel,omitempty"`  // what is solved, solve shape: "fib"
	Problem int64  `json:"problem,omitempty"` // how big it is, solve shape: 32
	Workers int    `json:"workers,omitempty"` // threads that may work at it, solve shape
	Answer  string `json:"answer,omitempty"`  // what must come out, solve shape
}

// Family returns the family that a load belongs to.
func (l Load) Family() *Family {
	for _, f := range families {
		if f.owns != nil && f.owns(l) {
			return f
		}
	}
	return &requestsFamily
}

// Timed tells the loads whose requests are due at times fixed before the start, whatever the server
// does: only of these a latency can be told.
func (l Load) Timed() bool {
	for _, f := range families {
		for _, row := range f.shapes {
			if row.shape == l.Shape && row.timed != nil {
				return row.timed(l)
			}
		}
	}
	return false
}

// always is for shapes whose loads are all timed.
func always(Load) bool { return true }

// become changes a load's shape and drops what has no meaning in the new one.
func (l *Load) become(s Shape) {
	l.Shape = s
	keeps := keysOf(s)
	for _, f := range families {
		for _, k := range f.keys {
			if !slices.Contains(keeps, k.name) {
				k.clear(l)
			}
		}
	}
	for _, f := range families {
		for _, row := range f.shapes {
			if row.shape == s && row.enter != nil {
				row.enter(l)
			}
		}
	}
}

// Lines are the lines of a table [load] that describes the load.
func (l Load) Lines() []string {
	lines := []string{line("shape", quoted(string(l.Shape)))}
	keys := keysOf(l.Shape)
	for _, f := range families {
		for _, k := range f.keys {
			if text := k.text(l); text != "" && slices.Contains(keys, k.name) {
				lines = append(lines, line(k.name, text))
			}
		}
	}
	return lines
}
