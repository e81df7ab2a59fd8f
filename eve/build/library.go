package build

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

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
	err := b.parallel(ctx, len(sources), func(ctx context.Context, i int) (err error) {
		objects[i], err = b.compileSource(ctx, dir, sources[i])
		return err
	})
	if err != nil {
		return err
	}
	if err := b.compileGdb(ctx, dir); err != nil {
		return err
	}
	return archive(ctx, filepath.Join(dir, "libeve.a"), objects)
}

// compileSource returns the object of a source of the runtime, in the cache. It is made again when
// the source or a header that it includes has changed. Its debugging information names the folder
// of the runtime for which it was made first, whose text of this source is the same.
func (b *builder) compileSource(ctx context.Context, dir, source string) (string, error) {
	text := runtimeFiles()[source]
	parts := append([]string{"runtime", b.tools.id, source, text, headersOf(text)},
		b.o.runtimeFlags()...)
	object := filepath.Join(b.cache.dir, "objects", key(parts...)+".o")
	return object, b.cache.once(ctx, object, func(tmp string) error {
		args := append(b.o.runtimeFlags(), "-fdebug-prefix-map="+dir+"="+
			filepath.Join(b.cache.dir, b.runtimeKey()), "-c", filepath.Join(dir, "include", source),
			"-o", tmp)
		if said, err := b.tools.run(ctx, args...); err != nil {
			return fmt.Errorf("the runtime does not compile with %s: %w\n%s", b.tools.path, err,
				said)
		}
		return nil
	})
}
