// Package disk is a disk that can lose its power: a folder in memory, reached through the kernel
// (FUSE), that keeps written data and synced data apart. When the power is lost, only the synced
// data is left. It loses as much as a file system with a journal may lose (ext4, XFS, Btrfs), and
// no more:
//
//   - The bytes of a file are on the disk once that file was synced: fsync, fdatasync, msync, or a
//     write under O_SYNC or O_DSYNC. Without, none of them are, however long ago they were written.
//   - Names (made, renamed, removed) reach the disk in order, all those before any sync of any file
//     or folder together with it: a journal has one order. An fdatasync that does not change a
//     file's size need not write the journal, and here does not.
//   - A name may be on the disk before what the file holds: a file that was renamed without a sync
//     is empty then.
//
// POSIX's stricter rule (a new name needs a sync of its folder) is not applied. sync(2) and syncfs
// do nothing here: the kernel does not pass them on. There are no links.
package disk

import (
	"slices"
	"sync"
	"syscall"
	"time"
)

// room is the size in bytes of all files together. The synced data may take as much again.
const room = 256 << 20

// A tree is a folder with everything below it, as programs see it and as the disk has it.
type tree struct {
	mu      sync.Mutex // of all below, inodes included
	root    *inode
	number  uint64   // of the last inode
	used    int64    // bytes of all files that are open or have a name
	journal []naming // not on the disk
	cut     bool     // the power is lost: nothing is written any more
}

// An inode is a file or a folder.
type inode struct {
	number   uint64
	mode     uint32 // with its kind
	uid, gid uint32
	changed  time.Time
	removed  bool // has no name any more

	entries, kept map[string]*inode // of a folder: as seen, and on the disk
	data, saved   []byte            // of a file: likewise
	pending       []span            // of data, what is not in saved, in the order in which it came
	resized       bool              // since the last sync
}

// A naming is a change of a name in a folder: it refers to another inode, or none.
type naming struct {
	folder *inode
	name   string
	inode  *inode
}

// A span is the range of a write, or the new end of a truncation.
type span struct {
	at, length int64
	truncated  bool
}

// maxSpans bounds the spans of a file that is never synced. Beyond it, all of the file counts as
// pending.
const maxSpans = 1 << 16

func newTree() *tree {
	t := &tree{}
	t.root = t.inode(syscall.S_IFDIR|0o700, uint32(syscall.Geteuid()), uint32(syscall.Getegid()))
	return t
}

func (t *tree) inode(mode, uid, gid uint32) *inode {
	t.number++
	i := &inode{number: t.number, mode: mode, uid: uid, gid: gid, changed: time.Now()}
	if i.folder() {
		i.entries, i.kept = map[string]*inode{}, map[string]*inode{}
	}
	return i
}

func (i *inode) folder() bool { return i.mode&syscall.S_IFMT == syscall.S_IFDIR }

// name makes a name refer to an inode, or to none.
func (t *tree) name(folder *inode, name string, i *inode) {
	if i == nil {
		delete(folder.entries, name)
	} else {
		folder.entries[name] = i
	}
	folder.changed = time.Now()
	t.journal = append(t.journal, naming{folder, name, i})
}

// make makes a file or a folder.
func (t *tree) make(folder *inode, name string, mode, uid, gid uint32) (*inode, syscall.Errno) {
	switch {
	case t.cut:
		return nil, syscall.EIO
	case folder.entries[name] != nil:
		return nil, syscall.EEXIST
	case folder.removed:
		return nil, syscall.ENOENT
	}
	i := t.inode(mode, uid, gid)
	t.name(folder, name, i)
	return i, 0
}

// remove removes a name. An open file can still be read and written.
func (t *tree) remove(folder *inode, name string, folders bool) syscall.Errno {
	i := folder.entries[name]
	switch {
	case t.cut:
		return syscall.EIO
	case i == nil:
		return syscall.ENOENT
	case i.folder() && !folders:
		return syscall.EISDIR
	case !i.folder() && folders:
		return syscall.ENOTDIR
	case len(i.entries) > 0:
		return syscall.ENOTEMPTY
	}
	t.drop(i)
	t.name(folder, name, nil)
	return 0
}

func (t *tree) drop(i *inode) {
	i.removed = true
	t.used -= int64(len(i.data))
}

// rename moves a name, over another if there is one.
func (t *tree) rename(from *inode, name string, to *inode, newName string) syscall.Errno {
	i, old := from.entries[name], to.entries[newName]
	switch {
	case t.cut:
		return syscall.EIO
	case i == nil || to.removed:
		return syscall.ENOENT
	case old == i:
		return 0
	case old != nil && old.folder() && !i.folder():
		return syscall.EISDIR
	case old != nil && !old.folder() && i.folder():
		return syscall.ENOTDIR
	case old != nil && len(old.entries) > 0:
		return syscall.ENOTEMPTY
	case old != nil:
		t.drop(old)
	}
	t.name(from, name, nil)
	t.name(to, newName, i)
	return 0
}

