package log

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// stampLen is in bytes: the time at the beginning of a line, and the blank after it.
const stampLen = len("2006-01-02T15:04:05.000Z ")

// maxTextLine is in bytes, more than a line of IRC (512) with its tags (4096) and its time.
const maxTextLine = 16 << 10

// blank returns what replaces a removed line: its time, a dash, and blanks up to the old length.
// Later lines so keep their offsets.
func blank(line []byte) []byte {
	out := bytes.Repeat([]byte(" "), len(line))
	out[len(out)-1] = '\n'
	if len(line) > stampLen+1 {
		copy(out, line[:stampLen])
		out[stampLen] = '-'
	}
	return out
}

// IsBlank says whether a line replaces a removed one.
func IsBlank(line []byte) bool {
	return len(line) > stampLen+1 && line[stampLen] == '-' && line[stampLen-1] == ' ' &&
		len(bytes.TrimRight(line[stampLen+1:], " \n")) == 0
}

// sameLines says whether the file has the lines of the stream, except those that were removed from
// it. A crash may have left a line of which only a part was.
func sameLines(have, want []byte) bool {
	for len(have) > 0 && len(have) == len(want) {
		i := bytes.IndexByte(have, '\n') + 1
		if i == 0 {
			i = len(have)
		}
		if !bytes.Equal(have[:i], want[:i]) &&
			!(want[i-1] == '\n' && isBetween(have[:i], want[:i], blank(want[:i]))) {
			return false
		}
		have, want = have[i:], want[i:]
	}
	return len(have) == len(want)
}

// isBetween says whether each byte of a line is that of one of two others.
func isBetween(line, one, other []byte) bool {
	for i, b := range line {
		if b != one[i] && b != other[i] {
			return false
		}
	}
	return true
}

// Blank removes the lines that choose selects, and returns their number. The other lines keep their
// offsets. It writes a new file and then renames it. Readers see the old file or the new one, and a
// writer waits only while the lines are copied that were added in the meantime. Cut must not be
// called at the same time.
func (t *Text) Blank(choose func(line []byte, at uint64) bool) (removed int, err error) {
	old, begin, size := t.startCopy()
	defer t.endCopy()
	path := t.path() + ".new"
	fresh, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil || removed == 0 {
			_ = os.Remove(path)
		}
	}()
	defer fresh.Close()
	if removed, err = copyBlank(fresh, io.NewSectionReader(old, 0, size), begin,
		choose); err != nil || removed == 0 {
		return removed, err
	}
	if err := fresh.Sync(); err != nil {
		return removed, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file != old || t.begin != begin || t.size < size {
		return removed, errors.New("removing lines: the log was changed meanwhile")
	}
	if _, err := io.Copy(fresh, io.NewSectionReader(old, size, t.size-size)); err != nil {
		return removed, err
	}
	if err := t.eraseCopied(path, begin); err != nil {
		return removed, err
	}
	if err := fresh.Sync(); err != nil {
		return removed, err
	}
	if err := os.Rename(path, t.path()); err != nil {
		return removed, err
	}
	return removed, t.open()
}

func copyBlank(to io.Writer, from io.Reader, at uint64,
	choose func(line []byte, at uint64) bool) (removed int, err error) {
	in, out := bufio.NewReaderSize(from, maxTextLine), bufio.NewWriterSize(to, 256<<10)
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return removed, out.Flush()
		}
		if err != nil {
			return removed, fmt.Errorf("removing lines: at %d: %w", at, err)
		}
		if !IsBlank(line) && choose(line, at) {
			removed++
			line = blank(line)
		}
		at += uint64(len(line))
		if _, err := out.Write(line); err != nil {
			return removed, err
		}
	}
}
