package build

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"interleave/eve/std"
)

// precompiled returns the header of every program as GCC reads it fastest, and makes it at first
// use. It is empty where there is none: other compilers have other ways to keep one, and gdb shows
// no sources of one. It is made again for other flags, another compiler, and when one of the
// headers in it has changed.
func (b *builder) precompiled(ctx context.Context, lib string) (string, error) {
	if !b.tools.gcc || b.o.Debug {
		return "", nil
	}
	flags := b.o.flags(b.tools)
	parts := append([]string{"header", b.tools.id, headersOf(`#include "` + std.Base + `"`)},
		flags...)
	header := filepath.Join(b.cache.dir, "objects", key(parts...)+".gch")
	err := b.cache.once(ctx, header, func(tmp string) error {
		_, err := b.tools.run(ctx, append(flags, "-x", "c++-header",
			filepath.Join(lib, "include", std.Base), "-o", tmp)...)
		return err
	})
	switch {
	case err == nil:
		return header, nil
	case ctx.Err() != nil || errors.Is(err, context.Canceled):
		return "", err
	}
	return "", nil // the compiler reports for the unit what is wrong
}

// withHeader runs the compiler for a unit in a folder. A quoted header is looked for there first,
// and a precompiled one before the header itself. If the compiler fails, it has a second try
// without: the kernel may not give it the addresses at which it must have the precompiled header.
func (b *builder) withHeader(ctx context.Context, header, dir string,
	args []string) (said string, err error) {
	if header == "" {
		return b.tools.run(ctx, args...)
	}
	offered := filepath.Join(dir, std.Base+".gch")
	if err := os.Symlink(header, offered); err != nil {
		return "", err
	}
	if said, err = b.tools.run(ctx, args...); err == nil || ctx.Err() != nil {
		return said, err
	}
	if err := os.Remove(offered); err != nil {
		return "", err
	}
	return b.tools.run(ctx, args...)
}
