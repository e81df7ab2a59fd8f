package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// A cache is a folder of files that need not be made twice:
//
//	<key>/libeve.a, <key>/include   the runtime, for one compiler and set of flags
//	objects/<key>.o                 a compiled module
//	programs/<key>                  a linked program, for eve run
//	locks/<two digits>              held while an object or a program whose key begins so is made
//
// Every file is written beside its place and renamed to it, so that concurrent builds do not
// conflict.
type cache struct{ dir string }

// Files that were not used for two weeks are removed, and then the least recently used ones, down
// to a size. Files that may be in use now are never removed. All three limits are guesses: a
// project is built again within two weeks, and no build takes two hours. The tests of all rings,
// which build about a thousand programs, take up to 3 GB. With a limit below that, each file would
// be removed before they ask for it again, and nothing would ever be found.
const (
	unused  = 14 * 24 * time.Hour
	maxSize = 4 << 30 // bytes
	inUse   = 2 * time.Hour
	// the precision of the time of last use, and the time between two clean-ups
	noted = time.Hour
)

func openCache() (cache, error) {
	base, err := os.UserCacheDir()
	c := cache{filepath.Join(base, "eve")}
	if err == nil {
		err = c.makeFolders()
	}
	if err == nil && !c.writable() {
		err = fmt.Errorf("%s cannot be written", c.dir)
	}
	if err != nil {
		if base, err = ownTemporary(); err == nil {
			c = cache{filepath.Join(base, "eve")}
			err = c.makeFolders()
		}
	}
	if err != nil {
		return c, fmt.Errorf("making the cache: %w", err)
	}
	c.trim()
	return c, nil
}

func (c cache) makeFolders() error {
	for _, d := range []string{"objects", "programs", "locks"} {
		if err := os.MkdirAll(filepath.Join(c.dir, d), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// writable says whether new files can be put into the cache.
func (c cache) writable() bool {
	const write = 2 // W_OK
	return syscall.Access(filepath.Join(c.dir, "objects"), write) == nil &&
		syscall.Access(c.dir, write) == nil
}

// ownTemporary returns the folder for users without a writable home. Its programs are run, so
// nobody else may be able to write there.
func ownTemporary() (string, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("eve-cache-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(owner.Uid) != os.Getuid() || info.Mode().Perm()&0o022 != 0 {
		return "", fmt.Errorf("%s is not this user's alone", dir)
	}
	return dir, nil
}

// key makes one name from many texts.
func key(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d\n%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}

// has says whether the file is there, and updates its time of last use.
func (c cache) has(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	if now := time.Now(); now.Sub(info.ModTime()) > noted {
		// If this fails, the file is only removed too early.
		_ = os.Chtimes(path, now, now)
	}
	return true
}

// create makes a file by calling write with a temporary name in the same folder.
func (c cache) create(path string, write func(tmp string) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "new-*"+filepath.Ext(path))
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, Cause(err))
	}
	f.Close()
	defer os.Remove(f.Name())
	if err := write(f.Name()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("writing %s: %w", path, Cause(err))
	}
	return nil
}

// once makes a file that is not there. If another process is making it, once waits and uses that
// file.
func (c cache) once(ctx context.Context, path string, write func(tmp string) error) error {
	if c.has(path) {
		return nil
	}
	unlock, err := c.lock(ctx, filepath.Join(c.dir, "locks", filepath.Base(path)[:2]))
	if err != nil {
		return err
	}
	defer unlock()
	if c.has(path) {
		return nil
	}
	return c.create(path, write)
}

// Cause is an error of a file without the file's name, which is a temporary one.
func Cause(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return p.Err
	case errors.As(err, &l):
		return l.Err
	}
	return err
}

// lock waits until no other process makes the file at path. The lock of a process that dies is
// released.
func (c cache) lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("locking the cache: %w", err)
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			f.Close()
			return nil, fmt.Errorf("locking the cache: %w", err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond): // Flock cannot wait for ctx at the same time
		}
	}
}

// trim removes old files, once in a while.
func (c cache) trim() {
	mark := filepath.Join(c.dir, "trimmed")
	if info, err := os.Stat(mark); err == nil && time.Since(info.ModTime()) < noted {
		return
	}
	if err := os.WriteFile(mark, nil, 0o644); err != nil {
		return
	}
	now := time.Now()
	_ = os.Chtimes(mark, now, now)
	c.shrink(now, maxSize)
}

// shrink removes files that were not used for long, and then the least recently used ones, until
// the others fit in size.
func (c cache) shrink(now time.Time, size int64) {
	entries := c.entries()
	slices.SortFunc(entries, func(a, b cached) int { return b.asked.Compare(a.asked) })
	kept := int64(0)
	for _, e := range entries {
		age := now.Sub(e.asked)
		if age > unused || age > inUse && kept+e.size > size {
			os.RemoveAll(e.path)
			continue
		}
		kept += e.size
	}
}

// A cached is one entry that can be made again: a file, or the folder of a runtime.
type cached struct {
	path  string
	size  int64
	asked time.Time
}

// ownNames are entries of the cache itself, which stay.
var ownNames = []string{"objects", "programs", "locks", "trimmed"}

// entries lists the contents of the cache.
func (c cache) entries() []cached {
	var all []cached
	for _, dir := range []string{c.dir, filepath.Join(c.dir, "objects"),
		filepath.Join(c.dir, "programs")} {
		files, _ := os.ReadDir(dir)
		for _, f := range files {
			path := filepath.Join(dir, f.Name())
			info, err := f.Info()
			if err != nil || dir == c.dir && slices.Contains(ownNames, f.Name()) {
				continue
			}
			if info.IsDir() {
				all = append(all, runtimeEntry(path, info))
				continue
			}
			all = append(all, cached{path, info.Size(), info.ModTime()})
		}
	}
	return all
}

// runtimeEntry measures the folder of a runtime. Its time of last use is that of its library.
func runtimeEntry(path string, info fs.FileInfo) cached {
	e := cached{path: path, asked: info.ModTime()}
	if lib, err := os.Stat(filepath.Join(path, "libeve.a")); err == nil {
		e.asked = lib.ModTime()
	}
	for _, dir := range []string{path, filepath.Join(path, "include")} {
		files, _ := os.ReadDir(dir)
		for _, f := range files {
			if info, err := f.Info(); err == nil && !info.IsDir() {
				e.size += info.Size()
			}
		}
	}
	return e
}
