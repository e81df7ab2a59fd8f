package disk

import (
	"context"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// A node connects the kernel with an inode of a tree: a thin layer that locks the tree and calls
// it.
type node struct {
	fs.Inode
	t *tree
	i *inode
}

var (
	_ fs.NodeLookuper  = (*node)(nil)
	_ fs.NodeReaddirer = (*node)(nil)
	_ fs.NodeCreater   = (*node)(nil)
	_ fs.NodeMkdirer   = (*node)(nil)
	_ fs.NodeMknoder   = (*node)(nil)
	_ fs.NodeUnlinker  = (*node)(nil)
	_ fs.NodeRmdirer   = (*node)(nil)
	_ fs.NodeRenamer   = (*node)(nil)
	_ fs.NodeGetattrer = (*node)(nil)
	_ fs.NodeSetattrer = (*node)(nil)
	_ fs.NodeOpener    = (*node)(nil)
	_ fs.NodeReader    = (*node)(nil)
	_ fs.NodeWriter    = (*node)(nil)
	_ fs.NodeFsyncer   = (*node)(nil)
	_ fs.NodeAllocater = (*node)(nil)
	_ fs.NodeStatfser  = (*node)(nil)
)

// child is the kernel's handle of an inode. It stays the same while the kernel knows the inode.
func (n *node) child(ctx context.Context, i *inode, attr *fuse.Attr) *fs.Inode {
	i.attributes(attr)
	return n.NewInode(ctx, &node{t: n.t, i: i}, fs.StableAttr{Mode: i.mode & syscall.S_IFMT,
		Ino: i.number})
}

func (i *inode) attributes(a *fuse.Attr) {
	a.Ino, a.Mode, a.Size, a.Nlink = i.number, i.mode, uint64(len(i.data)), 1
	a.Uid, a.Gid = i.uid, i.gid
	a.Blocks = (a.Size + 511) / 512
	if i.removed {
		a.Nlink = 0
	}
	a.SetTimes(&i.changed, &i.changed, &i.changed)
}

func (n *node) Lookup(ctx context.Context, name string,
	out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	n.t.mu.Lock()
	defer n.t.mu.Unlock()
	i := n.i.entries[name]
	if i == nil {
		return nil, syscall.ENOENT
	}
	return n.child(ctx, i, &out.Attr), 0
}

func (n *node) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	n.t.mu.Lock()
	defer n.t.mu.Unlock()
	var list []fuse.DirEntry
	for name, i := range n.i.entries {
		list = append(list, fuse.DirEntry{Name: name, Ino: i.number, Mode: i.mode})
	}
	return fs.NewListDirStream(list), 0
}

// add makes a file or folder of this mode, owned by the caller.
func (n *node) add(ctx context.Context, name string, mode uint32,
	out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	n.t.mu.Lock()
	defer n.t.mu.Unlock()
	uid, gid := n.i.uid, n.i.gid
	if caller, ok := fuse.FromContext(ctx); ok {
		uid, gid = caller.Uid, caller.Gid
	}
	i, err := n.t.make(n.i, name, mode, uid, gid)
	if err != 0 {
		return nil, err
	}
	return n.child(ctx, i, &out.Attr), 0
}

func (n *node) Create(ctx context.Context, name string, _, mode uint32,
	out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	i, err := n.add(ctx, name, mode&^syscall.S_IFMT|syscall.S_IFREG, out)
	return i, nil, fuse.FOPEN_KEEP_CACHE, err
}

func (n *node) Mkdir(ctx context.Context, name string, mode uint32,
	out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.add(ctx, name, mode&^syscall.S_IFMT|syscall.S_IFDIR, out)
}

// Mknod makes a socket, for example. The kernel itself carries its data.
func (n *node) Mknod(ctx context.Context, name string, mode, _ uint32,
	out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.add(ctx, name, mode, out)
}

func (n *node) Unlink(_ context.Context, name string) syscall.Errno {
	n.t.mu.Lock()
	defer n.t.mu.Unlock()
	return n.t.remove(n.i, name, false)
}