// write puts bytes into a file. It is not on the disk before a sync.
func (t *tree) write(i *inode, p []byte, at int64) syscall.Errno {
	if t.cut {
		return syscall.EIO
	}
	if err := t.resize(i, max(int64(len(i.data)), at+int64(len(p)))); err != 0 {
		return err
	}
	copy(i.data[at:], p)
	i.pend(span{at: at, length: int64(len(p))})
	return 0
}

func (t *tree) truncate(i *inode, size int64) syscall.Errno {
	if t.cut {
		return syscall.EIO
	}
	if err := t.resize(i, size); err != 0 {
		return err
	}
	i.pend(span{at: size, truncated: true})
	return 0
}

func (t *tree) resize(i *inode, size int64) syscall.Errno {
	more := size - int64(len(i.data))
	if more > 0 && t.used+more > room {
		return syscall.ENOSPC
	}
	if !i.removed {
		t.used += more
	}
	i.resized = i.resized || more != 0
	i.data, i.changed = resized(i.data, size), time.Now()
	return 0
}

// resized cuts bytes off, or adds zeros.
func resized(b []byte, size int64) []byte {
	if had := int64(len(b)); size > had {
		b = slices.Grow(b, int(size-had))[:size]
		clear(b[had:])
	}
	return b[:size]
}

func (i *inode) pend(s span) {
	if n := len(i.pending); n > 0 && !s.truncated && !i.pending[n-1].truncated &&
		i.pending[n-1].at+i.pending[n-1].length == s.at {
		i.pending[n-1].length += s.length
		return
	}
	if i.pending = append(i.pending, s); len(i.pending) > maxSpans {
		size := int64(len(i.data))
		i.pending = []span{{length: size}, {at: size, truncated: true}}
	}
}

// sync writes a file's contents, and all names so far, to the disk.
func (t *tree) sync(i *inode, dataOnly bool) syscall.Errno {
	if t.cut {
		return syscall.EIO
	}
	if !dataOnly || i.resized {
		for _, n := range t.journal {
			n.keep()
		}
		t.journal = t.journal[:0]
	}
	i.save(i.unsaved())
	i.pending, i.resized = nil, false
	return 0
}

func (n naming) keep() {
	if n.inode == nil {
		delete(n.folder.kept, n.name)
	} else {
		n.folder.kept[n.name] = n.inode
	}
}

// unsaved is how many bytes were written since the last sync.
func (i *inode) unsaved() (bytes int64) {
	for _, s := range i.pending {
		bytes += s.length
	}
	return bytes
}

// save writes the first of the pending bytes to the disk, in the order in which they came, with the
// truncations between them.
func (i *inode) save(bytes int64) {
	for _, s := range i.pending {
		if s.truncated {
			i.saved = resized(i.saved, s.at)
			continue
		}
		length := min(s.length, bytes)
		if end := s.at + length; end > int64(len(i.saved)) {
			i.saved = resized(i.saved, end)
		}
		if s.at < int64(len(i.data)) { // otherwise a later truncation has removed it
			copy(i.saved[s.at:s.at+length], i.data[s.at:])
		}
		if bytes -= length; length < s.length {
			return
		}
	}
}

// lose ends a tree and returns the contents of the disk. Halfway, the power is lost while the disk
// is being written: all names are on it, and the first half of each file's unsynced bytes.
func (t *tree) lose(halfway bool) *tree {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cut = true
	if halfway {
		for _, n := range t.journal {
			n.keep()
		}
		t.root.each(func(i *inode) { i.save(i.unsaved() / 2) })
	}
	left := newTree()
	left.root.mode, left.root.uid, left.root.gid = t.root.mode, t.root.uid, t.root.gid
	left.restore(left.root, t.root)
	return left
}

// each visits all files that have a name on the disk.
func (i *inode) each(visit func(*inode)) {
	for _, child := range i.kept {
		if child.folder() {
			child.each(visit)
		} else {
			visit(child)
		}
	}
}

// restore makes a folder from another folder's contents on the disk.
func (t *tree) restore(to, from *inode) {
	for name, old := range from.kept {
		i := t.inode(old.mode, old.uid, old.gid)
		i.changed, i.data, i.saved = old.changed, slices.Clone(old.saved), old.saved
		t.used += int64(len(i.data))
		to.entries[name], to.kept[name] = i, i
		if i.folder() {
			t.restore(i, old)
		}
	}
}
