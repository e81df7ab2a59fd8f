package load

// The sink protocol: lines of text that are never answered. Each line begins with its
// connection and number, so that a line that is lost, doubled, torn or misplaced shows in the
// server's output.

import "interleave/internal/manifest"

func init() {
	speak(manifest.Sink, protocol{
		family:   sinkFamily,
		shapes:   []manifest.Shape{manifest.Paced}, // a sink answers nothing
		validate: func(p *Plan) error { return p.validateSize(minLine) },
		prepare: func(p *Plan) (job, error) {
			return independent(func(w *worker) driver {
				return newRequests(w, newSink(uint64(p.Load.SizeBytes)))
			}), nil
		},
		offer: func(l *manifest.Load, _ Wishes) { l.Bits = offeredBits },
	})
}

// minLine is in bytes the least message of a sink: room for the prefix that makes each line unique.
const minLine = 32

// lineBytes is about how long a line is, a guess at a chat message. A message longer than that is
// cut into lines of equal length, give or take one byte.
const lineBytes = 128

const prefixBytes = 8 + 1 + 12 + 1 // "0000002a 00000000001f ": connection and line in hexadecimal

type sink struct {
	noReplies
	size  uint64
	lines uint64 // in a message
	line  [2 * lineBytes]byte
}

func newSink(size uint64) *sink {
	return &sink{size: size, lines: max(1, (size+lineBytes/2)/lineBytes)}
}

func (s *sink) requestBytes() uint64 { return s.size }

// start is the offset at which the i-th line of a message begins.
func (s *sink) start(i uint64) uint64 { return i * s.size / s.lines }

func (s *sink) fill(c *conn, p []byte) {
	message, offset := c.sent, c.sentPart
	i := offset * s.lines / s.size
	for s.start(i+1) <= offset {
		i++
	}
	for len(p) > 0 {
		line := s.render(c.id, message*s.lines+i, s.start(i+1)-s.start(i))
		n := copy(p, line[offset-s.start(i):])
		p = p[n:]
		offset += uint64(n)
		if i++; i == s.lines {
			message, offset, i = message+1, 0, 0
		}
	}
}

const hexDigits = "0123456789abcdef"

// render writes a line of n bytes, its end included.
func (s *sink) render(id uint32, number, n uint64) []byte {
	line := s.line[:n]
	for i := range 8 {
		line[i] = hexDigits[id>>(28-4*i)&15]
	}
	line[8] = ' '
	for i := range 12 {
		line[9+i] = hexDigits[number>>(44-4*i)&15]
	}
	line[21] = ' '
	for i := prefixBytes; i < len(line)-1; i++ {
		line[i] = 'a' + byte(i)&15
	}
	line[n-1] = '\n'
	return line
}