func (n *node) Rmdir(_ context.Context, name string) syscall.Errno {
	n.t.mu.Lock()
	defer n.t.mu.Unlock()
	return n.t.remove(n.i, name, true)
}

// renameNoReplace is RENAME_NOREPLACE of renameat2.
const renameNoReplace = 1

func (n *node) Rename(_ context.Context, name string, to fs.InodeEmbedder, newName string,
	flags uint32) syscall.Errno {
	n.t.mu.Lock()
	defer n.t.mu.Unlock()
	folder := to.(*node).i
	switch {
	case flags&^renameNoReplace != 0:
		return syscall.EINVAL
	case flags == renameNoReplace && folder.entries[newName] != nil:
		return syscall.EEXIST
	}
	return n.t.rename(n.i, name, folder, newName)
}

func (n *node) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	n.t.mu.Lock()
	defer n.t.mu.Unlock()
	n.i.attributes(&out.Attr)
	return 0
}

func (n *node) Setattr(_ context.Context, _ fs.FileHandle, in *fuse.SetAttrIn,
	out *fuse.AttrOut) syscall.Errno {
	n.t.mu.Lock()
	defer n.t.mu.Unlock()
	if size, ok := in.GetSize(); ok {
		if err := n.t.truncate(n.i, int64(size)); err != 0 {
			return err
		}
	}
	if mode, ok := in.GetMode(); ok {
		n.i.mode = n.i.mode&syscall.S_IFMT | mode&^syscall.S_IFMT
	}
	if uid, ok := in.GetUID(); ok {
		n.i.uid = uid
	}
	if gid, ok := in.GetGID(); ok {
		n.i.gid = gid
	}
	n.i.attributes(&out.Attr)
	return 0
}

func (n *node) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	if flags&syscall.O_TRUNC == 0 {
		return nil, fuse.FOPEN_KEEP_CACHE, 0
	}
	n.t.mu.Lock()
	defer n.t.mu.Unlock()
	return nil, 0, n.t.truncate(n.i, 0)
}

func (n *node) Read(_ context.Context, _ fs.FileHandle, to []byte,
	at int64) (fuse.ReadResult, syscall.Errno) {
	n.t.mu.Lock()
	defer n.t.mu.Unlock()
	return fuse.ReadResultData(to[:copy(to, n.i.data[min(at, int64(len(n.i.data))):])]), 0
}

func (n *node) Write(_ context.Context, _ fs.FileHandle, p []byte,
	at int64) (uint32, syscall.Errno) {
	n.t.mu.Lock()
	defer n.t.mu.Unlock()
	if err := n.t.write(n.i, p, at); err != 0 {
		return 0, err
	}
	return uint32(len(p)), 0
}

// Allocate is fallocate: zeros up to a new end. Of its modes only the plain one is known.
func (n *node) Allocate(_ context.Context, _ fs.FileHandle, at, size uint64,
	mode uint32) syscall.Errno {
	n.t.mu.Lock()
	defer n.t.mu.Unlock()
	if mode != 0 {
		return syscall.EOPNOTSUPP
	}
	if end := int64(at + size); end > int64(len(n.i.data)) {
		return n.t.truncate(n.i, end)
	}
	return 0
}

// syncData is FUSE_FSYNC_FDATASYNC.
const syncData = 1

// Fsync is asked for files and for folders.
func (n *node) Fsync(_ context.Context, _ fs.FileHandle, flags uint32) syscall.Errno {
	n.t.mu.Lock()
	defer n.t.mu.Unlock()
	return n.t.sync(n.i, flags&syncData != 0 && !n.i.folder())
}

// block is the unit of the room, in bytes.
const block = 4096

func (n *node) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	n.t.mu.Lock()
	defer n.t.mu.Unlock()
	out.Bsize, out.Frsize, out.NameLen = block, block, 255
	out.Blocks = room / block
	out.Bfree = uint64(room-n.t.used) / block
	out.Bavail = out.Bfree
	return 0
}
