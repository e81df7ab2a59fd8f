package run

import (
	"fmt"
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
