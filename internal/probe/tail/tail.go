// Package tail keeps the end of a program's output and shows it in error messages: the last words
// of a program that failed usually say why.
package tail

import (
	"bytes"
	"strings"
	"sync"
)

// Bytes is how much a Buffer keeps, counted from the end: enough for a stack trace.
const Bytes = 16 << 10

// A Buffer keeps the last Bytes bytes that are written to it and counts all of them. Any goroutine
// may use it. The zero value is empty.
type Buffer struct {
	mu    sync.Mutex
	ring  []byte // at most Bytes long; once it is full, the oldest byte is at next
	next  int
	total int64
}

// Write adds p to the buffer. It never fails.
func (b *Buffer) Write(p []byte) (int, error) {
	written := len(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total += int64(len(p))
	if len(p) > Bytes {
		p = p[len(p)-Bytes:]
	}
	if room := Bytes - len(b.ring); room > 0 {
		fill := min(room, len(p))
		b.ring = append(b.ring, p[:fill]...)
		p = p[fill:]
	}
	for len(p) > 0 {
		copied := copy(b.ring[b.next:], p)
		b.next = (b.next + copied) % Bytes
		p = p[copied:]
	}
	return written, nil
}

// Total is the number of bytes written so far.
func (b *Buffer) Total() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total
}

// String returns the end of the output as valid UTF-8. If the first line was cut, it is left out.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := append(bytes.Clone(b.ring[b.next:]), b.ring[:b.next]...)
	if b.total > Bytes {
		if cut := bytes.IndexByte(text, '\n'); cut >= 0 && cut < len(text)-1 {
			text = text[cut+1:]
		}
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}

// maxLine is how many bytes of one line an error message shows.
const maxLine = 300

// Lines returns the end of a text for an error message: at most n lines, each on a new line and
// indented by a tab. It returns "" for an empty text.
func Lines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) == 1 && lines[0] == "" {
		return ""
	}
	if len(lines) > n {
		lines = append([]string{"..."}, lines[len(lines)-n:]...)
	}
	for i, line := range lines {
		if len(line) > maxLine {
			lines[i] = strings.ToValidUTF8(line[:maxLine], "") + "..."
		}
	}
	return "\n\t" + strings.Join(lines, "\n\t")
}
