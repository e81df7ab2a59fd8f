package search

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"interleave/papaya/log"
)

// The files of the folder, beside segments: one that is being written, and a list of segments that
// have messages which are being removed from the text.
const (
	freshName = "new"
	staleName = "stale"
)

var segmentName = regexp.MustCompile(`^([0-9a-f]{8})-([0-9a-f]{4})$`)

func isOurs(name string) bool {
	return name == freshName || name == staleName || segmentName.MatchString(name) ||
		strings.HasPrefix(name, ".new-") // of log.Replace
}

func fileName(from, chunks uint32) string { return fmt.Sprintf("%08x-%04x", from, chunks) }

func (x *Index) path(from, chunks uint32) string {
	return filepath.Join(x.folder, fileName(from, chunks))
}

// load opens the segments that are on the disk, unless that was done. Files that are damaged, do
// not fit the text, or may have words that are gone from it are removed.
func (x *Index) load() error {
	if x.loaded {
		return nil
	}
	if err := os.MkdirAll(x.folder, 0o700); err != nil {
		return err
	}
	if err := x.removeStale(); err != nil {
		return err
	}
	entries, err := os.ReadDir(x.folder)
	if err != nil {
		return err
	}
	type place struct{ from, chunks uint32 }
	var places []place
	for _, e := range entries {
		m := segmentName.FindStringSubmatch(e.Name())
		if m == nil {
			if isOurs(e.Name()) {
				_ = os.Remove(filepath.Join(x.folder, e.Name()))
			}
			continue
		}
		from, _ := strconv.ParseUint(m[1], 16, 32)
		chunks, _ := strconv.ParseUint(m[2], 16, 32)
		places = append(places, place{uint32(from), uint32(chunks)})
	}
	others := 0 // of another format
	// The larger ones come first: a crash may have left the segments that one was made from.
	slices.SortFunc(places, func(a, b place) int { return int(b.chunks) - int(a.chunks) })
	for _, p := range places {
		there := slices.ContainsFunc(x.list(),
			func(s *segment) bool { return s.from == p.from && s.chunks == p.chunks })
		if there { // it was opened by a call that has failed at another file
			continue
		}
		s, err := x.loadSegment(p.from, p.chunks)
		if err != nil {
			switch {
			case errors.Is(err, errFormat):
				others++
			case !errors.Is(err, errCovered):
				x.logger.Warn("a part of the index of the messages is made again", "reason", err)
			}
			if err := os.Remove(x.path(p.from, p.chunks)); err != nil {
				return err
			}
			continue
		}
		x.replace(s, nil)
	}
	if others > 0 {
		x.logger.Info("the index of the messages is made again, since this version has another "+
			"form of it: until then searches and histories read the text, which takes longer",
			"files", others)
	}
	x.loaded = true
	return nil
}

// The reasons why a file of a whole segment is not used.
var (
	errCovered = errors.New("a larger part has the same")
	errOther   = errors.New("it does not fit the text")
)

func (x *Index) loadSegment(from, chunks uint32) (*segment, error) {
	covered := slices.ContainsFunc(x.list(),
		func(s *segment) bool { return s.from < from+chunks && from < s.end() })
	if covered {
		return nil, errCovered
	}
	s, err := openFile(x.path(from, chunks))
	if err != nil {
		return nil, err
	}
	if s.from != from || s.chunks != chunks {
		err = errDamaged
	} else {
		err = x.compare(s)
	}
	if err != nil {
		s.release()
		return nil, fmt.Errorf("%s: %w", fileName(from, chunks), err)
	}
	return s, nil
}

// compare compares the last chunk of a segment with the text, which may be another one: somebody
// may have replaced it, or it was written again behind a crash. The text may have lost messages
// since, which follow removes.
func (x *Index) compare(s *segment) error {
	last := s.end() - 1
	start, end := uint64(last)<<ChunkBits, uint64(s.end())<<ChunkBits
	if end > x.source.End() {
		return errOther
	}
	have, err := s.offsets([]string{everything}, start, end, 1<<ChunkBits, false)
	if err != nil {
		return err
	}
	lacks := false
	_, err = x.source.Messages(last, func(m Message) {
		_, there := slices.BinarySearch(have, m.At)
		lacks = lacks || !there
	})
	if err == nil && lacks {
		err = errOther
	}
	return err
}

// removeStale removes the segments that were named before lines were removed from the text, if that
// was not finished.
func (x *Index) removeStale() error {
	path := filepath.Join(x.folder, staleName)
	names, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for name := range strings.Lines(string(names)) {
		name = strings.TrimSuffix(name, "\n")
		if !segmentName.MatchString(name) {
			continue
		}
		if err := os.Remove(filepath.Join(x.folder, name)); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return errors.Join(os.Remove(path), log.SyncFolder(x.folder))
}
