package file

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"interleave/papaya/irc"
	"interleave/papaya/log"
)

// Files follow what they belong to: the message with their link, and the account that has sent
// them.

// RemoveLinked removes the files whose links are in a text that an account has said. Files of
// others stay: a user who repeats a link and removes that message must not remove the file.
func (s *Store) RemoveLinked(text, account string) (int, error) {
	if account == "" {
		return 0, nil
	}
	var folders []string
	for _, token := range tokensIn(text) {
		folders = append(folders, folderOf(token))
	}
	return s.removeThose(slices.Values(folders),
		func(i Info) bool { return irc.Lower(i.Owner) == irc.Lower(account) })
}

// Expire removes the files that were made before a time.
func (s *Store) Expire(before time.Time) (int, error) {
	return s.removeThose(maps.Keys(s.files), func(i Info) bool { return i.Made.Before(before) })
}

// Rename gives the files of an owner to another one; an empty one is nobody.
func (s *Store) Rename(old, owner string) error {
	for name, i := range s.ownedBy(old) {
		before := i.Owner
		i.Owner = owner
		err := replaceInfo(filepath.Join(s.folder, name), i)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was removed meanwhile
		}
		if err != nil {
			return fmt.Errorf("another owner of file %s: %w", i.ID, err)
		}
		s.mu.Lock()
		if _, there := s.files[name]; there {
			s.count(before, -i.stored())
			s.count(owner, i.stored())
			s.files[name] = i
		}
		s.mu.Unlock()
	}
	return nil
}

// ownedBy returns the files of an owner. Those of nobody are not somebody's.
func (s *Store) ownedBy(owner string) map[string]Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := map[string]Info{}
	for name, i := range s.files {
		if i.Owner != "" && irc.Lower(i.Owner) == irc.Lower(owner) {
			list[name] = i
		}
	}
	return list
}

// replaceInfo replaces what is known of a file by one rename.
func replaceInfo(folder string, i Info) error {
	data, err := json.Marshal(i)
	if err != nil {
		return err
	}
	return log.Replace(filepath.Join(folder, infoName), data)
}

// HasLink says whether a text may have a link to a file.
func HasLink(text string) bool { return len(tokensIn(text)) > 0 }

// tokensIn returns what may be tokens of links in a text.
func tokensIn(text string) (tokens []string) {
	for {
		_, rest, found := strings.Cut(text, linkPath)
		if !found {
			return tokens
		}
		if token := rest[:min(len(rest), tokenLen)]; isToken(token) {
			tokens = append(tokens, token)
		}
		text = rest
	}
}
