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

// Two files say what is kept of the text: log, and log.begin, the place of its first byte. Both
// change when the head is cut off, so a third, log.cut, says that they are about to: with it,
// log.begin no longer counts. While log.new is there, log is still the old one. What a crash has
// left is finished at the next start: log.new was whole, and on the disk, before log.cut was.

// Cut removes the lines before a place, where a line begins. Readers of the file see the old one or
// the new one, and writers wait only for what has come while the rest was copied. Blank must not be
// called meanwhile.
func (t *Text) Cut(before uint64) error {
	t.mu.RLock()
	old, begin, size := t.file, t.begin, t.size
	t.mu.RUnlock()
	if before <= begin || before > begin+uint64(size) {
		return nil
	}
	fresh, err := os.OpenFile(t.path()+".new", os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	t.reach("new")
	from := int64(before - begin)
	if err = copyPart(fresh, old, from, size-from); err == nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.file != old || t.begin != begin || t.size < size {
			err = errors.New("cutting the log: it was changed meanwhile")
		} else {
			err = copyPart(fresh, old, size, t.size-size)
		}
	}
	if err = errors.Join(err, fresh.Close()); err == nil {
		t.reach("copied")
		err = t.writeNumber("log.cut", before)
	}
	if err != nil {
		return errors.Join(err, os.Remove(t.path()+".new"))
	}
	t.reach("said")
	if err := t.finishCut(); err != nil {
		return err
	}
	t.begin = before
	return t.open()
}

// copyPart adds a part of a file to another, on the disk.
func copyPart(to, of *os.File, from, size int64) error {
	if _, err := io.Copy(to, io.NewSectionReader(of, from, size)); err != nil {
		return err
	}
	return to.Sync()
}

// finishCut does what log.cut says, and removes what is left of a copy that was not finished.
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
	if err := syncFolder(t.folder); err != nil {
		return err
	}
	t.reach("renamed")
	if err := t.writeNumber("log.begin", begin); err != nil {
		return err
	}
	t.reach("begun")
	if err := os.Remove(filepath.Join(t.folder, "log.cut")); err != nil {
		return err
	}
	return syncFolder(t.folder)
}

// reach is where a test ends the process.
func (t *Text) reach(step string) {
	if t.step != nil {
		t.step(step)
	}
}

// leaveGap goes on at a place behind the end, with lines missing between. What stands before them
// is kept beside the log, since places in one file have no gap.
func (t *Text) leaveGap(end, at uint64) error {
	if t.size > 0 {
		if len(t.pending) > 0 {
			return errors.New("writing the log: lines wait to be written")
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

// writeNumber replaces a small file at once: it has the old or the new number, and has
// it on the disk.
func (t *Text) writeNumber(name string, n uint64) error {
	path := filepath.Join(t.folder, name)
	file, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(file, n)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return syncFolder(t.folder)
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

// ReadBegin is the place of the first byte of the log in a folder, for those who read it beside the
// server. It may change as soon as it is read.
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

// syncFolder has the names in a folder on the disk.
func syncFolder(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
