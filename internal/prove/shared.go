package prove

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// All checkouts of a user share the test programs. go caches the packages that it compiles, but not
// the programs that it links. It does not link a program again that is in its place already: each
// has a build ID, the hash of all that it was made from. So the program that any checkout built
// last is copied to that place, and go replaces it if it is another.

// sharedFor is how long a shared program stays that no checkout builds. It is a guess.
const sharedFor = 30 * 24 * time.Hour

// idWithin is the length of the part of a program, from its beginning, that has its build ID. go
// reads no more either.
const idWithin = 32 << 10

// takeShared copies a shared program to its place in a checkout that has none. Nothing is lost if
// that fails: go links the program.
func takeShared(ctx context.Context, shared, program string) {
	if _, err := os.Lstat(program); err == nil {
		return
	}
	_ = replace(ctx, shared, program)
}

// putShared makes a program of a checkout the shared one, unless it is already. If that fails, as
// on a full disk, the next checkout links it.
func putShared(ctx context.Context, program, shared string) {
	now := time.Now()
	if sameBuild(program, shared) && os.Chtimes(shared, now, now) == nil {
		return
	}
	_ = replace(ctx, program, shared)
}

// replace copies a file to another, which is never there in part. A process of its own copies: the
// runner could not start a program that itself, or a child, still holds open for writing.
func replace(ctx context.Context, from, to string) error {
	if _, err := os.Stat(from); err != nil {
		return err
	}
	dir := filepath.Dir(to)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	part, err := os.MkdirTemp(dir, "new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(part)
	whole := filepath.Join(part, filepath.Base(to))
	if err := exec.CommandContext(ctx, "cp", from, whole).Run(); err != nil {
		return err
	}
	return os.Rename(whole, to)
}

// sameBuild says whether two files are programs with the same build ID. The ID ends with the hash
// of the program.
func sameBuild(a, b string) bool {
	x, err := head(a)
	y, other := head(b)
	return err == nil && other == nil && bytes.Equal(x, y)
}

// head returns the part of a program that has its build ID.
func head(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, idWithin))
}

// forgetShared removes the shared programs that no checkout has built for long. Another checkout
// may do so, too.
func forgetShared(dir string) {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, _ error) error {
		if e == nil || e.IsDir() {
			return nil
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > sharedFor {
			_ = os.Remove(path)
		}
		return nil
	})
}
