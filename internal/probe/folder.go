package probe

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"interleave/internal/disk"
	"interleave/internal/group"
	"interleave/internal/manifest"
)

// A Folder is what a server is told as {data}: a place of its own that outlives its process, empty
// at first. It lies on the disk that builds are on, for a server that waits for its disk must have
// one to wait for.
type Folder struct {
	Path string

	top     string     // of ours, with Path in it
	mounted bool       // Path is a small disk of its own
	size    int64      // of it, in bytes
	disk    *disk.Disk // Path is a disk that can lose its power
}

// NewFolder makes one below dir and removes those that laboratories which were killed
// have left there.
func NewFolder(dir string) (*Folder, error) {
	sweepFolders(dir)
	f := &Folder{top: filepath.Join(dir, group.Unique("data"))}
	f.Path = filepath.Join(f.top, "data")
	if err := os.MkdirAll(f.Path, 0o700); err != nil {
		return nil, errors.Join(fmt.Errorf("making the folder of a server: %w", err), f.Close())
	}
	return f, nil
}

// wantsFolder tells whether a model's servers are told one.
func wantsFolder(m *manifest.Model) bool {
	for _, value := range m.Env {
		if strings.Contains(value, "{data}") {
			return true
		}
	}
	return m.Holds("{data}")
}

// Close removes the folder with all in it. A nil Folder has nothing to remove.
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

func sweepFolders(dir string) {
	entries, _ := os.ReadDir(dir) // none yet: nothing was left there
	for _, e := range entries {
		if !e.IsDir() || !group.Dead(e.Name()) {
			continue
		}
		top := filepath.Join(dir, e.Name())
		// mostly none is mounted there
		_ = unix.Unmount(filepath.Join(top, "data"), unix.MNT_DETACH)
		// what stays is tried again by the next
		_ = os.RemoveAll(top)
	}
}

// smallDisk is in bytes what a small disk holds: some pages for what a server writes at its start,
// few enough to fill.
const smallDisk = 4 << 20

// Shrink puts a disk of so many bytes in the place of the folder: what no right of root can write
// beyond. It needs the right to mount.
func (f *Folder) Shrink(bytes int64) error {
	if err := unix.Mount("tmpfs", f.Path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV,
		fmt.Sprintf("size=%d,mode=0700", bytes)); err != nil {
		return &Missing{Need: "a small disk",
			Install: fmt.Sprintf("mounting a tmpfs: %v; run as root", err)}
	}
	f.mounted, f.size = true, bytes
	return nil
}

// risk puts a disk that can lose its power in the place of the folder.
func (f *Folder) risk() (err error) {
	const need = "a disk that can lose its power"
	if err := disk.Able(); err != nil {
		return &Missing{Need: need, Install: err.Error()}
	}
	if f.disk, err = disk.Mount(f.Path); errors.Is(err, os.ErrPermission) {
		return &Missing{Need: need, Install: err.Error() + ": run where mounting is allowed"}
	}
	return err
}

// losePower takes away what was not synced. Who wrote it must be dead.
func (f *Folder) losePower(halfway bool) error {
	if f == nil {
		return errors.New("the server has no folder: its run does not use {data}")
	}
	return f.disk.Lose(halfway)
}

// ballast is the file that takes what room a small disk has.
const ballast = "ballast"

// Fill leaves no room on a small disk but at the ends of pages that files have begun.
func (f *Folder) Fill() error {
	file, err := os.OpenFile(filepath.Join(f.Path, ballast), os.O_WRONLY|os.O_CREATE|os.O_APPEND,
		0o600)
	if err != nil {
		return err
	}
	defer file.Close()
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

// Drain gives the room back, at once though a process that is just being started may still
// hold the file open.
func (f *Folder) Drain() error {
	file := filepath.Join(f.Path, ballast)
	if err := os.Truncate(file, 0); err != nil {
		return err
	}
	return os.Remove(file)
}
