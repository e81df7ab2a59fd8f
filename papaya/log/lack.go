package log

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// A server that was away lacks lines, which other servers may have. Until these send them, lines of
// blanks take their places in the file. The text so goes on behind them at once, and every line
// keeps its offset. The file log.lacks names the places, each as FROM TO on a line of its own. It
// is on the disk before the blanks are, and names a place until its lines are on the disk.

// A Range is a part of the text: from one offset on, and before another.
type Range struct{ From, To uint64 }

const (
	lacksName = "log.lacks"
	// missing is at the beginning of a line of blanks, where others have their time.
	missing = "(lines-not-yet-received) "
	// missingLine is the length of most lines of blanks in bytes, below maxTextLine. leastLine is
	// that of the shortest one that IsBlank knows. missingPiece is what is written at a time.
	missingLine  = 1 << 10
	leastLine    = uint64(len(missing) + len("-\n"))
	missingPiece = 1 << 20
	// FillEvery is in bytes: when Fill has written as many, Filled should be called. After a crash
	// they are asked for again.
	FillEvery = 8 << 20
)

// ErrBusy is returned by Fill while the text is copied. The lines must be sent again later.
var ErrBusy = errors.New("the text is being copied")

// Lacks returns the parts of the text that others must send, in ascending order.
func (t *Text) Lacks() []Range {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Clone(t.lacks)
}

// Lacking returns the size of these parts in bytes.
func (t *Text) Lacking() (size uint64) {
	for _, r := range t.Lacks() {
		size += r.To - r.From
	}
	return size
}

// Lack goes on at an offset beyond the end, at which a line begins. The lines before it are lacking
// until Fill writes them. Each server calls Lack, Fill and Filled in one goroutine at a time.
func (t *Text) Lack(to uint64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.sameFile(); err != nil {
		return err
	}
	return t.lack(to)
}

func (t *Text) lack(to uint64) error {
	end := t.begin + uint64(t.size)
	if to <= end {
		return nil
	}
	if len(t.pending) > 0 {
		return errPending
	}
	if err := Space(t.folder, reserve, int(to-end)); err != nil {
		return err
	}
	lacks := append(slices.Clone(t.lacks), Range{end, to})
	if err := t.writeLacks(lacks); err != nil {
		return err
	}
	err := writeMissing(t.file, end, to)
	if err != nil {
		return errors.Join(err, t.file.Truncate(t.size), t.writeLacks(t.lacks))
	}
	t.size, t.lacks = t.size+int64(to-end), lacks
	return nil
}

// writeMissing appends lines of blanks to a file, and syncs it.
func writeMissing(file *os.File, from, to uint64) error {
	for from < to {
		next := missingEnd(from, to, missingPiece)
		if _, err := file.Write(missingLines(from, next)); err != nil {
			return err
		}
		from = next
	}
	return file.Sync()
}

// missingLines returns the lines of blanks for a part of the text.
func missingLines(from, to uint64) []byte {
	out := bytes.Repeat([]byte(" "), int(to-from))
	for at := from; at < to; {
		next := missingEnd(at, to, missingLine)
		line := out[at-from : next-from]
		if uint64(len(line)) >= leastLine {
			copy(line, missing+"-")
		}
		line[len(line)-1] = '\n'
		at = next
	}
	return out
}

// missingEnd returns where a line of blanks ends that begins at an offset: at a multiple of a size,
// so that all know it, with room for one more line behind it, or at the end of the part.
func missingEnd(at, end, size uint64) uint64 {
	next := ((at+leastLine)/size + 1) * size
	if next+leastLine > end {
		return end
	}
	return next
}

// missingBegin returns the beginning of a line of blanks with room for itself before an offset, or
// that of the part.
func missingBegin(begin, at uint64) uint64 {
	if at < leastLine {
		return begin
	}
	line := (at - leastLine) / missingLine * missingLine
	if line <= begin+leastLine {
		return begin
	}
	return line
}

// Fill writes lines that are lacking, of which the first begins at an offset. They are there at
// once. After a restart they are lacking still, unless Filled was called.
func (t *Text) Fill(at uint64, lines []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.sameFile(); err != nil {
		return err
	}
	if t.copying {
		return ErrBusy
	}
	i := slices.IndexFunc(t.lacks, func(r Range) bool { return r.From <= at && at < r.To })
	end := at + uint64(len(lines))
	if i < 0 || end > t.lacks[i].To || !bytes.HasSuffix(lines, []byte("\n")) {
		return fmt.Errorf("writing the log: %d bytes at %d are not what is lacking", len(lines), at)
	}
	if from := t.lacks[i].From; from < at {
		if err := t.splitLack(i, at); err != nil {
			return err
		}
		i++
	}
	to := t.lacks[i].To
	piece := slices.Clone(lines)
	if end < to {
		piece = append(piece, missingLines(end, missingEnd(end, to, missingLine))...)
	}
	if err := t.writeIn(at, piece); err != nil {
		return err
	}
	if end < to {
		t.lacks[i].From = end
	} else {
		t.lacks = slices.Delete(t.lacks, i, i+1)
	}
	return nil
}

