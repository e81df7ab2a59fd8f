package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Version is the format's: a reader of a later one says so instead of guessing. Format 1 is read
// too (former.go).
const Version = 2

// The files of a run's directory.
const (
	headerFile = "run.json"
	cellsFile  = "cells.jsonl"
	lockFile   = "lock"
	TreeDir    = "tree" // a copy of the manifests and sources that were measured
)

// maxLineBytes bounds one cell; the largest seen, 1,000 samples and three histograms, is 400 kB.
const maxLineBytes = 64 << 20

// ErrLocked is a run directory that another process writes to.
var ErrLocked = errors.New("another interleave writes to this run")

// A Run is what a directory holds.
type Run struct {
	Dir    string
	Header Header
	Cells  []Cell
}

// A Writer appends to a run's directory. One goroutine owns it.
type Writer struct {
	Dir    string
	header Header
	cells  *os.File
	size   int64 // of cells.jsonl up to its last whole line
	lock   *os.File
}

// NewID names a run after the time it started.
func NewID(t time.Time) string { return t.UTC().Format("20060102T150405Z") }

// Create makes the directory of a new run below root. The header's ID is the directory's
// name; a second run of the same second gets a suffix. Fill, unless nil, puts into the
// directory what belongs there from the start; the header is written after it, so that a
// directory with one is whole.
func Create(root string, h Header, fill func(dir string) error) (*Writer, error) {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, fmt.Errorf("create the folder of runs: %w", err)
	}
	id := h.ID
	for n := 2; ; n++ {
		err := os.Mkdir(filepath.Join(root, id), 0o755)
		if err == nil {
			break
		}
		if !errors.Is(err, os.ErrExist) || n > 99 {
			return nil, fmt.Errorf("create the run's folder: %w", err)
		}
		id = fmt.Sprintf("%s-%d", h.ID, n)
	}
	h.ID, h.Version = id, Version
	w, err := open(filepath.Join(root, id), h)
	if err != nil {
		return nil, err
	}
	if fill != nil {
		err = fill(w.Dir)
	}
	if err == nil {
		err = w.writeHeader()
	}
	if err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// Resume opens a run for more cells. A torn last line, the mark of a kill, is cut off. A run of an
// earlier format goes on in this one, and its header says so before a cell is added.
func Resume(dir string) (*Writer, *Run, error) {
	w, err := open(dir, Header{})
	if err != nil {
		return nil, nil, err
	}
	run, whole, err := read(dir)
	if err == nil {
		err = w.cells.Truncate(whole)
	}
	if err == nil {
		_, err = w.cells.Seek(whole, io.SeekStart)
	}
	if err == nil && run.Header.Version < Version {
		run.Header.Version = Version
		w.header = run.Header
		err = w.writeHeader()
	}
	if err != nil {
		w.Close()
		return nil, nil, fmt.Errorf("resume %s: %w", dir, err)
	}
	w.header, w.size = run.Header, whole
	return w, run, nil
}

func open(dir string, h Header) (*Writer, error) {
	lock, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the run: %w", err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		return nil, fmt.Errorf("open %s: %w", dir, ErrLocked)
	}
	cells, err := os.OpenFile(filepath.Join(dir, cellsFile), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("open the run: %w", err)
	}
	return &Writer{Dir: dir, header: h, cells: cells, lock: lock}, nil
}

// Header is the run's, as last written.
func (w *Writer) Header() Header { return w.header }

// Update changes the header and writes it anew.
func (w *Writer) Update(change func(*Header)) error {
	change(&w.header)
	return w.writeHeader()
}

// writeHeader replaces run.json whole, so that a reader sees the old one or the new one.
func (w *Writer) writeHeader() error {
	data, err := json.MarshalIndent(w.header, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the header: %w", err)
	}
	if err := replace(filepath.Join(w.Dir, headerFile), append(data, '\n')); err != nil {
		return fmt.Errorf("write the header: %w", err)
	}
	return nil
}

