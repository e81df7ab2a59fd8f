package load

import (
	"bytes"
	"image"
	"testing"
	"time"
)

// TestPictures makes the published sizes: each image is valid, exactly as long as asked for, and
// its padding a small part.
func TestPictures(t *testing.T) {
	for _, size := range []int{leastPicture, 17_000, 64_001, 128_000, mostPicture} {
		began := time.Now()
		pictures, err := makePictures(size, 7)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d bytes: %v", size, time.Since(began))
		for i, p := range pictures {
			m, format, err := image.Decode(bytes.NewReader(p.bytes))
			if err != nil || "image/"+format != p.kind || m.Bounds().Dx() != pictureWidth ||
				m.Bounds().Dy() != pictureHeight {
				t.Fatalf("%d bytes, image %d: %v, %v, %v", size, i, format, m.Bounds(), err)
			}
			if len(p.bytes) != size {
				t.Errorf("image %d has %d bytes, want %d", i, len(p.bytes), size)
			}
			if zeros := longestZeros(p.bytes); zeros > max(size/10, 600) {
				t.Errorf("%d bytes, image %d (%s): %d are padding", size, i, p.kind, zeros)
			}
			for j := range i {
				if bytes.Equal(p.bytes, pictures[j].bytes) {
					t.Errorf("images %d and %d are the same", i, j)
				}
			}
		}
		if size != 17_000 { // one is enough, and they take seconds
			continue
		}
		again, err := makePictures(size, 7)
		if err != nil || !bytes.Equal(again[0].bytes, pictures[0].bytes) ||
			!bytes.Equal(again[1].bytes, pictures[1].bytes) {
			t.Errorf("%d bytes: the same seed made another image, %v", size, err)
		}
	}
	for _, size := range []int{0, 5000, mostPicture + 1} {
		if _, err := makePictures(size, 7); err == nil {
			t.Errorf("%d bytes: no error", size)
		}
	}
}

func longestZeros(p []byte) (most int) {
	run := 0
	for _, b := range p {
		run++
		if b != 0 {
			run = 0
		}
		most = max(most, run)
	}
	return most
}
