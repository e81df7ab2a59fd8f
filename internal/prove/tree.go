package prove

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// A tree has the files of the checkout as a run finds them when it begins: those that git knows or
// would add. It does not change, so any goroutine may use it.
type tree struct {
	root    string
	files   map[string]treeFile    // by their paths from the root
	folders map[string]fs.FileInfo // in which they are, up to the root, which is "."
}

// A treeFile is a file or a link.
type treeFile struct {
	hash string // of its content and mode
	info fs.FileInfo
}

// readTree hashes all files.
func readTree(ctx context.Context, root string) (*tree, error) {
	names, err := listFiles(ctx, root)
	if err != nil {
		return nil, err
	}
	t := &tree{root: root, files: make(map[string]treeFile, len(names)),
		folders: map[string]fs.FileInfo{}}
	for _, name := range names {
		if err := t.readFolders(path.Dir(name)); err != nil {
			return nil, err
		}
		file, err := t.read(name)
		if err != nil {
			return nil, err
		}
		if file.hash != "" {
			t.files[name] = file
		}
	}
	return t, nil
}

// readFolders notes a folder and those that it is in.
func (t *tree) readFolders(name string) error {
	for {
		if _, known := t.folders[name]; known {
			return nil
		}
		info, err := os.Lstat(t.path(name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		t.folders[name] = info // nil: it was removed, and git was not told yet
		if name == "." {
			return nil
		}
		name = path.Dir(name)
	}
}

func (t *tree) path(name string) string { return filepath.Join(t.root, filepath.FromSlash(name)) }

// read hashes one file. The hash is empty if it was removed, and git was not told yet, or is
// neither a file nor a link.
func (t *tree) read(name string) (f treeFile, err error) {
	// It is looked at before it is read: who changes it in between is noticed.
	f.info, err = os.Lstat(t.path(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return treeFile{}, nil
	case err != nil:
		return f, err
	case f.info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(t.path(name))
		f.hash = hashText("link " + to)
		return f, err
	case f.info.Mode().IsRegular():
		hash, err := hashOf(t.path(name))
		f.hash = fmt.Sprintf("%s %o", hash, f.info.Mode().Perm()&0o111)
		return f, err
	}
	return f, nil
}

// changed returns the files of a list that are not any more as the tree has them, or are new. A
// result of tests that ran meanwhile is not one of the tree.
func (t *tree) changed(ctx context.Context, reads []string) (names []string, err error) {
	for name, before := range t.files {
		if !covered(reads, name) || t.isSame(name, before.info) {
			continue
		}
		if now, err := t.read(name); err != nil {
			return nil, err
		} else if now.hash != before.hash {
			names = append(names, name)
		}
	}
	more, err := t.added(ctx, reads)
	names = append(names, more...)
	slices.Sort(names)
	return names, err
}

// isSame tells whether nobody has written to a file or folder, without reading it.
func (t *tree) isSame(name string, before fs.FileInfo) bool {
	now, err := os.Lstat(t.path(name))
	if err != nil || before == nil {
		return before == nil && errors.Is(err, fs.ErrNotExist)
	}
	return os.SameFile(now, before) && now.Mode() == before.Mode() && now.Size() == before.Size() &&
		now.ModTime().Equal(before.ModTime())
}

// added returns the files of a list that are new. They are looked for only if a folder was changed.
func (t *tree) added(ctx context.Context, reads []string) (names []string, err error) {
	same := true
	for name, before := range t.folders {
		same = same && t.isSame(name, before)
	}
	if same {
		return nil, nil
	}
	now, err := listFiles(ctx, t.root)
	if err != nil {
		return nil, err
	}
	for _, name := range now {
		if _, known := t.files[name]; known || !covered(reads, name) {
			continue
		}
		if file, err := t.read(name); err != nil {
			return nil, err
		} else if file.hash != "" {
			names = append(names, name)
		}
	}
	return names, nil
}
