package toolchain

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// hash returns a hash of everything that the build depends on: the files of the model's folder and
// those that the model uses besides, the commands, and the versions of the tools. Tools in the
// folder bin of outRoot are made here, and their files count as well. The hash is the same in every
// checkout.
func hash(b *Built, commands [][]string, outRoot string) (string, error) {
	h := sha256.New()
	for _, f := range b.Tools {
		path := f.Path
		if below, ok := strings.CutPrefix(path, outRoot+"/"); ok {
			path = "{out}/" + below
		}
		fmt.Fprintf(h, "tool %q %q %q\n", f.Need, f.Version, path)
		if filepath.Dir(f.Path) == filepath.Join(outRoot, "bin") {
			if err := hashFile(h, f.Path); err != nil {
				return "", err
			}
		}
	}
	fmt.Fprintf(h, "commands %q\n", commands)
	for _, key := range slices.Sorted(maps.Keys(b.Model.Env)) {
		fmt.Fprintf(h, "env %q %q\n", key, b.Model.Env[key])
	}
	for _, part := range append([]string{"."}, b.Model.Uses...) {
		if err := hashTree(h, b.Model.Dir, part); err != nil {
			return "", fmt.Errorf("looking for what it is built from: %w", err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// hashTree writes the hashes of all files of a folder, or of one file, to h. The path part is
// relative to dir.
func hashTree(h io.Writer, dir, part string) error {
	return filepath.WalkDir(filepath.Join(dir, part), func(path string, entry fs.DirEntry,
		err error) error {
		if err != nil {
			return err
		}
		// Folders of package managers are made from the source, and tests are not built.
		if entry.IsDir() && slices.Contains([]string{"node_modules", "target", "testdata"},
			entry.Name()) {
			return fs.SkipDir
		}
		if !entry.Type().IsRegular() || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "file %q ", name)
		return hashFile(h, path)
	})
}

// hashFile writes the hash of a file's content to h.
func hashFile(h io.Writer, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	content := sha256.New()
	if _, err := io.Copy(content, file); err != nil {
		return err
	}
	_, err = fmt.Fprintf(h, "%x\n", content.Sum(nil))
	return err
}
