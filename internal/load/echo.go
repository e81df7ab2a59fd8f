package load

// The echo protocol: a message is a pattern that depends on connection, request and position. So a
// byte that is wrong, lost, doubled, in the wrong place or another connection's is seen, without a
// copy of the bytes that were sent.

import (
	"encoding/binary"
	"fmt"

	"interleave/internal/manifest"
)

func init() {
	speak("echo", protocol{
		family:   requestsFamily,
		shapes:   []manifest.Shape{manifest.Closed, manifest.Open, manifest.Connect},
		validate: func(p *Plan) error { return p.validateSize(1) },
		prepare: func(p *Plan) (job, error) {
			return independent(func(w *worker) driver { return newRequests(w, newEcho(p)) }), nil
		},
		offer: offerRate,
	})
}

// validateSize is for messages of any length from least bytes on.
func (p *Plan) validateSize(least int) error {
	if size := p.Load.SizeBytes; size < least || size > maxMessage {
		return fmt.Errorf("size is %d bytes, want %d to %d", size, least, maxMessage)
	}
	return nil
}

// mix turns a counter into a word that looks random: two rounds of multiply and shift, about 1 ns.
func mix(x uint64) uint64 {
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	return x ^ x>>32
}

const (
	stepRequest = 0x9e3779b97f4a7c15 // odd, so that no two requests of a connection start alike
	stepWord    = 0xc2b2ae3d27d4eb4f
)

// patternWord is the j-th word of 8 bytes of a request.
func patternWord(key, request, j uint64) uint64 {
	return mix(key + request*stepRequest + j*stepWord)
}

// fillPattern writes the bytes of a request from offset on.
func fillPattern(key, request, offset uint64, p []byte) {
	j := offset / 8
	if at := offset % 8; at != 0 {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], patternWord(key, request, j))
		p = p[copy(p, word[at:]):]
		j++
	}
	for ; len(p) >= 8; j++ {
		binary.LittleEndian.PutUint64(p, patternWord(key, request, j))
		p = p[8:]
	}
	if len(p) > 0 {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], patternWord(key, request, j))
		copy(p, word[:])
	}
}

// checkPattern gives the index of the first byte that is not the request's, or -1.
func checkPattern(key, request, offset uint64, p []byte) int {
	i := 0
	for ; i < len(p) && (offset+uint64(i))%8 != 0; i++ {
		at := offset + uint64(i)
		if p[i] != byte(patternWord(key, request, at/8)>>(8*(at%8))) {
			return i
		}
	}
	for ; len(p)-i >= 8; i += 8 {
		if binary.LittleEndian.Uint64(p[i:]) != patternWord(key, request, (offset+uint64(i))/8) {
			break // the loop below finds the byte
		}
	}
	for ; i < len(p); i++ {
		at := offset + uint64(i)
		if p[i] != byte(patternWord(key, request, at/8)>>(8*(at%8))) {
			return i
		}
	}
	return -1
}

type echo struct {
	seed uint64
	size uint64
}

func newEcho(p *Plan) *echo { return &echo{seed: p.Seed, size: uint64(p.Load.SizeBytes)} }

func (e *echo) requestBytes() uint64 { return e.size }

func (e *echo) key(c *conn) uint64 { return e.seed + uint64(c.id)<<32 }

func (e *echo) fill(c *conn, p []byte) {
	key, request, offset := e.key(c), c.sent, c.sentPart
	for len(p) > 0 {
		n := min(uint64(len(p)), e.size-offset)
		fillPattern(key, request, offset, p[:n])
		p = p[n:]
		request, offset = request+1, 0
	}
}

func (e *echo) check(c *conn, p []byte) (replies int, kind string) {
	key := e.key(c)
	for len(p) > 0 {
		if c.answered+uint64(replies) == c.issued {
			return replies, Extra
		}
		n := min(uint64(len(p)), e.size-c.part)
		if checkPattern(key, c.answered+uint64(replies), c.part, p[:n]) >= 0 {
			return replies, WrongReply
		}
		p = p[n:]
		c.part += n
		if c.part == e.size {
			c.part = 0
			replies++
		}
	}
	return replies, ""
}

func (e *echo) lost(*conn) {}
