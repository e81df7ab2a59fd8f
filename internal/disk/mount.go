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

// A Disk stands in the place of a folder.
type Disk struct {
	path   string
	tree   *tree
	server *fuse.Server
}

// Able says what is missing for such disks here.
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

// Mount puts an empty disk in the place of a folder, which is there.
func Mount(path string) (*Disk, error) {
	d := &Disk{path: path, tree: newTree()}
	return d, d.mount()
}

// forever is how long the kernel may believe what it knows: nobody changes the tree but through it.
const forever = time.Hour

func (d *Disk) mount() error {
	keep := forever
	options := &fs.Options{EntryTimeout: &keep, AttrTimeout: &keep, NegativeTimeout: &keep,
		NullPermissions: true}
	options.MountOptions = fuse.MountOptions{
		FsName: "interleave", Name: "interleave", DirectMount: true,
		DirectMountStrict: os.Geteuid() == 0, DisableXAttrs: true, MaxWrite: 1 << 20,
		AllowOther: os.Geteuid() == 0, // a server may give up its rights
		Options:    []string{"default_permissions"},
	}
	if options.DirectMountStrict { // else another program is started to mount it
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

// keepToOurselves hands /dev/fuse on to no program that we start, which go-fuse forgets: a server
// that held what it waits for itself could not even be killed.
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

// Lose is the loss of power: what was not synced is gone, but, halfway, for the names and the first
// half of what each file lacks. Who had files open must be dead; the folder is there again at once,
// for who comes next.
func (d *Disk) Lose(halfway bool) error {
	left := d.tree.lose(halfway)
	if err := d.unmount(); err != nil {
		return err
	}
	d.tree = left
	return d.mount()
}

// Close takes the disk away.
func (d *Disk) Close() error {
	if d.server == nil {
		return nil
	}
	return d.unmount()
}

// releaseLimit is for the kernel's last requests: milliseconds, more on a busy machine. Who makes a
// mount namespace while the disk is there holds a copy of it until that ends; what is written to a
// tree that is cut fails, so there is nothing to wait for.
const releaseLimit = 2 * time.Second

// unmount takes the tree away from whoever comes from now on, and waits a little until nobody holds
// a file any more.
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
