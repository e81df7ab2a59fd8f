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
	"syscall"
	"time"
)

// A cache is the folder of everything that need not be made twice:
//
//	<key>/libeve.a, <key>/include   the runtime, for one compiler and set of flags
//	objects/<key>.o                 a compiled module
//	programs/<key>                  a linked program, for eve run
//
// Everything is written beside its place and renamed to it, so that runs at the same time do not meet.
type cache struct{ dir string }

// unused is how long what nobody asked for is kept. A guess: a project is looked at again within two weeks.
const unused = 14 * 24 * time.Hour

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
	for _, d := range []string{"objects", "programs"} {
		if err := os.MkdirAll(filepath.Join(c.dir, d), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// writable says whether new files can be put into the cache.
func (c cache) writable() bool {
	const write = 2 // W_OK
	return syscall.Access(filepath.Join(c.dir, "objects"), write) == nil && syscall.Access(c.dir, write) == nil
}

// ownTemporary gives the folder for users without a home that can be written. What is in it is run, so it
// must be nobody else's.
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

// key makes one name of many texts.
func key(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d\n%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}

// has says whether the file is there, and notes that it was wanted.
func (c cache) has(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	if now := time.Now(); now.Sub(info.ModTime()) > 24*time.Hour {
		// If the note fails the file is only made again one day.
		_ = os.Chtimes(path, now, now)
	}
	return true
}

// create makes a file by calling write with a temporary name in the same folder.
func (c cache) create(path string, write func(tmp string) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "new-*"+filepath.Ext(path))
	if err != nil {
		return fmt.Errorf("writing the cache: %w", err)
	}
	f.Close()
	defer os.Remove(f.Name())
	if err := write(f.Name()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("writing the cache: %w", err)
	}
	return nil
}

// lock waits until nobody else makes what belongs at path. A process that dies gives the lock back.
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
		case <-time.After(20 * time.Millisecond): // Flock cannot be waited for together with ctx
		}
	}
}

// trim removes what was not asked for in a long time. It looks once a day.
func (c cache) trim() {
	mark := filepath.Join(c.dir, "trimmed")
	if info, err := os.Stat(mark); err == nil && time.Since(info.ModTime()) < 24*time.Hour {
		return
	}
	if err := os.WriteFile(mark, nil, 0o644); err != nil {
		return
	}
	now := time.Now()
	_ = os.Chtimes(mark, now, now)
	entries, _ := os.ReadDir(c.dir)
	for _, e := range entries {
		path := filepath.Join(c.dir, e.Name())
		if e.Name() == "objects" || e.Name() == "programs" {
			files, _ := os.ReadDir(path)
			for _, f := range files {
				removeUnused(filepath.Join(path, f.Name()))
			}
		} else if e.Name() != "trimmed" {
			removeUnused(path)
		}
	}
}

func removeUnused(path string) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		info, err = os.Stat(filepath.Join(path, "libeve.a"))
		if errors.Is(err, fs.ErrNotExist) {
			info, err = os.Stat(path)
		}
	}
	if err == nil && time.Since(info.ModTime()) > unused {
		os.RemoveAll(path)
	}
}
