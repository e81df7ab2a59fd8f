package main

import (
	"bytes"
	"encoding/binary"
)

// mostPixels bounds the memory of a decoder: a bomb is small until it is decoded.
const mostPixels = 50_000_000

// A picture is the type and size of an image, read from its bytes.
type picture struct {
	kind          string
	width, height int
}

// look finds type and size by the bytes alone, and decodes none of the pixels.
func look(b []byte) (picture, error) {
	var p picture
	var whole bool
	switch {
	case bytes.HasPrefix(b, []byte("\xff\xd8\xff")):
		p.kind = "image/jpeg"
		p.width, p.height, whole = lookJPEG(b)
	case bytes.HasPrefix(b, []byte("\x89PNG\r\n\x1a\n")):
		p.kind = "image/png"
		p.width, p.height, whole = lookPNG(b)
	case bytes.HasPrefix(b, []byte("GIF87a")), bytes.HasPrefix(b, []byte("GIF89a")):
		p.kind = "image/gif"
		if whole = len(b) > 10 && b[len(b)-1] == 0x3b; whole {
			p.width, p.height = int(binary.LittleEndian.Uint16(b[6:])),
				int(binary.LittleEndian.Uint16(b[8:]))
		}
	default:
		return p, errKind
	}
	if !whole || p.width <= 0 || p.height <= 0 {
		return p, errWhole
	}
	if p.width > mostPixels/p.height {
		return p, errPixels
	}
	return p, nil
}

// lookPNG walks the chunks, each a length, a name, the content and a checksum, to IEND.
func lookPNG(b []byte) (width, height int, whole bool) {
	const signature, around = 8, 12
	if len(b) < signature+around+13 || string(b[signature:signature+8]) != "\x00\x00\x00\x0dIHDR" {
		return 0, 0, false
	}
	width, height = int(int32(binary.BigEndian.Uint32(b[16:]))),
		int(int32(binary.BigEndian.Uint32(b[20:])))
	for b = b[signature:]; len(b) >= around; {
		length := int(binary.BigEndian.Uint32(b))
		if length > len(b)-around {
			return 0, 0, false
		}
		if string(b[4:8]) == "IEND" {
			return width, height, true
		}
		b = b[length+around:]
	}
	return 0, 0, false
}

// lookJPEG walks the segments, each a marker and a length that counts itself, to the first frame
// header. Behind it the end of the image must come; before it a preview may have an end of its own.
func lookJPEG(b []byte) (width, height int, whole bool) {
	for b = b[2:]; len(b) >= 4; {
		marker := b[1]
		if b[0] != 0xff {
			return 0, 0, false
		}
		if marker == 0xff { // a filler
			b = b[1:]
			continue
		}
		if marker == 0x01 || marker >= 0xd0 && marker <= 0xd7 { // alone, without a length
			b = b[2:]
			continue
		}
		length := 2 + int(binary.BigEndian.Uint16(b[2:]))
		if marker == 0xd8 || marker == 0xd9 || marker == 0xda || length < 4 || length > len(b) {
			return 0, 0, false
		}
		if marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc {
			if length < 9 {
				return 0, 0, false
			}
			height, width = int(binary.BigEndian.Uint16(b[5:])), int(binary.BigEndian.Uint16(b[7:]))
			return width, height, bytes.Contains(b[length:], []byte{0xff, 0xd9})
		}
		b = b[length:]
	}
	return 0, 0, false
}
