// Package file keeps the files that people send each other, and serves them by HTTP.
//
// A file is reached by a link with a secret token of 130 bits. Whoever has the link may fetch the
// file; that is the only right there is. On the disk each file has a folder, whose name is the
// SHA-256 of the token, so that neither a listing nor a backup has links. A folder appears by one
// rename, whole or not at all.
package file

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"interleave/papaya/irc"
	"interleave/papaya/log"
)

// An Info is what is known of a file. It is in the file's folder as info.json.
type Info struct {
	ID    string    `json:"id"`              // the first digits of the folder's name
	Owner string    `json:"owner,omitempty"` // an account, or the nick of a program
	Name  string    `json:"name"`
	Type  string    `json:"type"` // by its content
	Size  int64     `json:"size"` // in bytes
	Made  time.Time `json:"made"`
	// The thumbnail's size in bytes and pixels; 0 if the file has none.
	Thumbnail int64 `json:"thumbnail,omitempty"`
	Width     int   `json:"width,omitempty"`
	Height    int   `json:"height,omitempty"`
}

// stored is how many bytes count against the limits.
func (i Info) stored() int64 { return i.Size + i.Thumbnail }

// Limits are those of a Store, in bytes, and of an image in pixels.
type Limits struct {
	Size    int64 // of one file; 0: no files are taken
	Account int64 // of all files of one owner
	Total   int64 // of all files
	Pixels  int
}

// The names in a file's folder.
const (
	dataName      = "data"
	thumbnailName = "thumbnail.jpg"
	infoName      = "info.json"
)

// The beginnings of the names of folders that are not complete yet, and not any more. A start
// removes both.
const (
	freshPrefix = ".new-"
	gonePrefix  = ".gone-"
)

const (
	idLen    = 12 // digits of an ID, as those of tokens
	maxFiles = 100_000
	// reserve is left free on the disk, in bytes, for messages. A guess.
	reserve = 64 << 20
)

// A Store has the files of a folder. Any goroutine may use it.
type Store struct {
	folder string
	limits func() Limits
	logger *slog.Logger

	mu     sync.Mutex
	files  map[string]Info  // by the name of the folder
	used   map[string]int64 // bytes by folded owner, with those of uploads that are under way
	total  int64
	coming int // uploads that are under way

	shrinking chan struct{} // holds one while a thumbnail is made: a decoder takes much memory
	removing  sync.WaitGroup

	// What tests replace.
	now   func() time.Time
	space func(folder string, reserve uint64, size int) error
	write func(f *os.File, p []byte) (int, error)
}

// Open returns the files of a folder, which need not exist. It removes what uploads and removals
// have left that a crash has ended. The caller has locked the folder.
func Open(folder string, limits func() Limits, logger *slog.Logger) (*Store, error) {
	s := &Store{folder: folder, limits: limits, logger: logger, files: map[string]Info{},
		used: map[string]int64{}, shrinking: make(chan struct{}, 1), now: time.Now,
		space: log.Space, write: (*os.File).Write}
	list, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("opening the files: %w", err)
	}
	for _, d := range list {
		if err := s.load(d.Name()); err != nil {
			return nil, fmt.Errorf("opening the files: %w", err)
		}
	}
	return s, nil
}

// load reads what is known of one file, or removes its folder if that is not complete.
func (s *Store) load(name string) error {
	path := filepath.Join(s.folder, name)
	if strings.HasPrefix(name, freshPrefix) || strings.HasPrefix(name, gonePrefix) {
		return os.RemoveAll(path)
	}
	if len(name) != 2*sha256.Size {
		s.logger.Warn("something that is not ours is among the files", "path", path)
		return nil
	}
	i, err := readInfo(path)
	if errors.Is(err, fs.ErrNotExist) { // it was removed while a backup was made
		return os.RemoveAll(path)
	}
	if err != nil || i.ID != name[:idLen] || i.Size < 0 || i.Thumbnail < 0 {
		s.logger.Warn("a file is damaged and not served", "path", path, "reason", err)
		return nil
	}
	s.files[name] = i
	s.count(i.Owner, i.stored())
	return nil
}

func readInfo(path string) (i Info, err error) {
	data, err := os.ReadFile(filepath.Join(path, infoName))
	if err == nil {
		err = json.Unmarshal(data, &i)
	}
	return i, err
}

// count adds bytes to those of an owner. The caller holds mu, or nobody else has the Store.
func (s *Store) count(owner string, n int64) {
	owner = irc.Lower(owner)
	s.total += n
	if s.used[owner] += n; s.used[owner] == 0 {
		delete(s.used, owner)
	}
}

// take counts bytes of an upload, which has n so far, if the limits allow them.
func (s *Store) take(owner string, n, more int64) error {
	limits := s.limits()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case n+more > limits.Size:
		return tooLarge(limits.Size)
	case s.used[irc.Lower(owner)]+more > limits.Account:
		return tooMuch(limits.Account)
	case s.total+more > limits.Total:
		return allTaken(limits.Total)
	}
	s.count(owner, more)
	return nil
}

// add counts bytes of an owner without a limit; n may be negative.
func (s *Store) add(owner string, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count(owner, n)
}

// Usage returns the number of files, and the bytes of all files and uploads.
func (s *Store) Usage() (files int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.files), s.total
}

// tokenLen is the length of a token of crypto/rand.Text: 26 digits of base32 (RFC 4648).
const tokenLen = 26

func newToken() string { return rand.Text() }

// isToken says whether a text has the form of a token.
func isToken(text string) bool {
	return len(text) == tokenLen &&
		strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

// folderOf returns the name of a token's folder.
func folderOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Find returns what is known of the file of a token.
func (s *Store) Find(token string) (Info, bool) {
	if !isToken(token) {
		return Info{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.files[folderOf(token)]
	return i, ok
}

// open opens a part of a file: its data or its thumbnail.
func (s *Store) open(token, part string) (*os.File, error) {
	return os.Open(filepath.Join(s.folder, folderOf(token), part))
}

// List returns all files, the oldest first.
func (s *Store) List() []Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Info, 0, len(s.files))
	for _, i := range s.files {
		list = append(list, i)
	}
	slices.SortFunc(list, func(a, b Info) int {
		if c := a.Made.Compare(b.Made); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return list
}

// Close waits until removed files are gone from the disk.
func (s *Store) Close() { s.removing.Wait() }
