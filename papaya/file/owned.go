package file

import (
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"interleave/papaya/irc"
)

// Holdings are the files of one owner, and the room that they take, in bytes.
type Holdings struct {
	Files []Info // the newest first
	Used  int64  // with thumbnails, and with uploads that are under way
	Limit int64  // of the account
	Left  int64  // that the owner may still send, by the limit of all files, too
}

// Owned returns the files of an owner.
func (s *Store) Owned(owner string) Holdings {
	files := slices.SortedFunc(maps.Values(s.ownedBy(owner)), func(a, b Info) int {
		if c := b.Made.Compare(a.Made); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	limits := s.limits()
	s.mu.Lock()
	defer s.mu.Unlock()
	used := s.used[irc.Lower(owner)]
	return Holdings{files, used, limits.Account,
		max(0, min(limits.Account-used, limits.Total-s.total))}
}

// maxLines is how many files Lines lists. A guess.
const maxLines = 100

// Lines lists the newest files for people and programs: a summary, and then a line for each, with
// the word file, its ID, size in bytes, time and type, and its name, which may have blanks.
func (o Holdings) Lines() []string {
	sum := fmt.Sprintf("%d files take %s of %s, and %s are left.", len(o.Files), Bytes(o.Used),
		Bytes(o.Limit), Bytes(o.Left))
	list := o.Files
	if len(list) > maxLines {
		list = list[:maxLines]
		sum += fmt.Sprintf(" These are the newest %d.", maxLines)
	}
	lines := []string{sum}
	for _, i := range list {
		lines = append(lines, fmt.Sprintf("file %s size=%d made=%s type=%s %s", i.ID, i.Size,
			i.Made.Format(time.RFC3339), i.Type, i.Name))
	}
	return lines
}

// RemoveOwn removes the file of an ID if it is the owner's. Else it returns ErrNone, which does not
// tell whether there is such a file.
func (s *Store) RemoveOwn(id, owner string) (Info, error) {
	if len(id) != idLen {
		return Info{}, ErrNone
	}
	return s.removeOf(maps.Keys(s.ownedBy(owner)), id, owner)
}

// RemoveLink removes the file of a token if it is the owner's.
func (s *Store) RemoveLink(token, owner string) (Info, error) {
	return s.removeOf(slices.Values([]string{folderOf(token)}), "", owner)
}

// LogDeleted notes in the server's log that an owner has deleted a file. Its link is not in it.
func LogDeleted(logger *slog.Logger, i Info) {
	logger.Info("a file was deleted by its owner", "file", i.ID, "owner", i.Owner, "size", i.Size)
}

// removeOf removes that of an owner's files in some folders which has an ID; empty is any.
func (s *Store) removeOf(folders iter.Seq[string], id, owner string) (one Info, err error) {
	n, err := s.removeThose(folders, func(i Info) bool {
		if i.Owner == "" || irc.Lower(i.Owner) != irc.Lower(owner) || id != "" && i.ID != id {
			return false
		}
		one = i
		return true
	})
	if err == nil && n == 0 {
		err = ErrNone
	}
	return one, err
}
