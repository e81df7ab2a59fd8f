package findings

// The folder of the pages.

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// Pages are the files of the folder by name, without the paragraphs. Base leads from the folder to
// the checkout.
func Pages(s *Set, whys map[string]Why, summary Summary, base string) (map[string][]byte, error) {
	w := &writer{Set: s, whys: whys, base: base, summary: summary}
	var err error
	if w.summary.Text, _, err = summary.fill(s); err != nil {
		return nil, err
	}
	out := map[string][]byte{"README.md": []byte(w.readme())}
	for _, o := range s.All() {
		var b bytes.Buffer
		if err := o.Encode(&b); err != nil {
			return nil, err
		}
		out[FileOf(o.Name)] = b.Bytes()
	}
	for _, s := range s.Sources {
		out[s.Name+".md"] = []byte(w.page(s))
	}
	return out, nil
}

// Warnings are what a person should look at after the pages were written: sentences of the summary
// and paragraphs whose verdict or machine has changed, and claims without one.
func Warnings(s *Set, whys map[string]Why, summary Summary) []string {
	_, out, _ := summary.fill(s) // an error of it is one of Pages
	missing := 0
	for _, c := range s.Claims {
		w, found := whys[c.Source+" "+c.ID]
		if !found {
			missing++
			continue
		}
		if stale := s.stale(w, c); stale != "" {
			out = append(out, fmt.Sprintf("%s:%d: the paragraph on %s: %s", w.File, w.Line, c.ID,
				stale))
		}
	}
	if missing > 0 {
		out = append(out, fmt.Sprintf("%d of %d claims have no paragraph on their cause", missing,
			len(s.Claims)))
	}
	return out
}

// Write writes the pages into a folder. A page is replaced as a whole or not at all. The figures
// come first, so that after an interruption the pages can be made from them. Nothing is written if
// the folder would become larger than its limit.
func Write(dir string, pages map[string][]byte) error {
	size, err := paragraphs(dir)
	if err != nil {
		return err
	}
	for _, data := range pages {
		size += int64(len(data))
	}
	if size > MaxBytes {
		return fmt.Errorf("the pages, figures and paragraphs of %s would have %d bytes, and %d "+
			"is the limit: nothing was written; a run of fewer experiments has fewer figures",
			dir, size, MaxBytes)
	}
	var names []string
	for name := range pages {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(path.Ext(a), path.Ext(b)), cmp.Compare(a, b)) // .json, .md
	})
	for _, name := range names {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return fmt.Errorf("make the folder of the findings: %w", err)
		}
		if err := replace(file, pages[name]); err != nil {
			return fmt.Errorf("write the findings: %w", err)
		}
	}
	return nil
}

// paragraphs is the size of what people have written.
func paragraphs(dir string) (size int64, err error) {
	list, err := os.ReadDir(filepath.Join(dir, WhyDir))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	for _, entry := range list {
		info, err := entry.Info()
		if err != nil {
			return 0, err
		}
		size += info.Size()
	}
	return size, nil
}

// replace writes a file beside the old one and then takes its place.
func replace(path string, data []byte) error {
	next := path + ".new"
	err := os.WriteFile(next, data, 0o644)
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		os.Remove(next)
	}
	return err
}