// Append writes one cell as one line and waits until it is on disk. After an error the file holds
// what it held before.
func (w *Writer) Append(c *Cell) error {
	line, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("encode a cell: %w", err)
	}
	line = append(line, '\n')
	_, err = w.cells.WriteAt(line, w.size)
	if err == nil {
		err = w.cells.Sync()
	}
	if err != nil {
		cut := w.cells.Truncate(w.size)
		return errors.Join(fmt.Errorf("record a cell: %w", err), cut)
	}
	w.size += int64(len(line))
	return nil
}

// Finish marks the run as complete.
func (w *Writer) Finish(at time.Time) error {
	at = at.UTC()
	return w.Update(func(h *Header) { h.Finished = &at })
}

// Close ends writing; the run can be resumed.
func (w *Writer) Close() error {
	return errors.Join(w.cells.Close(), w.lock.Close())
}

// Read returns the run in dir, but for a torn last line.
func Read(dir string) (*Run, error) {
	run, _, err := read(dir)
	if err != nil {
		return nil, fmt.Errorf("read the run: %w", err)
	}
	return run, nil
}

// read also returns the length of cells.jsonl up to its last whole line.
func read(dir string) (run *Run, whole int64, err error) {
	run = &Run{Dir: dir}
	data, err := os.ReadFile(filepath.Join(dir, headerFile))
	if err != nil {
		return nil, 0, err
	}
	if err := json.Unmarshal(data, &run.Header); err != nil {
		return nil, 0, fmt.Errorf("%s: %w", headerFile, err)
	}
	if v := run.Header.Version; v < 1 || v > Version {
		return nil, 0, fmt.Errorf("%s: format version %d, this program reads 1 to %d", headerFile,
			v, Version)
	}
	f, err := os.Open(filepath.Join(dir, cellsFile))
	if errors.Is(err, os.ErrNotExist) {
		return run, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	run.Cells, whole, err = decode(f)
	return run, whole, err
}

// decode reads cells, one a line. A last line without its end is left out: it is the cell under way
// when the writer was killed. Any other line that does not decode is an error.
func decode(r io.Reader) (cells []Cell, whole int64, err error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, 0, err
	}
	for n := 1; ; n++ {
		line, rest, found := bytes.Cut(data, []byte{'\n'})
		if !found {
			return cells, whole, nil
		}
		if len(line) > maxLineBytes {
			return nil, 0, fmt.Errorf("%s:%d: a line of %d bytes, at most %d are allowed",
				cellsFile, n, len(line), maxLineBytes)
		}
		var c Cell
		err := json.Unmarshal(line, &c)
		if err == nil {
			err = upgrade(line, &c)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("%s:%d: %w", cellsFile, n, err)
		}
		cells, whole, data = append(cells, c), whole+int64(len(line))+1, rest
	}
}

// replace writes a file whole or not at all.
func replace(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// List returns the IDs of the runs below root, the newest last. No folder is no runs.
func List(root string) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(root, "*", headerFile))
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, f := range found {
		ids = append(ids, filepath.Base(filepath.Dir(f)))
	}
	slices.Sort(ids)
	return ids, nil
}

// Find turns what a person types into a run's directory: a path, an ID, the beginning of one, or
// "last".
func Find(root, name string) (string, error) {
	if _, err := os.Stat(filepath.Join(name, headerFile)); err == nil {
		return name, nil
	}
	ids, err := List(root)
	if err != nil {
		return "", err
	}
	if len(ids) == 0 {
		return "", fmt.Errorf("no run below %s: `interleave run` makes one", root)
	}
	if name == "last" {
		return filepath.Join(root, ids[len(ids)-1]), nil
	}
	var match []string
	for _, id := range ids {
		if id == name {
			return filepath.Join(root, id), nil
		}
		if strings.HasPrefix(id, name) {
			match = append(match, id)
		}
	}
	switch len(match) {
	case 1:
		return filepath.Join(root, match[0]), nil
	case 0:
		return "", fmt.Errorf("no run %q: the newest is %s", name, ids[len(ids)-1])
	}
	return "", fmt.Errorf("%q is the beginning of %d runs: %s", name, len(match),
		strings.Join(match, ", "))
}
