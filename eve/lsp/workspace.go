package lsp

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"interleave/eve/diag"
	"interleave/eve/source"
	"interleave/eve/syntax"
)

// maxFiles bounds the files of a workspace that are looked at, and maxFolders the folders. A home
// folder as a workspace gives the symbols of a part of it. Both are guesses.
const (
	maxFiles   = 2000
	maxFolders = 20000
)

// A workspace remembers the trees of files on the disk until they change. It is the only state
// that requests share.
type workspace struct {
	mu    sync.Mutex
	trees map[string]parsed
}

type parsed struct {
	size  int64
	saved time.Time
	tree  *syntax.File
}

func newWorkspace() *workspace { return &workspace{trees: map[string]parsed{}} }

// files lists the files of Eve in the folders and the open documents, sorted.
func (v *view) files() []string {
	all := map[string]bool{}
	for path := range v.docs {
		all[path] = true
	}
	folders := 0
	for _, root := range v.folders {
		_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return fs.SkipDir // no permission, or removed meanwhile
			case len(all) >= maxFiles || folders >= maxFolders:
				return fs.SkipAll
			case e.IsDir() && path != root && skipped(e.Name()):
				return fs.SkipDir
			case e.IsDir():
				folders++
			case filepath.Ext(path) == ".eve" && e.Type().IsRegular():
				all[path] = true
			}
			return nil
		})
	}
	paths := make([]string, 0, len(all))
	for path := range all {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

// skipped says whether a folder holds no source: hidden ones, and those of other tools.
func skipped(name string) bool {
	return strings.HasPrefix(name, ".") || name == "node_modules"
}

// tree returns the tree of a file; nil when it cannot be read.
func (r *request) tree(path string) *syntax.File {
	if d := r.view.docs[path]; d != nil {
		return d.syntax()
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > maxText {
		return nil
	}
	w := r.workspace
	w.mu.Lock()
	known := w.trees[path]
	w.mu.Unlock()
	if known.tree != nil && known.size == info.Size() && known.saved.Equal(info.ModTime()) {
		return known.tree
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var diags diag.List
	known = parsed{info.Size(), info.ModTime(),
		syntax.Parse(source.NewFile(path, string(text)), &diags)}
	w.mu.Lock()
	if len(w.trees) < 2*maxFiles {
		w.trees[path] = known
	}
	w.mu.Unlock()
	return known.tree
}
