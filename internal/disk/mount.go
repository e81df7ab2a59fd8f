package disk

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// A Disk is mounted over a folder.
type Disk struct {
	path   string
	tree   *tree
	server *fuse.Server
}

// Able returns an error if such disks cannot be mounted here.
func Able() error {
	if _, err := os.Stat("/dev/fuse"); err != nil {
		return errors.New("there is no /dev/fuse: load the kernel's module fuse")
	}
	if os.Geteuid() == 0 {
		return nil
	}
	for _, helper := range []string{"fusermount3", "fusermount"} {
		if _, err := exec.LookPath(helper); err == nil {
			return nil
		}
	}
	return errors.New("run as root, or install fuse3")
}

// Mount mounts an empty disk over an existing folder.
func Mount(path string) (*Disk, error) {
	d := &Disk{path: path, tree: newTree()}
	return d, d.mount()
}

// forever is the lifetime of the kernel's caches: the tree only changes through the kernel.
const forever = time.Hour

func (d *Disk) mount() error {
	keep := forever
	options := &fs.Options{EntryTimeout: &keep, AttrTimeout: &keep, NegativeTimeout: &keep,
		NullPermissions: true}
	options.MountOptions = fuse.MountOptions{
		FsName: "interleave", Name: "interleave", DirectMount: true,
		DirectMountStrict: os.Geteuid() == 0, DisableXAttrs: true, MaxWrite: 1 << 20,
		AllowOther: os.Geteuid() == 0, // a server may drop its privileges
		Options:    []string{"default_permissions"},
	}
	if options.DirectMountStrict { // otherwise go-fuse starts another program to mount it
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
	}
	server, err := fs.Mount(d.path, &node{t: d.tree, i: d.tree.root}, options)
	if err != nil {
		return fmt.Errorf("mounting a disk that can lose its power on %s: %w", d.path, err)
	}
	d.server = server
	return keepToOurselves()
}

// keepToOurselves sets close-on-exec on /dev/fuse, which go-fuse does not do. A server that
// inherited it would hold the device that it waits for, and could not even be killed.
func keepToOurselves() error {
	const open = "/proc/self/fd"
	entries, err := os.ReadDir(open)
	if err != nil {
		return fmt.Errorf("looking for what is open: %w", err)
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil {
			if name, err := os.Readlink(filepath.Join(open, e.Name())); err == nil &&
				name == "/dev/fuse" {
				unix.CloseOnExec(fd)
			}
		}
	}
	return nil
}

// Lose is the loss of power: unsynced data is gone. Halfway, all names remain, and the first half
// of each file's unsynced bytes. Processes that had files open must be dead. The folder is there
// again at once, for the next process.
func (d *Disk) Lose(halfway bool) error {
	left := d.tree.lose(halfway)
	if err := d.unmount(); err != nil {
		return err
	}
	d.tree = left
	return d.mount()
}

// Close unmounts the disk.
func (d *Disk) Close() error {
	if d.server == nil {
		return nil
	}
	return d.unmount()
}

// releaseLimit is for the kernel's last requests: milliseconds, more on a busy machine. A mount
// namespace that is made while the disk is mounted holds a copy of it until it ends. Writes to a
// tree that is cut fail, so there is no need to wait for that.
const releaseLimit = 2 * time.Second

// unmount detaches the tree, so that no new process reaches it, and waits a little until no file is
// open any more.
func (d *Disk) unmount() error {
	server := d.server
	d.server = nil
	if err := unix.Unmount(d.path, unix.MNT_DETACH); err != nil {
		if os.Geteuid() == 0 {
			return fmt.Errorf("unmounting %s: %w", d.path, err)
		}
		return server.Unmount()
	}
	over := make(chan struct{})
	go func() { server.Wait(); close(over) }()
	select {
	case <-over:
	case <-time.After(releaseLimit):
	}
	return nil
}
