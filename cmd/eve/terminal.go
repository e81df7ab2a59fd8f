package main

import (
	"io"
	"os"
	"strings"
	"syscall"
	"unsafe"
)

// colour says whether w is a terminal whose user allows colour (no-color.org).
func colour(w io.Writer) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && width(w) > 0
}

// An output remembers the first error, so that a full disk is noticed at the end.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// page wraps the paragraphs of a page for a terminal; its programs stay as they are.
func page(text string, columns int) string {
	if columns == 0 {
		return text
	}
	var b strings.Builder
	program := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			program = !program
		}
		room := 0
		for i, word := range strings.Split(strings.TrimRight(line, "\n"), " ") {
			switch {
			case i == 0:
			case !program && room+1+len(word) > min(columns, 100):
				b.WriteByte('\n')
				room = 0
			default:
				b.WriteByte(' ')
				room++
			}
			b.WriteString(word)
			room += len(word)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// width is the number of columns of the terminal w; 0 if it is not a terminal.
func width(w io.Writer) int {
	if o, ok := w.(*output); ok {
		w = o.w
	}
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	var size struct{ rows, columns, x, y uint16 }
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCGWINSZ,
		uintptr(unsafe.Pointer(&size)))
	if errno != 0 {
		return 0
	}
	if size.columns == 0 {
		return 80
	}
	return int(size.columns)
}
