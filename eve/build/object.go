package build

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Parts compiles single C++ files with any flags, and links them. Tests of the runtime use it:
// they need builds that no user makes, with an error in them or with a seeded scheduler. Files
// that have not changed come from the cache.
type Parts struct {
	Compiler string // "g++" or "clang++"
	// the working directory of the compiler; the headers below it that a source includes are part
	// of the key of its object
	Dir  string
	Jobs int // most compilers at one time; 0: one for each processor
}

// Objects compiles sources, which are files below Dir, with these flags, and returns the object of
// each. With -fsyntax-only an object is empty, and only shows that the compiler accepted the
// source.
func (p Parts) Objects(ctx context.Context, flags []string,
	sources ...string) (map[string]string, error) {
	b, err := p.builder()
	if err != nil {
		return nil, err
	}
	paths := make([]string, len(sources))
	err = b.parallel(ctx, len(sources), func(ctx context.Context, i int) error {
		text, err := os.ReadFile(filepath.Join(p.Dir, sources[i]))
		if err != nil {
			return err
		}
		headers, err := headersBelow(p.Dir, sources[i], string(text))
		if err != nil {
			return err
		}
		name := key(slices.Concat([]string{"part", b.tools.id, headers, sources[i], string(text)},
			flags)...)
		paths[i] = filepath.Join(b.cache.dir, "objects", name+".o")
		return b.cache.once(ctx, paths[i], func(tmp string) error {
			args := slices.Concat(flags, []string{"-c", sources[i], "-o", tmp})
			return b.say(ctx, p.Dir, sources[i], args)
		})
	})
	if err != nil {
		return nil, err
	}
	made := map[string]string{}
	for i, s := range sources {
		made[s] = paths[i]
	}
	return made, nil
}

// Program links objects that Objects made, and returns the path of the program.
func (p Parts) Program(ctx context.Context, flags []string, objects ...string) (string, error) {
	b, err := p.builder()
	if err != nil {
		return "", err
	}
	objects = slices.Sorted(slices.Values(objects))
	if b.tools.linker != "" {
		flags = append(slices.Clone(flags), "-fuse-ld="+b.tools.linker)
	}
	// The name of an object in the cache is a hash of its contents.
	name := key(slices.Concat([]string{"part", b.tools.id}, flags, objects)...)
	program := filepath.Join(b.cache.dir, "programs", name)
	err = b.cache.once(ctx, program, func(tmp string) error {
		args := slices.Concat(flags, objects, []string{"-o", tmp})
		if err := b.say(ctx, p.Dir, "linking", args); err != nil {
			return err
		}
		return os.Chmod(tmp, 0o755)
	})
	return program, err
}

func (p Parts) builder() (*builder, error) {
	tools := toolchainOf(p.Compiler, nil)
	if tools == nil {
		return nil, ErrNoCompiler
	}
	c, err := openCache()
	if err != nil {
		return nil, err
	}
	jobs := p.Jobs
	if jobs <= 0 {
		jobs = runtime.NumCPU()
	}
	return &builder{o: Options{Jobs: jobs}, tools: tools, cache: c}, nil
}

// say runs the compiler in a folder. Its error messages are the error.
func (b *builder) say(ctx context.Context, dir, what string, args []string) error {
	said, err := b.tools.runIn(ctx, dir, args...)
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%s: %s %s: %w\n%s", what, b.tools.path, strings.Join(args, " "), err,
			said)
	}
	return err
}

// headersBelow is one hash of the headers that a file of a folder includes. If one of them is not
// in the folder, it is one hash of all headers there.
func headersBelow(dir, source, text string) (string, error) {
	hash, whole := includes(text, path.Dir(filepath.ToSlash(source)),
		func(name string) (string, bool) {
			text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
			return string(text), err == nil
		})
	if whole {
		return hash, nil
	}
	return allHeaders(dir)
}

// allHeaders is one hash of all headers of a folder and its subfolders.
func allHeaders(dir string) (string, error) {
	var parts []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".hpp" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		parts = append(parts, name, string(text))
		return err
	})
	return key(parts...), err
}
