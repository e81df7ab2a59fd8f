package document

import (
	"slices"
	"strings"

	"interleave/eve/diag"
)

// A Found is a module, an item or a member that has a name.
type Found struct {
	Module Module
	Path   string // "io.socket.socket.write"
	Item   *Item  // nil: the whole module
}

// Find returns everything that a name may mean: a module, an item or a member, with or without the
// names before it.
func Find(all []Module, name string) []Found {
	var found []Found
	for _, m := range all {
		if m.Name == name || strings.HasSuffix(m.Name, "."+name) {
			found = append(found, Found{m, m.Name, nil})
		}
	}
	each(all, func(f Found) {
		if f.Path == name || strings.HasSuffix(f.Path, "."+name) {
			found = append(found, f)
		}
	})
	return found
}

// each visits all items, then all members.
func each(all []Module, visit func(Found)) {
	for _, m := range all {
		for i := range m.Items {
			visit(Found{m, m.Name + "." + m.Items[i].Name, &m.Items[i]})
		}
	}
	for _, m := range all {
		for _, item := range m.Items {
			for i := range item.Members {
				member := &item.Members[i]
				visit(Found{m, m.Name + "." + item.Name + "." + member.Name, member})
			}
		}
	}
}

// Similar returns the names that resemble a name of which there is none: the nearest first, three
// at most.
func Similar(all []Module, name string) []string {
	type near struct {
		path string
		far  int
	}
	var nearest []near
	consider := func(path string) {
		last := path[strings.LastIndex(path, ".")+1:]
		if far := min(diag.Distance(name, path), diag.Distance(name, last)); far <= 1+len(name)/4 {
			nearest = append(nearest, near{path, far})
		}
	}
	for _, m := range all {
		consider(m.Name)
	}
	each(all, func(f Found) { consider(f.Path) })
	slices.SortStableFunc(nearest, func(a, b near) int { return a.far - b.far })
	var paths []string
	for _, n := range nearest[:min(len(nearest), 3)] {
		paths = append(paths, n.path)
	}
	return paths
}
