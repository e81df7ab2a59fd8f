package file

import (
	"bufio"
	"encoding/binary"
	"errors"
	"image"
	"io"
)

// A turn is how a camera was held (EXIF 2.32, tag 274, Orientation): what must be done with an
// image to see it upright.
type turn int

// upright is the turn of an image that is right as it is. The others, up to 8, are mirrored (2, 4,
// 5 and 7), upside down (3 and 4), or lie on a side (from 5 on).
const upright turn = 1

// orientationTag is that of Orientation in an image file directory, and short the type of its
// value.
const (
	orientationTag = 0x0112
	short          = 3
)

// The markers of JPEG (ITU-T T.81, B.1) that are looked at.
const (
	startOfImage = 0xd8
	endOfImage   = 0xd9
	startOfScan  = 0xda
	app1         = 0xe1
	firstRestart = 0xd0 // within a scan, as all up to lastRestart
	lastRestart  = 0xd7
	stuffed      = 0x00 // no marker: the byte 0xff of a scan's data
)

var errNoTurn = errors.New("no orientation")

// orientation reads how the camera was held from a JPEG. Without a valid EXIF part it is upright.
func orientation(r *bufio.Reader) turn {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil || head != [2]byte{0xff, startOfImage} {
		return upright
	}
	for {
		marker, segment, err := nextSegment(r)
		if err != nil || marker == startOfScan {
			return upright
		}
		if marker != app1 {
			continue
		}
		if t, err := exifTurn(segment); err == nil {
			return t
		}
	}
}

// nextSegment reads a marker, and the segment that it begins.
func nextSegment(r *bufio.Reader) (marker byte, segment []byte, err error) {
	if marker, err = r.ReadByte(); err != nil || marker != 0xff {
		return 0, nil, errNoTurn
	}
	for marker == 0xff { // it may be repeated
		if marker, err = r.ReadByte(); err != nil {
			return 0, nil, err
		}
	}
	if marker == startOfScan {
		return marker, nil, nil
	}
	var size [2]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return 0, nil, err
	}
	n := int(binary.BigEndian.Uint16(size[:])) // with these two bytes
	if n < len(size) {
		return 0, nil, errNoTurn
	}
	segment = make([]byte, n-len(size))
	_, err = io.ReadFull(r, segment)
	return marker, segment, err
}

// exifTurn finds the orientation in the first directory of an EXIF part, which has TIFF's form.
func exifTurn(segment []byte) (turn, error) {
	const intro = "Exif\x00\x00"
	if len(segment) < len(intro)+8 || string(segment[:len(intro)]) != intro {
		return 0, errNoTurn
	}
	tiff := segment[len(intro):]
	var order binary.ByteOrder = binary.BigEndian
	if string(tiff[:2]) == "II" {
		order = binary.LittleEndian
	}
	at := int64(order.Uint32(tiff[4:]))
	if at+2 > int64(len(tiff)) {
		return 0, errNoTurn
	}
	entries := tiff[at+2:]
	const entryLen = 12
	for range order.Uint16(tiff[at:]) {
		if len(entries) < entryLen {
			break
		}
		e := entries[:entryLen]
		entries = entries[entryLen:]
		if order.Uint16(e) != orientationTag {
			continue
		}
		t := turn(order.Uint16(e[8:]))
		if order.Uint16(e[2:]) != short || t < upright || t > 8 {
			break
		}
		return t, nil
	}
	return 0, errNoTurn
}

// apply turns an image upright.
func (t turn) apply(from *image.RGBA) *image.RGBA {
	if t == upright {
		return from
	}
	w, h := from.Bounds().Dx(), from.Bounds().Dy()
	to := image.NewRGBA(image.Rect(0, 0, w, h))
	if t >= 5 {
		to = image.NewRGBA(image.Rect(0, 0, h, w))
	}
	for y := range h {
		for x := range w {
			a, b := x, y
			switch t {
			case 2:
				a = w - 1 - x
			case 3:
				a, b = w-1-x, h-1-y
			case 4:
				b = h - 1 - y
			case 5:
				a, b = y, x
			case 6:
				a, b = h-1-y, x
			case 7:
				a, b = h-1-y, w-1-x
			case 8:
				a, b = y, w-1-x
			}
			to.SetRGBA(a, b, from.RGBAAt(x, y))
		}
	}
	return to
}
