package load

// The text of a message has its sender, its number and its due time, so that each delivery alone
// tells whether it is right, in order and how old it is. The letters that fill the text depend on
// the number, so that lines which a server has mixed do not fit.

import (
	"bytes"
	"encoding/binary"
)

// alphabet repeats, so that the letters of any message are a piece of it.
var alphabet = func() (a [26 + textMost]byte) {
	for i := range a {
		a[i] = 'a' + byte(i%26)
	}
	return a
}()

func appendHex(p []byte, n uint64, digits int) []byte {
	for i := digits - 1; i >= 0; i-- {
		p = append(p, hexDigits[n>>(4*i)&15])
	}
	return p
}

func appendText(p []byte, id, number, stamp, size uint64) []byte {
	p = append(appendHex(p, id, idDigits), ' ')
	p = append(appendHex(p, number, numberDigits), ' ')
	p = append(appendHex(p, stamp, stampDigits), '.')
	return append(p, letters(number, size-uint64(textLeast))...)
}

func letters(number, n uint64) []byte { return alphabet[number%26 : number%26+n] }

// parseText reads a text from its number on.
func parseText(p []byte) (number uint32, stamp int64, ok bool) {
	const stampAt = numberDigits + 1
	if len(p) < stampAt+stampDigits+1 || p[numberDigits] != ' ' || p[stampAt+stampDigits] != '.' {
		return 0, 0, false
	}
	number, ok = hex8(p)
	high, okHigh := hex8(p[stampAt:])
	low, okLow := hex8(p[stampAt+8:])
	rest := p[stampAt+stampDigits+1:]
	ok = ok && okHigh && okLow && bytes.Equal(rest, letters(uint64(number), uint64(len(rest))))
	return number, int64(high)<<32 | int64(low), ok
}

// hex8 reads eight digits at once, small letters only: 3 ns, and a delivery has three times eight.
func hex8(p []byte) (uint32, bool) {
	const each = 0x0101010101010101
	x := binary.LittleEndian.Uint64(p)
	letter := x >> 6 & each // of 'a'..'f' as of '@'..'o' and more: what is none is found below
	d := x&(0x0f*each) + 9*letter
	above := (d + 118*each) & (0x80 * each) >> 7 // where a digit is ten or more
	if d&(0xf0*each) != 0 || d+0x30*each+above*0x27 != x {
		return 0, false
	}
	d = (d<<4 | d>>8) & 0x00ff00ff00ff00ff
	d = (d<<8 | d>>16) & 0x0000ffff0000ffff
	return uint32(d<<16 | d>>32), true
}

// hexID reads the five digits of a client's number.
func hexID(p []byte) (id int, ok bool) {
	if len(p) < idDigits {
		return 0, false
	}
	for _, b := range p[:idDigits] {
		d := int(hexValue[b])
		if d < 0 {
			return 0, false
		}
		id = id<<4 | d
	}
	return id, true
}

var hexValue = func() (v [256]int8) {
	for i := range v {
		v[i] = -1
	}
	for i, b := range []byte(hexDigits) {
		v[b] = int8(i)
	}
	return v
}()
