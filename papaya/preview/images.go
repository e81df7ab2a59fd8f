package preview

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"interleave/papaya/file"
	"interleave/papaya/log"
)

// Images are the images of previews in a folder. Each is reached by a secret token of 130 bits, as
// files are, and is in a file whose name is the SHA-256 of that. All of them are JPEG that our own
// encoder has written. They are a cache: what is old, or too much, goes. Any goroutine may use it.
type Images struct {
	folder string
	total  func() int64 // bytes that all may take
	logger *slog.Logger
	now    func() time.Time

	mu   sync.Mutex
	all  map[string]stored // by the name of the file
	used int64
}

// A stored image is what is known of its file.
type stored struct {
	size int64
	made time.Time
}

const (
	suffix   = ".jpg"
	tokenLen = 26 // of crypto/rand.Text
	// reserve is left free on the disk, in bytes, for messages. A guess.
	reserve = 64 << 20
)

// OpenImages returns the images of a folder, which need not exist. It removes what a crash has left
// incomplete. The caller has locked the folder.
func OpenImages(folder string, total func() int64, logger *slog.Logger) (*Images, error) {
	all := &Images{folder: folder, total: total, logger: logger, now: time.Now,
		all: map[string]stored{}}
	list, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("opening the images of previews: %w", err)
	}
	for _, d := range list {
		name := d.Name()
		i, err := d.Info()
		switch {
		case err != nil, !i.Mode().IsRegular():
			logger.Warn("something that is not ours is among the images of previews", "name", name)
		case len(name) == 2*sha256.Size+len(suffix) && strings.HasSuffix(name, suffix):
			all.all[name] = stored{i.Size(), i.ModTime()}
			all.used += i.Size()
		default:
			if err := os.Remove(filepath.Join(folder, name)); err != nil {
				return nil, fmt.Errorf("opening the images of previews: %w", err)
			}
		}
	}
	return all, nil
}

// nameOf returns the name of a token's file.
func nameOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:]) + suffix
}

// Add stores an image, and removes the oldest ones if there are too many.
func (all *Images) Add(jpeg []byte) (token string, err error) {
	size := int64(len(jpeg))
	if err := all.makeRoom(size); err != nil {
		return "", err
	}
	token = rand.Text()
	name := nameOf(token)
	err = os.MkdirAll(all.folder, 0o700)
	if err == nil {
		err = log.Space(all.folder, reserve, len(jpeg))
	}
	if err == nil {
		err = log.Replace(filepath.Join(all.folder, name), jpeg)
	}
	if err != nil {
		return "", fmt.Errorf("storing the image of a preview: %w", err)
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	all.all[name] = stored{size, all.now()}
	all.used += size
	return token, nil
}

// makeRoom removes the oldest images until one of so many bytes has room.
func (all *Images) makeRoom(size int64) error {
	all.mu.Lock()
	defer all.mu.Unlock()
	total := all.total()
	if size > total {
		return errSize
	}
	for all.used+size > total {
		oldest := ""
		for name, i := range all.all {
			if oldest == "" || i.made.Before(all.all[oldest].made) {
				oldest = name
			}
		}
		if oldest == "" {
			return nil // others are about to be stored
		}
		if err := all.remove(oldest); err != nil {
			return err
		}
	}
	return nil
}

// remove removes a file. The caller holds mu.
func (all *Images) remove(name string) error {
	err := os.Remove(filepath.Join(all.folder, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the image of a preview: %w", err)
	}
	all.used -= all.all[name].size
	delete(all.all, name)
	return nil
}

// Remove removes the image of a token. It is no error if there is none.
func (all *Images) Remove(token string) error {
	all.mu.Lock()
	defer all.mu.Unlock()
	name := nameOf(token)
	if _, there := all.all[name]; !there {
		return nil
	}
	return all.remove(name)
}

// Expire removes the images that were made before a time, and returns their number.
func (all *Images) Expire(before time.Time) (n int, err error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for name, i := range all.all {
		if !i.made.Before(before) {
			continue
		}
		if one := all.remove(name); one != nil {
			err = errors.Join(err, one)
			continue
		}
		n++
	}
	return n, err
}

// Usage returns the number of images, and their bytes.
func (all *Images) Usage() (n int, bytes int64) {
	all.mu.Lock()
	defer all.mu.Unlock()
	return len(all.all), all.used
}

// find returns what is known of the image of a token, and its file's name.
func (all *Images) find(token string) (i stored, name string, ok bool) {
	if len(token) != tokenLen {
		return stored{}, "", false
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	name = nameOf(token)
	i, ok = all.all[name]
	return i, name, ok
}

// Handler serves the images at /preview/TOKEN. The token is the right to see one.
func (all *Images) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /preview/{token}", func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		file.Confine(h)
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		i, name, ok := all.find(r.PathValue("token"))
		var f *os.File
		if ok {
			var err error
			if f, err = os.Open(filepath.Join(all.folder, name)); err != nil {
				all.logger.Debug("an image of a preview cannot be opened", "reason", err)
				ok = false
			}
		}
		if !ok {
			http.Error(w, "There is no such image, or not any more.", http.StatusNotFound)
			return
		}
		defer f.Close()
		h.Set("Content-Type", "image/jpeg")
		h.Set("Content-Disposition", "inline; filename=preview.jpg")
		h.Set("ETag", `"`+name[:12]+`"`)
		file.ServePaced(w, r, i.made, i.size, f)
	})
	return mux
}
