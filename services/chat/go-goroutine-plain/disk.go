package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	stampFormat = "2006-01-02T15:04:05.000Z"
	stampLen    = len(stampFormat)
	// mostGrown is in bytes: the file of members is rewritten when it has grown by that much. A
	// guess.
	mostGrown = 1 << 20
)

// disk is the data folder. log has the messages. members has a line for each change of how far a
// person has read: "ann #tea 1200", "ann #tea -" after PART, and "ann * 1200" for private messages
// to ann. The owner of the rooms owns all but the part under the lock.
type disk struct {
	dir string
	log *os.File
	// The position of the log's first byte. Positions go on after the log was made anew.
	base    int64
	end     int64 // the position of the next line
	torn    bool  // an incomplete line may follow it
	members *os.File
	grown   int
	stale   bool // members could not be written: it must be rewritten

	mu      sync.Mutex
	work    *sync.Cond
	done    *sync.Cond
	files   [2]*os.File
	wanted  int64 // that many changes are waited for
	written int64 // all changes so far; only the owner of the rooms changes it
	safe    atomic.Int64
	failed  atomic.Bool
	// The changes after the first and up to the second may be lost, because a sync has failed.
	lost [2]int64
}

func openDisk(dir string) (*disk, error) {
	d := &disk{dir: dir}
	d.work, d.done = sync.NewCond(&d.mu), sync.NewCond(&d.mu)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := d.openLog(); err != nil {
		return nil, err
	}
	go d.sync()
	return d, nil
}

// openLog opens the log, and removes an incomplete line that a crash has left. The lock on the log
// makes the folder ours.
func (d *disk) openLog() error {
	f, err := os.OpenFile(filepath.Join(d.dir, "log"), os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return fmt.Errorf("%s belongs to another server: %w", d.dir, err)
	}
	size, err := wholeLines(f)
	if err == nil {
		err = f.Truncate(size)
	}
	if err != nil {
		f.Close()
		return err
	}
	d.log, d.base, d.torn = f, d.end-size, false
	if d.members == nil { // the first time: positions are offsets in the file
		d.base, d.end = 0, size
	}
	return nil
}

// wholeLines returns the length of the file up to its last LF.
func wholeLines(f *os.File) (int64, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	tail := make([]byte, min(size, 2*longest))
	if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil && err != io.EOF {
		return 0, err
	}
	last := bytes.LastIndexByte(tail, '\n')
	if last < 0 && size > int64(len(tail)) {
		return 0, fmt.Errorf("%s: no lines of a log", f.Name())
	}
	return size - int64(len(tail)) + int64(last+1), nil
}

// append writes whole lines, or nothing at all.
func (d *disk) append(lines []byte) error {
	err := d.find()
	if err == nil && d.torn {
		err = d.log.Truncate(d.end - d.base)
	}
	if err != nil {
		return err
	}
	d.torn = false
	if _, err := d.log.Write(lines); err != nil {
		d.torn = d.log.Truncate(d.end-d.base) != nil
		return err
	}
	d.end += int64(len(lines))
	d.changed()
	return nil
}

// find checks that the open log is still the one with its name, and otherwise begins another.
func (d *disk) find() error {
	there, err := os.Stat(d.log.Name())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if ours, _ := d.log.Stat(); err == nil && os.SameFile(there, ours) {
		return nil
	}
	d.stale = true
	return d.openLog() // the old one is closed when nobody reads it any more
}

// changed tells the syncer that something was written.
func (d *disk) changed() {
	d.mu.Lock()
	d.written++
	d.files = [2]*os.File{d.log, d.members}
	d.mu.Unlock()
}

// sync is the goroutine that syncs the disk for all that wait at the time.
func (d *disk) sync() {
	d.mu.Lock()
	for {
		for d.wanted <= d.safe.Load() {
			d.work.Wait()
		}
		upto, files := d.written, d.files
		d.mu.Unlock()
		var err error
		for _, f := range files {
			if f != nil {
				err = errors.Join(err, syscall.Fdatasync(int(f.Fd())))
			}
		}
		d.mu.Lock()
		// ^The kernel may have dropped what it could not write, and would not report it again.
		if err != nil {
			if d.lost[1] < d.safe.Load() {
				d.lost[0] = d.safe.Load()
			}
			d.lost[1] = upto
			d.failed.Store(true)
		}
		d.safe.Store(upto)
		d.done.Broadcast()
	}
}