// splitLack makes two parts of one that is lacking. A crash can leave half of what Fill writes only
// at the beginning of a part.
func (t *Text) splitLack(i int, at uint64) error {
	r := t.lacks[i]
	from := missingBegin(r.From, at)
	to := missingEnd(at, r.To, missingLine)
	if err := t.writeIn(from, append(missingLines(from, at), missingLines(at, to)...)); err != nil {
		return err
	}
	lacks := slices.Replace(slices.Clone(t.lacks), i, i+1, Range{r.From, at}, Range{at, r.To})
	if err := t.writeLacks(lacks); err != nil {
		return err
	}
	t.lacks = lacks
	return nil
}

// writeIn overwrites a part of the file. It opens the file again, since writes through a file
// descriptor with O_APPEND go to the end.
func (t *Text) writeIn(at uint64, lines []byte) error {
	file, err := os.OpenFile(t.path(), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(lines, int64(at-t.begin))
	return errors.Join(err, file.Close())
}

// Filled notes what Fill has written, after it is on the disk.
func (t *Text) Filled() error {
	if err := t.Sync(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.writeLacks(t.lacks)
}

func (t *Text) writeLacks(lacks []Range) error {
	if len(lacks) == 0 {
		err := os.Remove(filepath.Join(t.folder, lacksName))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return errors.Join(err, SyncFolder(t.folder))
	}
	var text []byte
	for _, r := range lacks {
		text = fmt.Appendf(text, "%d %d\n", r.From, r.To)
	}
	return t.writeSmall(lacksName, text)
}

// parseLacks parses the file log.lacks.
func parseLacks(text []byte) (lacks []Range, err error) {
	last := uint64(0)
	for line := range bytes.Lines(text) {
		var r Range
		n, err := fmt.Sscanf(string(line), "%d %d\n", &r.From, &r.To)
		if err != nil || n != 2 || r.From < last || r.To <= r.From {
			return nil, fmt.Errorf("%q is no part of the log behind %d", line, last)
		}
		lacks, last = append(lacks, r), r.To
	}
	return lacks, nil
}

// openLacks reads what is lacking. It writes the blanks again where a crash may have left a part of
// what Fill has written, and removes those that Lack had not written to the end.
func (t *Text) openLacks() error {
	text, err := os.ReadFile(filepath.Join(t.folder, lacksName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		t.lacks, err = parseLacks(text)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", lacksName, err)
	}
	end := t.begin + uint64(t.size)
	for i, r := range t.lacks {
		if r.To > end {
			t.lacks = t.lacks[:i]
			if r.From >= t.begin && r.From < end {
				err = t.truncate(int64(r.From - t.begin))
			}
			break
		}
	}
	t.clipLacks()
	for _, r := range t.lacks {
		if err == nil {
			to := missingEnd(min(r.From+FillEvery+textPart, r.To), r.To, missingLine)
			err = t.writeIn(r.From, missingLines(r.From, to))
		}
	}
	return err
}

// clipLacks forgets what lies outside the file, whose beginning or end has changed.
func (t *Text) clipLacks() {
	begin, end := t.begin, t.begin+uint64(t.size)
	t.lacks = slices.DeleteFunc(t.lacks, func(r Range) bool {
		return r.To <= begin || r.From >= end
	})
	for i := range t.lacks {
		r := &t.lacks[i]
		r.From, r.To = max(r.From, begin), min(r.To, end)
	}
}

// present returns the first offset from another on that is not lacking, and where the next lines
// are that are.
func (t *Text) present(from uint64) (at, to uint64) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	at = max(from, t.begin)
	for _, r := range t.lacks {
		switch {
		case r.To <= at:
		case r.From <= at:
			at = r.To
		default:
			return at, r.From
		}
	}
	return at, max(at, t.begin+uint64(t.size)+uint64(len(t.pending)))
}

// beforeLack returns an offset, or where the lines begin that are lacking right before it: nobody
// knows how old these are.
func (t *Text) beforeLack(at uint64) uint64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, r := range slices.Backward(t.lacks) {
		if r.To == at {
			at = r.From
		}
	}
	return at
}
