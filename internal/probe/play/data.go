package play

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// A data is what a transcript sends or expects: parts one after the other, made while they are sent
// so that a transcript may speak of gigabytes.
type data []part

// A part is bytes some times over, or so many bytes of a pattern.
type part struct {
	text  []byte
	times int64
	// of the pattern where text is nil, else of the text over and over; 0 = the text so many times
	length int64
	seed   uint64
}

// rising is the bytes i mod 251 at each place i: 251 is a prime, so that no power of two that goes
// missing goes unseen.
var rising = func() []byte {
	b := make([]byte, 251)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}()

func (d data) size() int64 {
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

// reader makes the bytes, the same at each call.
func (d data) reader() io.Reader {
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

// has tells whether a text stands in one of the parts.
func (d data) has(text string) bool {
	for _, p := range d {
		if bytes.Contains(p.text, []byte(text)) {
			return true
		}
	}
	return false
}

// String is for messages: what it says, shortened.
func (d data) String() string {
	words := make([]string, len(d))
	for i, p := range d {
		switch {
		case p.text == nil:
			words[i] = fmt.Sprintf("pattern %d seed %d", p.length, p.seed)
		case p.length > 0:
			words[i] = fmt.Sprintf("rising %d", p.length)
		case p.times == 1:
			words[i] = short(p.text)
		default:
			words[i] = fmt.Sprintf("%s*%d", short(p.text), p.times)
		}
	}
	return strings.Join(words, " ")
}

// A repeat is an io.Reader of the same text over and over.
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
	for n < len(p) { // what is there already is a whole number of texts
		n += copy(p[n:], p[:n])
	}
	r.at = (r.at + n) % len(r.text)
	r.left -= int64(n)
	return n, nil
}

// A pattern is an io.Reader of endless bytes in which any loss, repetition or exchange shows: the
// bytes of a xorshift64* generator.
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
		for p.have == 0 && len(b)-n >= 8 { // most of it: whole words
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

// shortBytes is how much of wrong bytes an error shows.
const shortBytes = 60

// short quotes bytes for a message: as text where they are text, in hex otherwise.
func short(b []byte) string {
	shown, dots := b, ""
	if len(shown) > shortBytes {
		shown, dots = shown[:shortBytes], "..."
	}
	printable := bytes.IndexFunc(shown,
		func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' || r > '~' }) < 0
	if printable {
		return fmt.Sprintf("%q", shown) + dots
	}
	return fmt.Sprintf("hex % x", shown) + dots
}
