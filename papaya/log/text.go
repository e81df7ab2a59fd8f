package log

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
)

// Text is DATA/log: one line for each message, for people to read. An offset is the number of bytes
// since the very first line, even if the head of the file was cut off later. One goroutine writes,
// and any may read.
type Text struct {
	folder string
	lock   *os.File

	mu      sync.RWMutex
	file    *os.File
	info    os.FileInfo
	begin   uint64 // the offset of the file's first byte
	size    int64  // of the file
	pending []byte // lines that could not be written yet; they follow the end of the file

	copying  bool   // Cut or Blank makes a copy of the file
	erased   []span // what was erased since it has begun
	unerased []span // what could not be erased yet

	lacks []Range // what other servers must send; the file has blanks there

	step func(string) // set by a test, which ends the process in it
}

// maxPending is in bytes: the most that is kept of a text that cannot be written. The stream has
// these lines, too.
const maxPending = 16 << 20

// OpenText creates the folder if there is none, locks it, and removes an incomplete last line that
// a crash has left. The lock ends with the process.
func OpenText(folder string) (*Text, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		return nil, fmt.Errorf("%s belongs to another server that runs: %w", folder, err)
	}
	t := &Text{folder: folder, lock: lock}
	if err = t.finishCut(); err == nil {
		err = t.open()
	}
	if err == nil {
		err = t.repair()
	}
	if err == nil {
		err = t.openLacks()
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	return t, nil
}

func (t *Text) path() string { return filepath.Join(t.folder, "log") }

// open opens the file, and creates it if there is none.
func (t *Text) open() error {
	file, err := os.OpenFile(t.path(), os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return err
	}
	if t.file != nil {
		t.file.Close()
	}
	t.file, t.info, t.size = file, info, info.Size()
	return nil
}

// repair reads the offset of the file's beginning, and removes an incomplete last line.
func (t *Text) repair() error {
	begin, err := readNumber(t.folder, "log.begin")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	t.begin = begin
	end, piece := t.size, make([]byte, 64<<10)
	for end > 0 {
		n := min(end, int64(len(piece)))
		if _, err := t.file.ReadAt(piece[:n], end-n); err != nil {
			return err
		}
		if i := bytes.LastIndexByte(piece[:n], '\n'); i >= 0 {
			end += int64(i) + 1 - n
			break
		}
		end -= n
	}
	return t.truncate(end)
}

func (t *Text) truncate(size int64) error {
	if size == t.size {
		return nil
	}
	if err := t.file.Truncate(size); err != nil {
		return err
	}
	t.size = size
	t.clipLacks()
	return nil
}

// Begin returns the offset of the first line that is kept.
func (t *Text) Begin() uint64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.begin
}

// End returns the offset of the next line.
func (t *Text) End() uint64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.begin + uint64(t.size) + uint64(len(t.pending))
}

// ReadAt reads at an offset. It returns io.EOF at the end, and another error before the beginning.
func (t *Text) ReadAt(p []byte, at uint64) (int, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if at < t.begin {
		return 0, fmt.Errorf("reading the log at %d: it begins at %d", at, t.begin)
	}
	if end := t.begin + uint64(t.size); at >= end {
		rest := at - end
		if rest >= uint64(len(t.pending)) {
			return 0, io.EOF
		}
		return copy(p, t.pending[rest:]), nil
	}
	n, err := t.file.ReadAt(p[:min(uint64(len(p)), t.begin+uint64(t.size)-at)], int64(at-t.begin))
	if n > 0 {
		return n, nil
	}
	return n, err
}

