package file

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"

	"interleave/papaya/log"
)

// ErrNone is returned for an ID of no file.
var ErrNone = errors.New("there is no such file")

// Remove removes the file of an ID.
func (s *Store) Remove(id string) error {
	if len(id) != idLen {
		return ErrNone
	}
	n, err := s.removeThose(maps.Keys(s.files), func(i Info) bool { return i.ID == id })
	if err == nil && n == 0 {
		err = ErrNone
	}
	return err
}

// removeThose removes the files of these folders that choose selects, and returns their number.
func (s *Store) removeThose(names iter.Seq[string], choose func(Info) bool) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range names {
		i, ok := s.files[name]
		if !ok || !choose(i) {
			continue
		}
		if one := s.remove(name); one != nil {
			err = errors.Join(err, fmt.Errorf("removing file %s: %w", i.ID, one))
			continue
		}
		n++
	}
	return n, err
}

// remove removes one file. It is out of reach when remove returns, and the disk has its room a
// little later. The caller holds mu.
func (s *Store) remove(name string) error {
	gone := filepath.Join(s.folder, gonePrefix+name)
	if err := os.Rename(filepath.Join(s.folder, name), gone); err != nil &&
		!errors.Is(err, fs.ErrNotExist) { // somebody has removed the folder
		return err
	}
	i := s.files[name]
	delete(s.files, name)
	s.count(i.Owner, -i.stored())
	s.removing.Go(func() {
		if err := errors.Join(os.RemoveAll(gone), log.SyncFolder(s.folder)); err != nil {
			s.logger.Warn("a removed file is on the disk until the next start", "file", i.ID,
				"reason", err)
		}
	})
	return nil
}
