package transcript

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// Data is what a step sends or expects: parts that follow one another. The bytes are made while
// they are sent, so that a transcript may speak of gigabytes.
type Data []part

// A part is a text that is repeated, or bytes of a pattern.
type part struct {
	text   []byte // nil: a pattern
	times  int64  // how often the text is repeated, if length is 0
	length int64  // of the pattern or of the repeated text, in bytes
	seed   uint64 // of the pattern
}

// Text returns data that is just this text.
func Text(text []byte) Data { return Data{{text: text, times: 1}} }

// rising are the bytes i mod 251 at each place i. 251 is a prime: if a power of two of bytes is
// lost, the rest does not fit any more.
var rising = func() []byte {
	b := make([]byte, 251)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}()

// Size is the number of bytes.
func (d Data) Size() int64 {
	var n int64
	for _, p := range d {
		n += p.size()
	}
	return n
}

func (p part) size() int64 {
	if p.text == nil || p.length > 0 {
		return p.length
	}
	return int64(len(p.text)) * p.times
}

// Reader returns a reader of the bytes. Each call gives the same bytes from the beginning.
func (d Data) Reader() io.Reader {
	readers := make([]io.Reader, len(d))
	for i, p := range d {
		if p.text == nil {
			readers[i] = io.LimitReader(newPattern(p.seed), p.length)
		} else {
			readers[i] = &repeat{text: p.text, left: p.size()}
		}
	}
	return io.MultiReader(readers...)
}

// Has reports whether one of the parts contains a text.
func (d Data) Has(text string) bool {
	for _, p := range d {
		if bytes.Contains(p.text, []byte(text)) {
			return true
		}
	}
	return false
}

// String shows the data in messages, shortened.
func (d Data) String() string {
	words := make([]string, len(d))
	for i, p := range d {
		switch {
		case p.text == nil:
			words[i] = fmt.Sprintf("pattern %d seed %d", p.length, p.seed)
		case p.length > 0:
			words[i] = fmt.Sprintf("rising %d", p.length)
		case p.times == 1:
			words[i] = Short(p.text)
		default:
			words[i] = fmt.Sprintf("%s*%d", Short(p.text), p.times)
		}
	}
	return strings.Join(words, " ")
}

// A repeat is an io.Reader that repeats a text.
type repeat struct {
	text []byte
	at   int
	left int64
}

func (r *repeat) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), r.left)]
	n := copy(p, r.text[r.at:])
	n += copy(p[n:], r.text[:r.at])
	for n < len(p) { // p[:n] is a whole number of texts
		n += copy(p[n:], p[:n])
	}
	r.at = (r.at + n) % len(r.text)
	r.left -= int64(n)
	return n, nil
}

// A pattern is an io.Reader without end in whose bytes any loss, repetition or exchange shows:
// those of a xorshift64* generator.
type pattern struct {
	state uint64
	word  uint64
	have  int
}

func newPattern(seed uint64) *pattern {
	return &pattern{state: seed*2 + 1} // a state of 0 would stay 0
}

func (p *pattern) Read(b []byte) (int, error) {
	n := 0
	for n < len(b) {
		for p.have == 0 && len(b)-n >= 8 { // most of the bytes: whole words
			binary.LittleEndian.PutUint64(b[n:], p.next())
			n += 8
		}
		if n == len(b) {
			break
		}
		if p.have == 0 {
			p.word, p.have = p.next(), 8
		}
		b[n] = byte(p.word)
		p.word >>= 8
		p.have--
		n++
	}
	return n, nil
}

func (p *pattern) next() uint64 {
	p.state ^= p.state >> 12
	p.state ^= p.state << 25
	p.state ^= p.state >> 27
	return p.state * 0x2545F4914F6CDD1D
}

// ShortBytes is how many of the wrong bytes an error shows.
const ShortBytes = 60

// Short quotes bytes for a message: as text if they are text, otherwise in hex.
func Short(b []byte) string {
	shown, dots := b, ""
	if len(shown) > ShortBytes {
		shown, dots = shown[:ShortBytes], "..."
	}
	printable := bytes.IndexFunc(shown,
		func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' || r > '~' }) < 0
	if printable {
		return fmt.Sprintf("%q", shown) + dots
	}
	return fmt.Sprintf("hex % x", shown) + dots
}
