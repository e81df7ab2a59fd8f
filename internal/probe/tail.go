package probe

import (
	"bytes"
	"strings"
	"sync"
)

// tailBytes is what is kept of a program's output, from its end: enough for a stack trace.
const tailBytes = 16 << 10

// A tail keeps the end of what is written to it and counts the rest. Any goroutine may use it.
type tail struct {
	mu    sync.Mutex
	ring  []byte // at most tailBytes; next is the oldest byte's place once it is full
	next  int
	total int64
}

// Write never fails: a tail is an io.Writer for commands.
func (t *tail) Write(p []byte) (int, error) {
	t.add(p)
	return len(p), nil
}

func (t *tail) add(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total += int64(len(p))
	if len(p) > tailBytes {
		p = p[len(p)-tailBytes:]
	}
	if room := tailBytes - len(t.ring); room > 0 {
		fill := min(room, len(p))
		t.ring = append(t.ring, p[:fill]...)
		p = p[fill:]
	}
	for len(p) > 0 {
		copied := copy(t.ring[t.next:], p)
		t.next = (t.next + copied) % tailBytes
		p = p[copied:]
	}
}

// Total is the number of bytes written so far.
func (t *tail) Total() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total
}

// String is the end of the output in valid UTF-8; a first line that was cut is left out.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := append(bytes.Clone(t.ring[t.next:]), t.ring[:t.next]...)
	if t.total > tailBytes {
		if cut := bytes.IndexByte(text, '\n'); cut >= 0 && cut < len(text)-1 {
			text = text[cut+1:]
		}
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}

// maxLine is what an error message shows of one line.
const maxLine = 300

// lastLines is the end of a text for an error message: at most n lines, indented.
func lastLines(text string, n int) string {
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
