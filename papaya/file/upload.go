package file

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"interleave/papaya/log"
)

// An Upload is a file that is on its way. One goroutine uses it, and calls Abort once, at its end.
type Upload struct {
	store   *Store
	owner   string
	folder  string // where it is until it is complete
	data    *os.File
	size    int64
	counted int64
}

// Begin begins an upload by an owner. size is in bytes, or less than 0 if it is not known yet.
func (s *Store) Begin(owner string, size int64) (*Upload, error) {
	size = max(size, 0)
	if err := s.take(owner, 0, size); err != nil {
		return nil, err
	}
	s.add(owner, -size) // it counts when it comes
	if err := s.space(s.folder, reserve, int(size)); err != nil {
		return nil, noRoom(err)
	}
	s.mu.Lock()
	many := len(s.files)+s.coming >= maxFiles
	if !many {
		s.coming++
	}
	s.mu.Unlock()
	if many {
		return nil, errMany
	}
	u := &Upload{store: s, owner: owner}
	err := os.MkdirAll(s.folder, 0o700)
	if err == nil {
		u.folder, err = os.MkdirTemp(s.folder, freshPrefix+"*") // mode 0700
	}
	if err == nil {
		u.data, err = os.OpenFile(filepath.Join(u.folder, dataName),
			os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err != nil {
		u.Abort()
		return nil, noRoom(err)
	}
	return u, nil
}

// Write implements io.Writer.
func (u *Upload) Write(p []byte) (int, error) {
	more := int64(len(p))
	if err := u.store.take(u.owner, u.size, more); err != nil {
		return 0, err
	}
	u.counted += more
	err := u.store.space(u.store.folder, reserve, len(p))
	n := 0
	if err == nil {
		n, err = u.store.write(u.data, p)
	}
	u.size += int64(n)
	if err != nil {
		return n, noRoom(err)
	}
	return n, nil
}

// Commit stores the file under a name, and returns the token of its link. It decides the type and
// makes a thumbnail. After a crash the file is there as a whole, or not at all.
func (u *Upload) Commit(ctx context.Context, name string) (i Info, token string, err error) {
	s := u.store
	i = Info{Owner: u.owner, Name: cleanName(name), Size: u.size,
		Made: s.now().UTC().Truncate(time.Millisecond)}
	if u.size == 0 {
		return i, "", errEmpty
	}
	if err := u.examine(ctx, &i); err != nil {
		return i, "", err
	}
	if i.Name == noName {
		i.Name += shown[i.Type]
	}
	token = newToken()
	final := folderOf(token)
	i.ID = final[:idLen]
	text, err := json.Marshal(i)
	if err != nil {
		return i, "", err
	}
	err = errors.Join(u.write(infoName, text), u.data.Sync(), log.SyncFolder(u.folder))
	if err != nil {
		return i, "", noRoom(err)
	}
	path := filepath.Join(s.folder, final)
	if err = os.Rename(u.folder, path); err == nil {
		u.folder = path // Abort removes it, unless it is known to be on the disk
		err = log.SyncFolder(s.folder)
	}
	if err != nil {
		return i, "", noRoom(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[final] = i
	u.folder, u.counted = "", 0
	return i, token, nil
}

// examine decides the type of the content, and makes a thumbnail of an image.
func (u *Upload) examine(ctx context.Context, i *Info) error {
	kind, err := sniff(u.data)
	if err != nil {
		return err
	}
	i.Type = kind
	if !isImage(kind) {
		return nil
	}
	s := u.store
	small, err := s.Shrink(ctx, u.data)
	if errors.As(err, new(refusal)) {
		return err
	}
	if err != nil { // it only looks like an image: it may be fetched, and is not shown
		s.logger.Debug("a file is no image", "type", kind, "reason", err)
		i.Type = unknown
		return nil
	}
	i.Thumbnail, i.Width, i.Height = int64(len(small.Data)), small.Width, small.Height
	s.add(u.owner, i.Thumbnail)
	u.counted += i.Thumbnail
	if err := u.write(thumbnailName, small.Data); err != nil {
		return noRoom(err)
	}
	return nil
}

// write writes a further file into the folder.
func (u *Upload) write(name string, data []byte) error {
	f, err := os.OpenFile(filepath.Join(u.folder, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = u.store.write(f, data)
	return errors.Join(err, f.Sync(), f.Close())
}

// Abort ends the upload. It removes what was not committed.
func (u *Upload) Abort() {
	if u.data != nil {
		_ = u.data.Close() // what is committed was synced
	}
	if u.folder != "" {
		if err := os.RemoveAll(u.folder); err != nil {
			u.store.logger.Warn("an upload that has failed is on the disk until the next start",
				"path", u.folder, "reason", err)
		}
	}
	s := u.store
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count(u.owner, -u.counted)
	s.coming--
}

// noRoom makes an error of the disk the answer to the uploader. Others are failures of the server.
func noRoom(err error) error {
	if isFull(err) {
		return errFull
	}
	return fmt.Errorf("storing a file: %w", err)
}
