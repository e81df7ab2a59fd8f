package build

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"interleave/eve"
)

// library returns the folder of the runtime for these options, which it makes at first use: the
// headers in include, and libeve.a.
func (b *builder) library(ctx context.Context) (string, error) {
	dir := filepath.Join(b.cache.dir, b.runtimeKey())
	if b.cache.has(filepath.Join(dir, "libeve.a")) {
		return dir, nil
	}
	unlock, err := b.cache.lock(ctx, dir)
	if err != nil {
		return "", err
	}
	defer unlock()
	if b.cache.has(filepath.Join(dir, "libeve.a")) {
		return dir, nil // made while we waited
	}
	if b.o.Note != nil {
		b.o.Note("compiling the runtime; this is done once")
	}
	tmp, err := os.MkdirTemp(b.cache.dir, "new-*")
	if err != nil {
		return "", fmt.Errorf("preparing the runtime: %w", err)
	}
	defer os.RemoveAll(tmp)
	if err := b.compileLibrary(ctx, tmp); err != nil {
		return "", err
	}
	if err := os.Rename(tmp, dir); err != nil {
		return "", fmt.Errorf("preparing the runtime: %w", err)
	}
	return dir, nil
}

func (b *builder) runtimeKey() string {
	return key(append([]string{eve.RuntimeHash(), b.tools.id}, b.o.runtimeFlags()...)...)
}

func (b *builder) compileLibrary(ctx context.Context, dir string) error {
	include := filepath.Join(dir, "include")
	if err := os.Mkdir(include, 0o755); err != nil {
		return fmt.Errorf("preparing the runtime: %w", err)
	}
	for name, text := range eve.RuntimeFiles() {
		if err := os.WriteFile(filepath.Join(include, name), text, 0o644); err != nil {
			return fmt.Errorf("preparing the runtime: %w", err)
		}
	}
	sources := eve.RuntimeSources()
	objects := make([]string, len(sources))
	err := b.parallel(ctx, len(sources), func(ctx context.Context, i int) error {
		objects[i] = filepath.Join(dir, strings.TrimSuffix(sources[i], ".cpp")+".o")
		args := append(b.o.runtimeFlags(), "-fdebug-prefix-map="+dir+"="+
			filepath.Join(b.cache.dir, b.runtimeKey()), "-c", filepath.Join(include, sources[i]),
			"-o", objects[i])
		if said, err := b.tools.run(ctx, args...); err != nil {
			return fmt.Errorf("the runtime does not compile with %s: %w\n%s", b.tools.path, err,
				said)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := b.compileGdb(ctx, dir); err != nil {
		return err
	}
	if err := archive(ctx, filepath.Join(dir, "libeve.a"), objects); err != nil {
		return err
	}
	for _, o := range objects {
		os.Remove(o)
	}
	return nil
}