// Write appends whole lines that begin at an offset, in one write, so readers never see half of a
// line. After a crash it is called with lines that the file may have already: these are not written
// again, and lines that were cut off stay away. After an error the lines are kept, and written by
// Ready or the next Write.
func (t *Text) Write(at uint64, lines []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at < t.begin { // these lines were cut off, or somebody has removed the file
		gone := min(t.begin-at, uint64(len(lines)))
		at, lines = at+gone, lines[gone:]
	}
	if len(lines) == 0 {
		return nil
	}
	end := t.begin + uint64(t.size) + uint64(len(t.pending))
	switch {
	case at > end:
		if err := t.leaveGap(end, at); err != nil {
			return err
		}
	case at < end:
		have := make([]byte, min(end-at, uint64(len(lines))))
		if _, err := io.ReadFull(&reader{t, at}, have); err != nil {
			return err
		}
		if sameLines(have, lines[:len(have)]) {
			lines = lines[len(have):]
		} else if err := t.setAside(at); err != nil {
			return err
		}
	}
	if len(t.pending)+len(lines) > maxPending {
		return fmt.Errorf("writing the log: %d bytes wait already", len(t.pending))
	}
	if len(t.pending) > 0 {
		t.pending = append(t.pending, lines...)
		lines = nil
	}
	return t.flush(lines)
}

// reader reads the file for a caller that holds the lock.
type reader struct {
	t  *Text
	at uint64
}

func (r *reader) Read(p []byte) (int, error) {
	t := r.t
	if end := t.begin + uint64(t.size); r.at >= end {
		n := copy(p, t.pending[r.at-end:])
		r.at += uint64(n)
		return n, nil
	}
	n, err := t.file.ReadAt(p, int64(r.at-t.begin))
	r.at += uint64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

// setAside moves the end of the file, which differs from the stream, into a file of its own, and
// cuts it off.
func (t *Text) setAside(at uint64) error {
	torn := make([]byte, t.begin+uint64(t.size)-at)
	if _, err := t.file.ReadAt(torn, int64(at-t.begin)); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := os.WriteFile(fmt.Sprintf("%s.torn-%d", t.path(), at), torn, 0o600); err != nil {
		return err
	}
	t.pending = nil
	i := slices.IndexFunc(t.lacks, func(r Range) bool { return r.From < at && at < r.To })
	if i < 0 {
		return t.truncate(int64(at - t.begin))
	}
	// It is among blanks, of which a line may not be cut in two.
	if err := t.truncate(int64(t.lacks[i].From - t.begin)); err != nil {
		return err
	}
	return t.lack(at)
}

// flush writes the pending lines and then lines. Lines that cannot be written become pending, and
// no incomplete line stays in the file.
func (t *Text) flush(lines []byte) error {
	if len(t.pending) > 0 {
		lines, t.pending = t.pending, nil
	}
	if len(lines) == 0 {
		return nil
	}
	err := t.sameFile()
	if err == nil {
		var n int
		if n, err = t.file.Write(lines); err == nil {
			t.size += int64(n)
			return nil
		}
		if n > 0 {
			if cut := t.file.Truncate(t.size); cut != nil {
				err = errors.Join(err, cut)
			}
		}
	}
	t.pending = bytes.Clone(lines)
	return err
}

// sameFile makes sure that the open file is still the one with this name. It does not create a
// folder that is gone, since somebody may be about to bring it back.
func (t *Text) sameFile() error {
	now, err := os.Stat(t.path())
	if err == nil && os.SameFile(now, t.info) {
		return nil
	}
	end := t.begin + uint64(t.size)
	if err := t.open(); err != nil {
		return err
	}
	return t.setBegin(end - uint64(t.size))
}

// Ready writes pending lines, and returns an error if lines cannot be written now.
func (t *Text) Ready() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.sameFile(); err != nil {
		return err
	}
	t.eraseAgain()
	return t.flush(nil)
}

// Start sets the offset of the next line, for a text of which the stream has nothing.
func (t *Text) Start(at uint64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.setBegin(at - uint64(t.size))
}

func (t *Text) setBegin(begin uint64) error {
	defer t.clipLacks()
	if begin == t.begin {
		return nil
	}
	if err := t.writeNumber("log.begin", begin); err != nil {
		return err
	}
	t.begin = begin
	// A failed cut may have left it.
	if err := os.Remove(filepath.Join(t.folder, "log.cut")); err != nil &&
		!errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Sync puts everything that was written on the disk.
func (t *Text) Sync() error {
	t.mu.RLock()
	file := t.file
	t.mu.RUnlock()
	return syncData(file)
}

// Close closes the file and unlocks the folder.
func (t *Text) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.flush(nil)
	return errors.Join(err, t.file.Sync(), t.file.Close(), t.lock.Close())
}
