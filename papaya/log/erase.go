package log

import (
	"bytes"
	"fmt"
	"os"
)

// A span is a part of the text, in whole lines.
type span struct {
	at   uint64
	size int
}

// Erase replaces the lines of a part of the text by blanks of the same length, in the file itself.
// Other programs that read the file at that moment may see a line that is half blank. The lines may
// be blank already: after a crash Erase is called again. After an error, Ready tries it again.
func (t *Text) Erase(at uint64, size int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.copying {
		t.erased = append(t.erased, span{at, size})
	}
	err := t.erase(span{at, size})
	if err != nil {
		t.unerased = append(t.unerased, span{at, size})
	}
	return err
}

// eraseAgain tries again what could not be erased. New messages do not wait for it.
func (t *Text) eraseAgain() {
	for len(t.unerased) > 0 && t.erase(t.unerased[0]) == nil {
		t.unerased = t.unerased[1:]
	}
}

func (t *Text) erase(s span) error {
	if err := t.sameFile(); err != nil {
		return err
	}
	if s.at < t.begin { // it was cut off
		return nil
	}
	if from := s.at - t.begin; from >= uint64(t.size) {
		if from -= uint64(t.size); from+uint64(s.size) <= uint64(len(t.pending)) {
			blankLines(t.pending[from : from+uint64(s.size)])
		}
		return nil
	}
	return eraseIn(t.path(), int64(s.at-t.begin), s.size)
}

// eraseIn replaces whole lines of a file by blanks. It opens the file again, since writes through a
// file descriptor with O_APPEND go to the end.
func eraseIn(path string, from int64, size int) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := make([]byte, size+1) // with the LF before them
	if from == 0 {
		lines[0] = '\n'
		_, err = file.ReadAt(lines[1:], 0)
	} else {
		_, err = file.ReadAt(lines, from-1)
	}
	if err != nil {
		return fmt.Errorf("removing %d bytes at %d: %w", size, from, err)
	}
	if lines[0] != '\n' || lines[size] != '\n' {
		return nil // somebody has changed the file
	}
	blankLines(lines[1:])
	_, err = file.WriteAt(lines[1:], from)
	return err
}

// blankLines replaces each line by blanks.
func blankLines(lines []byte) {
	for line := range bytes.Lines(lines) {
		copy(line, blank(line))
	}
}

// startCopy begins a copy of the file that will replace it. Until endCopy, Erase remembers what it
// erases, since that may have been copied before.
func (t *Text) startCopy() (old *os.File, begin uint64, size int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.copying, t.erased = true, nil
	return t.file, t.begin, t.size
}

// endCopy ends a copy, which has replaced the file or was given up.
func (t *Text) endCopy() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.copying, t.erased = false, nil
}

// eraseCopied erases in the copy, whose first byte has an offset, what was erased since startCopy.
func (t *Text) eraseCopied(path string, begin uint64) error {
	for _, s := range t.erased {
		if s.at < begin {
			continue
		}
		if err := eraseIn(path, int64(s.at-begin), s.size); err != nil {
			return err
		}
	}
	return nil
}
