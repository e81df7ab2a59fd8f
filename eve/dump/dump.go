// Package dump reads the files that the runtime writes about a run: recordings and profiles. A file
// is its magic and sections: eight characters of a tag, the length, the contents. All numbers are
// 64 bits, little-endian. The runtime's side is eve/runtime/dump.hpp.
package dump

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

var (
	// ErrMagic says that a file is of another kind.
	ErrMagic = errors.New("a file of another kind")
	// ErrShort says that a section ends in the middle of a field.
	ErrShort = errors.New("a section is too short")
)

// A Part reads the fields of a section. After an error all fields are zero.
type Part struct {
	Data []byte // what is not read yet
	Err  error
}

func (p *Part) failed() bool { return p.Err != nil }

func (p *Part) take(n uint64) []byte {
	if p.Err != nil || n > uint64(len(p.Data)) {
		p.Err = ErrShort
		return nil
	}
	b := p.Data[:n]
	p.Data = p.Data[n:]
	return b
}

// Number reads a number.
func (p *Part) Number() uint64 {
	if b := p.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Text reads a length and a text.
func (p *Part) Text() string { return string(p.take(p.Number())) }

// A Code is what the runtime knows of the code of a task or handler.
type Code struct {
	Pretty string // the C++ compiler's name of a function with the type of the task in it
	File   string
	Line   int
}

// Code reads the section of a code: its address in the program, and what is known of it.
func (p *Part) Code() (at uint64, c Code) {
	at, line := p.Number(), p.Number()
	c = Code{Pretty: p.Text(), File: p.Text(), Line: int(line & 0x7fffffff)}
	return at, c
}

// Read hands the sections of a file to a function, the first of which must be its head. A file
// without its end, as a full disk leaves it, is read as far as it goes: whole is false then.
func Read(data []byte, magic string, see func(tag string, p *Part) error) (whole bool, err error) {
	if !bytes.HasPrefix(data, []byte(magic)) {
		return false, ErrMagic
	}
	file := Part{Data: data[len(magic):]}
	for first := true; ; first = false {
		tag := string(bytes.TrimRight(file.take(8), "\x00"))
		section := Part{Data: file.take(file.Number())}
		cut := file.failed()
		switch {
		case first && (cut || tag != "head"):
			return false, errors.New("broken file: it does not begin with its head")
		case cut:
			return false, nil
		case tag == "end":
			return true, nil
		}
		if err := see(tag, &section); err != nil {
			return false, fmt.Errorf("broken file: section %q: %w", tag, err)
		}
	}
}

// Duration is a time in nanoseconds, rounded to three digits.
func Duration(ns int64) string {
	d := time.Duration(ns)
	for unit := time.Duration(1); ; unit *= 10 {
		if d < 1000*unit || unit >= time.Hour {
			return d.Round(unit).String()
		}
	}
}
