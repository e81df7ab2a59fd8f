package log

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The files log and log.begin belong together: log.begin is the offset of the first byte of log.
// Cut must change both. Before it does, it writes log.cut with the new offset; from then on
// log.begin does not count. While log.new exists, log is still the old file. log.new is complete
// and on the disk before log.cut exists, so the next start can finish a cut that a crash has
// interrupted.

// Cut removes the lines before an offset, at which a line must begin. Readers see the old file or
// the new one, and a writer waits only while the lines are copied that were added in the meantime.
// Lines stay that are lacking right before the offset. Blank must not be called at the same time.
func (t *Text) Cut(before uint64) error {
	old, begin, size := t.startCopy()
	defer t.endCopy()
	before = t.beforeLack(before)
	if before <= begin || before > begin+uint64(size) {
		return nil
	}
	fresh, err := os.OpenFile(t.path()+".new", os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	t.testStep("new")
	from := int64(before - begin)
	if err = copyPart(fresh, old, from, size-from); err == nil {
		t.testStep("writing")
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.file != old || t.begin != begin || t.size < size {
			err = errors.New("cutting the log: it was changed meanwhile")
		} else {
			err = errors.Join(copyPart(fresh, old, size, t.size-size),
				t.eraseCopied(t.path()+".new", before), fresh.Sync())
		}
	}
	if err = errors.Join(err, fresh.Close()); err == nil {
		t.testStep("copied")
		err = t.writeNumber("log.cut", before)
	}
	if err != nil {
		return errors.Join(err, os.Remove(t.path()+".new"))
	}
	t.testStep("said")
	if err := t.finishCut(); err != nil {
		return err
	}
	t.begin = before
	defer t.clipLacks()
	return t.open()
}

// copyPart appends a part of a file to another, and syncs it.
func copyPart(to, of *os.File, from, size int64) error {
	if _, err := io.Copy(to, io.NewSectionReader(of, from, size)); err != nil {
		return err
	}
	return to.Sync()
}

// finishCut finishes a cut that log.cut announces, or removes an incomplete copy.
func (t *Text) finishCut() error {
	begin, err := readNumber(t.folder, "log.cut")
	if errors.Is(err, os.ErrNotExist) {
		err = os.Remove(t.path() + ".new")
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}
	if err != nil {
		return err
	}
	if err := os.Rename(t.path()+".new", t.path()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := SyncFolder(t.folder); err != nil {
		return err
	}
	t.testStep("renamed")
	if err := t.writeNumber("log.begin", begin); err != nil {
		return err
	}
	t.testStep("begun")
	if err := os.Remove(filepath.Join(t.folder, "log.cut")); err != nil {
		return err
	}
	return SyncFolder(t.folder)
}

// testStep calls the step of a test, which may end the process.
func (t *Text) testStep(step string) {
	if t.step != nil {
		t.step(step)
	}
}

var errPending = errors.New("writing the log: lines wait to be written")

// leaveGap continues at an offset beyond the end, because lines are missing. A file cannot have a
// gap, so the older lines are renamed to log.until-OFFSET.
func (t *Text) leaveGap(end, at uint64) error {
	if t.size > 0 {
		if len(t.pending) > 0 {
			return errPending
		}
		if err := os.Rename(t.path(), fmt.Sprintf("%s.until-%d", t.path(), end)); err != nil {
			return err
		}
		if err := t.open(); err != nil {
			return err
		}
	}
	return t.setBegin(at)
}

// writeNumber writes an offset into a file of its own.
func (t *Text) writeNumber(name string, n uint64) error {
	return t.writeSmall(name, fmt.Appendln(nil, n))
}

// writeSmall replaces a small file atomically, and syncs it. The new one has a name that does not
// change, so that a process which is killed leaves one at most.
func (t *Text) writeSmall(name string, text []byte) error {
	path := filepath.Join(t.folder, name)
	file, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return SyncFolder(t.folder)
}

func readNumber(folder, name string) (uint64, error) {
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reading %s: %w", name, err)
	}
	return n, nil
}

// ReadBegin returns the offset of the first byte of the log in a folder, for a reader beside the
// server. The server may change it at any time.
func ReadBegin(folder string) (uint64, error) {
	begin, err := readNumber(folder, "log.cut")
	if err == nil {
		if _, new := os.Stat(filepath.Join(folder, "log.new")); errors.Is(new, os.ErrNotExist) {
			return begin, nil
		}
	}
	if begin, err = readNumber(folder, "log.begin"); errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	return begin, err
}
