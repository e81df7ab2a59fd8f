package run

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"interleave/internal/manifest"
	"interleave/internal/record"
)

// snapshot copies the manifests and sources that a run measures into its directory, so that its
// report shows what was measured and not what the checkout became.
func snapshot(tree *manifest.Tree, experiments []*manifest.Experiment, dir string) error {
	to := filepath.Join(dir, record.TreeDir)
	for _, e := range experiments {
		if e.File == "" {
			if err := writeGenerated(e, to); err != nil {
				return err
			}
			continue
		}
		if err := copyFile(tree.Root, e.File, to); err != nil {
			return err
		}
	}
	for _, s := range tree.Services {
		if err := copyFile(tree.Root, rel(tree, s.Dir, "service.toml"), to); err != nil {
			return err
		}
		for _, m := range s.Models {
			if m.Language == "own" { // it has no folder here; the header tells how it was run
				continue
			}
			for _, f := range append([]string{"model.toml"}, m.Source...) {
				if err := copyFile(tree.Root, rel(tree, m.Dir, f), to); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// unchanged holds what is about to be measured against the copy of a run that goes on: the rounds
// of one run must be of the same servers.
func unchanged(tree *manifest.Tree, experiments []*manifest.Experiment, models []*manifest.Model,
	dir string) error {
	var files []string
	for _, e := range experiments {
		if tree.Experiment(e.Name) == e { // else it is the copy itself
			files = append(files, e.File)
		}
	}
	for _, m := range models {
		if own(m) {
			continue
		}
		for _, f := range append([]string{"model.toml"}, m.Source...) {
			files = append(files, rel(tree, m.Dir, f))
		}
	}
	for _, f := range files {
		now, err := os.ReadFile(filepath.Join(tree.Root, f))
		if err != nil {
			return fmt.Errorf("compare with what was measured: %w", err)
		}
		then, err := os.ReadFile(filepath.Join(dir, record.TreeDir, f))
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is new since the run began: start another one, for a run "+
				"measures one state of the laboratory", f)
		}
		if err != nil {
			return fmt.Errorf("compare with what was measured: %w", err)
		}
		if !bytes.Equal(now, then) {
			return fmt.Errorf("%s has changed since the run began: undo that, or start another "+
				"run, for a run measures one state of the laboratory", f)
		}
	}
	return nil
}

func rel(tree *manifest.Tree, dir, file string) string {
	name, err := filepath.Rel(tree.Root, filepath.Join(dir, file))
	if err != nil {
		return file
	}
	return name
}

// copyFile copies root/name to to/name.
func copyFile(root, name, to string) error {
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		return fmt.Errorf("copy what is measured: %w", err)
	}
	target := filepath.Join(to, name)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return fmt.Errorf("copy what is measured: %w", err)
	}
	if err := os.WriteFile(target, data, 0o644); err != nil {
		return fmt.Errorf("copy what is measured: %w", err)
	}
	return nil
}
