package file

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

// maxScans bounds the scans of a JPEG. A decoder goes through all of the pixels for each scan, and
// a scan takes some ten bytes: a file of 25 MiB may keep it busy for hours. Pictures of cameras and
// editors have one, or about ten if they are progressive. libjpeg-turbo's fuzzers have a limit of
// 500; this one is a guess.
const maxScans = 100

var errScans = errors.New("the image has too many scans")

// scans counts the scans of a JPEG, but no further than one beyond maxScans. It finds them where
// package image/jpeg does, which is lenient: bytes that belong to no segment are skipped.
func scans(r *bufio.Reader) (n int) {
	if _, err := r.Discard(2); err != nil { // the start of the image
		return 0
	}
	for n <= maxScans {
		marker, err := nextMarker(r)
		if err != nil || marker == endOfImage {
			break
		}
		if marker == startOfScan {
			n++
		}
		var size [2]byte
		if _, err := io.ReadFull(r, size[:]); err != nil {
			break
		}
		rest := int(binary.BigEndian.Uint16(size[:])) - len(size)
		if _, err := r.Discard(max(rest, 0)); err != nil {
			break
		}
	}
	return n
}

// nextMarker skips to the marker that begins the next segment, over the pixels that a scan has.
func nextMarker(r *bufio.Reader) (byte, error) {
	for {
		if _, err := r.ReadSlice(0xff); errors.Is(err, bufio.ErrBufferFull) {
			continue
		} else if err != nil {
			return 0, err
		}
		marker := byte(0xff)
		for marker == 0xff { // it may be repeated
			var err error
			if marker, err = r.ReadByte(); err != nil {
				return 0, err
			}
		}
		if marker != stuffed && (marker < firstRestart || marker > lastRestart) {
			return marker, nil
		}
	}
}
