package log

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// Text is DATA/log: what was said, one line each, for people to read. A place in it is a number of
// bytes since the first line ever, also where the head of the file has been cut off since. One
// goroutine writes, any may read.
type Text struct {
	folder string
	lock   *os.File

	mu      sync.RWMutex
	file    *os.File
	info    os.FileInfo
	begin   uint64 // the place of the file's first byte
	size    int64  // of the file
	pending []byte // lines that could not be written yet, which begin at the file's end

	step func(string) // of a test, which ends the process there; else nil
}

// maxPending is in bytes: what a server keeps of a text that it cannot write. The
// stream has it too.
const maxPending = 16 << 20

// OpenText makes folder if it is not there, takes its lock, which a dead process does not hold, and
// cuts off what a crash has left of a line.
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
		err = t.mend()
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	return t, nil
}

func (t *Text) path() string { return filepath.Join(t.folder, "log") }

// open opens the file, which is made if it is not there.
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

// mend reads where the file begins and removes the rest of a line that has no end.
func (t *Text) mend() error {
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
	return nil
}

// Begin and End are the places of the first line that is kept, and behind the last.
func (t *Text) Begin() uint64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.begin
}

// End says where the next line will stand.
func (t *Text) End() uint64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.begin + uint64(t.size) + uint64(len(t.pending))
}

// ReadAt reads at a place: io.EOF at the end, and an error below the beginning.
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

// Write adds whole lines that begin at a place, in one write, so no reader sees them mixed with
// others. What of them is there already, from before a crash, stays, and what was cut off is not
// written again. An error says that they could not be written; they are kept, and written by Ready
// or the next Write.
func (t *Text) Write(at uint64, lines []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at < t.begin { // the head was cut off, or somebody has removed the file, after that was said
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

// reader reads what stands in the file, by one who has the lock.
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

// setAside keeps the end of the file that is not what the stream says, where people find it,
// and cuts it off.
func (t *Text) setAside(at uint64) error {
	torn := make([]byte, t.begin+uint64(t.size)-at)
	if _, err := t.file.ReadAt(torn, int64(at-t.begin)); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := os.WriteFile(fmt.Sprintf("%s.torn-%d", t.path(), at), torn, 0o600); err != nil {
		return err
	}
	t.pending = nil
	return t.truncate(int64(at - t.begin))
}

// flush writes what is pending, then lines, and puts back to pending what has not gone out: no half
// of a line stays in the file.
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

// sameFile sees to it that what is written to is what people see below that name. A folder that is
// gone is not made again: somebody may be about to bring it back.
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

// Ready says whether lines can be written now, and writes those that could not.
func (t *Text) Ready() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.sameFile(); err != nil {
		return err
	}
	return t.flush(nil)
}

// Start says where the next line stands, for a text that nothing in the stream speaks of.
func (t *Text) Start(at uint64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.setBegin(at - uint64(t.size))
}

func (t *Text) setBegin(begin uint64) error {
	if begin == t.begin {
		return nil
	}
	if err := t.writeNumber("log.begin", begin); err != nil {
		return err
	}
	t.begin = begin
	// of a cut that failed half-way
	if err := os.Remove(filepath.Join(t.folder, "log.cut")); err != nil &&
		!errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Sync returns when all that was written is on the disk.
func (t *Text) Sync() error {
	t.mu.RLock()
	file := t.file
	t.mu.RUnlock()
	return syncData(file)
}

// Close gives the folder back.
func (t *Text) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.flush(nil)
	return errors.Join(err, t.file.Sync(), t.file.Close(), t.lock.Close())
}
