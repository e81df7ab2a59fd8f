package serve

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"interleave/internal/disk"
	"interleave/internal/group"
	"interleave/internal/manifest"
	"interleave/internal/probe/toolchain"
)

// A Folder is the folder that {data} stands for. It is empty at first, belongs to one server, and
// outlives the server's processes. It lies on the same disk as the builds, not in memory: a server
// that waits until its data is on the disk must really wait.
type Folder struct {
	Path string

	top     string     // the folder that Path lies in
	mounted bool       // Path is a small disk
	size    int64      // of the small disk, in bytes
	disk    *disk.Disk // the disk at Path that can lose its power; nil: there is none
}

// NewFolder makes a folder below dir. It also removes the folders below dir that were left when a
// laboratory was killed.
func NewFolder(dir string) (*Folder, error) {
	sweepFolders(dir)
	f := &Folder{top: filepath.Join(dir, group.Unique("data"))}
	f.Path = filepath.Join(f.top, "data")
	if err := os.MkdirAll(f.Path, 0o700); err != nil {
		return nil, errors.Join(fmt.Errorf("making the folder of a server: %w", err), f.Close())
	}
	return f, nil
}

// WantsFolder reports whether a model's servers ask for a folder.
func WantsFolder(m *manifest.Model) bool {
	for _, value := range m.Env {
		if strings.Contains(value, "{data}") {
			return true
		}
	}
	return m.Holds("{data}")
}

// Close removes the folder with everything in it. A nil Folder has nothing to remove.
func (f *Folder) Close() error {
	if f == nil {
		return nil
	}
	if f.disk != nil {
		if err := f.disk.Close(); err != nil {
			return err
		}
		f.disk = nil
	}
	if f.mounted {
		if err := unix.Unmount(f.Path, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("removing the small disk %s: %w", f.Path, err)
		}
		f.mounted = false
	}
	if err := os.RemoveAll(f.top); err != nil {
		return fmt.Errorf("removing the folder of a server: %w", err)
	}
	return nil
}

// sweepFolders removes the folders below dir whose laboratory is dead.
func sweepFolders(dir string) {
	entries, _ := os.ReadDir(dir) // none yet: nothing was left there
	for _, e := range entries {
		if !e.IsDir() || !group.Dead(e.Name()) {
			continue
		}
		top := filepath.Join(dir, e.Name())
		// usually no disk is mounted there
		_ = unix.Unmount(filepath.Join(top, "data"), unix.MNT_DETACH)
		// what cannot be removed now is tried again by the next NewFolder
		_ = os.RemoveAll(top)
	}
}

// SmallDisk is how many bytes a small disk holds: enough for what a server writes at its start, and
// few enough to be filled.
const SmallDisk = 4 << 20

// Shrink puts a disk of this many bytes in the place of the folder. Even root cannot write more. It
// needs the right to mount.
func (f *Folder) Shrink(bytes int64) error {
	if err := unix.Mount("tmpfs", f.Path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV,
		fmt.Sprintf("size=%d,mode=0700", bytes)); err != nil {
		return &toolchain.Missing{Need: "a small disk",
			Install: fmt.Sprintf("mounting a tmpfs: %v; run as root", err)}
	}
	f.mounted, f.size = true, bytes
	return nil
}

// Risk puts a disk that can lose its power in the place of the folder.
func (f *Folder) Risk() (err error) {
	const need = "a disk that can lose its power"
	if err := disk.Able(); err != nil {
		return &toolchain.Missing{Need: need, Install: err.Error()}
	}
	if f.disk, err = disk.Mount(f.Path); errors.Is(err, os.ErrPermission) {
		return &toolchain.Missing{Need: need,
			Install: err.Error() + ": run where mounting is allowed"}
	}
	return err
}

// LosePower removes all data that was not synced. The processes that wrote it must be dead.
func (f *Folder) LosePower(halfway bool) error {
	if f == nil {
		return errors.New("the server has no folder: its run does not use {data}")
	}
	return f.disk.Lose(halfway)
}

// ballast is the file that takes the room of a small disk.
const ballast = "ballast"

// Fill takes all room on a small disk, except at the ends of pages that files have begun.
func (f *Folder) Fill() error {
	file, err := os.OpenFile(filepath.Join(f.Path, ballast), os.O_WRONLY|os.O_CREATE|os.O_APPEND,
		0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	var disk unix.Statfs_t
	if unix.Fstatfs(int(file.Fd()), &disk) == nil {
		// Nearly all of it at once. If a server writes meanwhile this may fail, and takes nothing.
		_ = unix.Fallocate(int(file.Fd()), 0, 0, int64(disk.Bavail)*disk.Bsize)
	}
	page := make([]byte, 4096)
	for range f.size/int64(len(page)) + 1 {
		if _, err := file.Write(page); errors.Is(err, syscall.ENOSPC) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return fmt.Errorf("%s does not fill: it is no small disk", f.Path)
}

// Drain gives the room back. It truncates the file before it removes it, since a process that is
// just being started may still hold the file open.
func (f *Folder) Drain() error {
	file := filepath.Join(f.Path, ballast)
	if err := os.Truncate(file, 0); err != nil {
		return err
	}
	return os.Remove(file)
}

// Write makes a file in the folder, or with more adds to one.
func (f *Folder) Write(name string, more bool, data io.Reader) error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if more {
		flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	if err := os.MkdirAll(f.Path, 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(f.Path, name), flags, 0o600)
	if err != nil {
		return err
	}
	_, err = file.ReadFrom(data)
	if f.disk != nil {
		err = errors.Join(err, file.Sync())
	}
	return errors.Join(err, file.Close())
}

// IsSmall reports whether the folder is a small disk.
func (f *Folder) IsSmall() bool { return f.mounted }

// Private returns an error unless only the server's user may look into the folder.
func (f *Folder) Private() error {
	info, err := os.Stat(f.Path)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode != 0o700 {
		return fmt.Errorf("the folder has mode %04o, want 0700", mode)
	}
	return nil
}