func (d *disk) isSafe(n int64) bool { return n <= d.safe.Load() && !d.failed.Load() }

// wait returns when the first n changes are on the disk.
func (d *disk) wait(n int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.wanted < n {
		d.wanted = n
		d.work.Signal()
	}
	for d.safe.Load() < n {
		d.done.Wait()
	}
	if n > d.lost[0] && n <= d.lost[1] {
		return errors.New("the disk has failed")
	}
	return nil
}

// note adds a line to members. If it cannot be written, the next snapshot has it.
func (d *disk) note(who, where string, upto int64) {
	if d.stale {
		return
	}
	n, err := d.members.WriteString(d.line(who, where, upto))
	d.grown += n
	d.stale = err != nil || d.grown > mostGrown
	d.changed()
}

func (d *disk) line(who, where string, upto int64) string {
	if upto < 0 {
		return who + " " + where + " -\n"
	}
	return who + " " + where + " " + strconv.FormatInt(max(upto-d.base, 0), 10) + "\n"
}

// snapshot replaces the file of members.
func (d *disk) snapshot(each func(note func(who, where string, upto int64))) error {
	name := filepath.Join(d.dir, "members")
	f, err := os.OpenFile(name+".new", os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	each(func(who, where string, upto int64) {
		_, _ = w.WriteString(d.line(who, where, upto)) // Flush returns the error
	})
	if err = errors.Join(w.Flush(), f.Sync()); err == nil {
		err = os.Rename(name+".new", name)
	}
	if err != nil {
		f.Close()
		return err
	}
	d.members, d.stale, d.grown = f, false, 0
	d.changed()
	return nil
}

// readMembers parses the file of members. A last line without LF was cut off by a crash.
func (d *disk) readMembers(each func(who, where string, upto int64)) error {
	data, err := os.ReadFile(filepath.Join(d.dir, "members"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for line := range strings.Lines(string(data)) {
		words := strings.Split(line, " ")
		if len(words) != 3 || !strings.HasSuffix(line, "\n") {
			continue
		}
		upto, err := strconv.ParseInt(strings.TrimSpace(words[2]), 10, 64)
		if err != nil {
			upto = -1
		}
		each(words[0], words[1], min(upto, d.end)) // the log may be shorter after a loss of power
	}
	return nil
}

// flush syncs everything soon, without waiting.
func (d *disk) flush() {
	d.mu.Lock()
	d.wanted = d.written
	d.mu.Unlock()
	d.work.Signal()
}

// section is a part of the log. It can be read even if the folder is gone.
func (d *disk) section(from, to int64) *io.SectionReader {
	from = max(from-d.base, 0)
	return io.NewSectionReader(d.log, from, to-d.base-from)
}

// said is one line of the log.
type said struct {
	line              []byte // without its LF
	from, verb, where []byte
	text              []byte // after the colon
}

// each calls line with each line until it returns false.
func each(r io.Reader, line func(said) bool) error {
	lines := bufio.NewReaderSize(r, 64<<10)
	for {
		l, err := lines.ReadSlice('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		s := said{line: l[:len(l)-1]}
		if len(l) > stampLen+len(" :") {
			source, rest, _ := bytes.Cut(s.line[stampLen+len(" :"):], []byte(" "))
			s.from, _, _ = bytes.Cut(source, []byte("!"))
			s.verb, rest, _ = bytes.Cut(rest, []byte(" "))
			s.where, s.text, _ = bytes.Cut(rest, []byte(" :"))
		}
		if !line(s) {
			return nil
		}
	}
}

func stamp(to []byte) []byte { return time.Now().UTC().AppendFormat(to, stampFormat) }
