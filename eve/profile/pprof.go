package profile

import (
	"compress/gzip"
	"io"
	"slices"
	"time"
)

// The fields of pprof's messages (github.com/google/pprof/proto/profile.proto).
const (
	profileSampleType, profileSample, profileLocation = 1, 2, 4
	profileFunction, profileStrings                   = 5, 6
	profilePeriodType, profilePeriod                  = 11, 12
	typeType, typeUnit                                = 1, 2
	sampleLocation, sampleValue                       = 1, 2
	locationID, locationLine                          = 1, 4
	lineFunction, lineLine                            = 1, 2
	functionID, functionName, functionFile            = 1, 2, 4
)

// A message is a message of protocol buffers.
type message []byte

func (m *message) varint(x uint64) {
	for ; x >= 0x80; x >>= 7 {
		*m = append(*m, byte(x)|0x80)
	}
	*m = append(*m, byte(x))
}

func (m *message) number(field int, x uint64) {
	m.varint(uint64(field) << 3)
	m.varint(x)
}

func (m *message) bytes(field int, b []byte) {
	m.varint(uint64(field)<<3 | 2)
	m.varint(uint64(len(b)))
	*m = append(*m, b...)
}

// A place is a function with a line, a location of pprof.
type place struct {
	name, file string
	line       int
}

// A pprofMaker collects what samples refer to by number.
type pprofMaker struct {
	p       *Profile
	out     message
	texts   map[string]uint64
	listed  []string
	places  map[place]uint64
	lines   message
	known   map[place]uint64 // functions: places without a line
	methods message
}

// Pprof writes the profile for `go tool pprof`. Each line of a function is a location of its own.
func (p *Profile) Pprof(w io.Writer) error {
	m := &pprofMaker{p: p, texts: map[string]uint64{}, places: map[place]uint64{},
		known: map[place]uint64{}}
	m.text("")
	m.valueType(profileSampleType, "samples", "count")
	m.valueType(profileSampleType, "cpu", "nanoseconds")
	m.samples(p.Root, nil)
	m.out = append(m.out, m.lines...)
	m.out = append(m.out, m.methods...)
	m.valueType(profilePeriodType, "cpu", "nanoseconds")
	m.out.number(profilePeriod, uint64(time.Second)/uint64(p.Rate))
	for _, s := range m.listed {
		m.out.bytes(profileStrings, []byte(s))
	}
	z := gzip.NewWriter(w)
	if _, err := z.Write(m.out); err != nil {
		return err
	}
	return z.Close()
}

func (m *pprofMaker) text(s string) uint64 {
	if at, known := m.texts[s]; known {
		return at
	}
	at := uint64(len(m.listed))
	m.texts[s] = at
	m.listed = append(m.listed, s)
	return at
}

func (m *pprofMaker) valueType(field int, name, unit string) {
	var t message
	t.number(typeType, m.text(name))
	t.number(typeUnit, m.text(unit))
	m.out.bytes(field, t)
}

// samples writes those of the functions that n calls. The locations of a sample begin with the
// innermost.
func (m *pprofMaker) samples(n *Node, above []uint64) {
	for _, c := range n.Calls {
		line := 0
		for l := range c.Lines {
			if line == 0 || c.Lines[l] > c.Lines[line] || c.Lines[l] == c.Lines[line] && l < line {
				line = l
			}
		}
		stack := append(above[:len(above):len(above)], m.location(place{c.Name, c.File, line}))
		if c.Self > 0 {
			var s message
			for _, at := range slices.Backward(stack) {
				s.number(sampleLocation, at)
			}
			s.number(sampleValue, uint64(c.Self))
			s.number(sampleValue, uint64(m.p.nanoseconds(c.Self)))
			m.out.bytes(profileSample, s)
		}
		m.samples(c, stack)
	}
}

func (m *pprofMaker) location(at place) uint64 {
	if id := m.places[at]; id != 0 {
		return id
	}
	id := uint64(len(m.places) + 1)
	m.places[at] = id
	var line, l message
	line.number(lineFunction, m.function(place{at.name, at.file, 0}))
	line.number(lineLine, uint64(at.line))
	l.number(locationID, id)
	l.bytes(locationLine, line)
	m.lines.bytes(profileLocation, l)
	return id
}

func (m *pprofMaker) function(at place) uint64 {
	if id := m.known[at]; id != 0 {
		return id
	}
	id := uint64(len(m.known) + 1)
	m.known[at] = id
	var f message
	f.number(functionID, id)
	f.number(functionName, m.text(at.name))
	f.number(functionFile, m.text(at.file))
	m.methods.bytes(profileFunction, f)
	return id
}
