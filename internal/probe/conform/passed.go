package conform

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"interleave/internal/manifest"
	"interleave/internal/probe/toolchain"
)

// passedFile, in a model's build folder, holds the stamp under which the model passed.
const passedFile = "conforms"

// Passed says whether this very build has passed this very conformance before. Runs and tests both
// remember it, so that neither plays again what the other has played.
func Passed(service *manifest.Service, built *toolchain.Built) (bool, error) {
	stamp, err := stampOf(service, built)
	if err != nil {
		return false, err
	}
	old, err := os.ReadFile(filepath.Join(built.Out, passedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return string(old) == stamp, err
}

// Pass remembers that a build has passed all checks of its service. The file is replaced as a
// whole: of two processes that do so at once, each leaves a true one.
func Pass(service *manifest.Service, built *toolchain.Built) error {
	stamp, err := stampOf(service, built)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(built.Out, "."+passedFile+"-*")
	if err != nil {
		return fmt.Errorf("remember that a model conforms: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(stamp)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("remember that a model conforms: %w", err)
	}
	return os.Rename(f.Name(), filepath.Join(built.Out, passedFile))
}

// stampOf changes with the build and with every transcript.
func stampOf(service *manifest.Service, built *toolchain.Built) (string, error) {
	files, err := filepath.Glob(filepath.Join(service.Dir, "conform", "*"))
	if err != nil {
		return "", err
	}
	slices.Sort(files)
	h := sha256.New()
	fmt.Fprintln(h, built.Hash)
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			return "", fmt.Errorf("read a transcript: %w", err)
		}
		fmt.Fprintln(h, filepath.Base(f), len(data))
		h.Write(data)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
