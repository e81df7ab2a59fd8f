// Package build makes a program from C++ texts: it finds the compiler, compiles the runtime once
// and each text when it has changed, and links.
package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"interleave/eve/emit"
)

// Options say which program is built.
type Options struct {
	Out string // the program; empty: one in the cache, built only when something has changed
	// with a sanitizer: -O1; without Optimise it is -O0, of which the sanitizer sees every access
	Optimise bool
	Sanitize string            // "", "address" or "thread"
	Debug    bool              // debugging information for gdb
	Profile  bool              // optimised, with frame pointers, and with the lines of the program
	Jobs     int               // most compilers at one time; 0: one for each processor
	Note     func(text string) // is told of steps that take long; may be nil
}

// A Mistake is an error of the C++ compiler in generated code: a bug of the Eve compiler, whatever
// the program is.
type Mistake struct {
	File string // a copy of the text
	Said string
}

func (m *Mistake) Error() string {
	return fmt.Sprintf("this is a mistake of the Eve compiler, not of your program; the C++ is "+
		"kept in %s\n%s", m.File, m.Said)
}

// A builder makes one program.
type builder struct {
	o     Options
	tools *toolchain
	cache cache
	// with Debug: the working directory, from which gdb looks for the sources
	place string
	heads map[string]string // the C headers of a unit as one text, by the unit's name
	libs  []clib            // the C libraries of the program
}

// Build compiles and links units and returns the path of the program.
func Build(ctx context.Context, units []emit.Unit, o Options) (string, error) {
	tools, err := findToolchain()
	if err != nil {
		return "", err
	}
	c, err := openCache()
	if err != nil {
		return "", err
	}
	if o.Jobs <= 0 {
		o.Jobs = runtime.NumCPU()
	}
	b := &builder{o: o, tools: tools, cache: c}
	if o.Debug {
		if b.place, err = os.Getwd(); err != nil {
			return "", err
		}
	}
	if b.libs, err = findLibraries(ctx, tools, units); err != nil {
		return "", err
	}
	if b.heads, err = b.readHeaders(ctx, units); err != nil {
		return "", err
	}
	program := o.Out
	if program == "" {
		program = b.programPath(units)
		if c.has(program) {
			return program, nil
		}
	}
	lib, err := b.library(ctx)
	if err != nil {
		return "", err
	}
	objects, err := b.objects(ctx, units, lib)
	if err != nil {
		return "", err
	}
	parts, err := b.parts(ctx, lib)
	if err != nil {
		return "", err
	}
	return program, b.link(ctx, program, append(objects, parts...), lib)
}

// programPath is the place of the program of these units in the cache.
func (b *builder) programPath(units []emit.Unit) string {
	parts := []string{b.runtimeKey(), b.tools.linker, b.place, os.Getenv("LDLIBS")}
	parts = append(parts, b.unitFlags()...)
	for _, l := range b.libs {
		parts = append(parts, l.link...)
	}
	for _, u := range units {
		parts = append(parts, u.Name, u.Text, b.heads[u.Name])
	}
	return filepath.Join(b.cache.dir, "programs", key(parts...))
}

// unitFlags are the compiler's arguments for generated code.
func (b *builder) unitFlags() []string {
	flags := b.o.flags(b.tools)
	for _, l := range b.libs {
		flags = append(flags, l.compile...)
	}
	return flags
}

// objects compiles the units that are not in the cache.
func (b *builder) objects(ctx context.Context, units []emit.Unit, lib string) ([]string, error) {
	paths := make([]string, len(units))
	err := b.parallel(ctx, len(units), func(ctx context.Context, i int) error {
		// A change of the runtime's sources alone needs another libeve.a, but the same objects.
		parts := append([]string{b.tools.id, headersOf(units[i].Text), b.place, units[i].Text,
			b.heads[units[i].Name]}, b.unitFlags()...)
		paths[i] = filepath.Join(b.cache.dir, "objects", key(parts...)+".o")
		return b.compile(ctx, units[i], lib, paths[i])
	})
	return paths, err
}

// compile makes the object of a unit, unless it is in the cache.
func (b *builder) compile(ctx context.Context, u emit.Unit, lib, object string) error {
	if b.cache.has(object) {
		return nil
	}
	header, err := b.precompiled(ctx, lib)
	if err != nil {
		return fmt.Errorf("compiling %s: %w", u.Module, err)
	}
	dir, err := os.MkdirTemp("", "eve-*")
	if err != nil {
		return fmt.Errorf("compiling %s: %w", u.Module, err)
	}
	source := filepath.Join(dir, u.Name)
	if err := os.WriteFile(source, []byte(u.Text), 0o644); err != nil {
		return fmt.Errorf("compiling %s: %w", u.Module, err)
	}
	said := ""
	err = b.cache.once(ctx, object, func(tmp string) (err error) {
		args := append(b.unitFlags(), "-I"+filepath.Join(lib, "include"), "-c", source, "-o", tmp)
		said, err = b.withHeader(ctx, header, dir, args)
		return err
	})
	if err != nil && ctx.Err() == nil && said != "" {
		return &Mistake{source, head(said, 30)}
	}
	os.RemoveAll(dir)
	if err != nil {
		return fmt.Errorf("compiling %s: %w", u.Module, err)
	}
	return nil
}

// head is the first n lines of s.
func head(s string, n int) string {
	lines := strings.SplitAfterN(s, "\n", n+1)
	if len(lines) > n {
		lines[n] = "..."
	}
	return strings.Join(lines, "")
}

func (b *builder) link(ctx context.Context, program string, objects []string, lib string) error {
	put := b.cache.create
	if b.o.Out == "" {
		put = func(path string,
			write func(tmp string) error) error {
			return b.cache.once(ctx, path, write)
		}
	}
	return put(program, func(tmp string) error {
		args := []string{"-pthread", "-o", tmp}
		if b.tools.linker != "" {
			args = append(args, "-fuse-ld="+b.tools.linker)
		}
		if b.o.Sanitize != "" {
			args = append(args, "-fsanitize="+b.o.Sanitize)
		} else {
			args = append(args, "-static-libstdc++", "-static-libgcc")
		}
		args = append(args, objects...)
		for _, l := range b.libs {
			args = append(args, l.link...)
		}
		// Libraries that Eve does not know are given by LDLIBS, as for make.
		args = append(args, strings.Fields(os.Getenv("LDLIBS"))...)
		if b.o.Debug {
			args = append(args, filepath.Join(lib, gdbObject))
		}
		args = append(args, filepath.Join(lib, "libeve.a"))
		said, err := b.tools.run(ctx, args...)
		if err != nil {
			return fmt.Errorf("linking %s: %w\n%s", program, err, head(said, 30))
		}
		return os.Chmod(tmp, 0o755)
	})
}

// parallel calls do for 0 to n-1, Jobs at a time, and returns the first error.
func (b *builder) parallel(ctx context.Context, n int, do func(ctx context.Context,
	i int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	slots := make(chan struct{}, b.o.Jobs)
	errs := make([]error, n)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if ctx.Err() != nil {
				return
			}
			if errs[i] = do(ctx, i); errs[i] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return ctx.Err()
}

// archive makes a static library.
func archive(ctx context.Context, path string, objects []string) error {
	cmd := exec.CommandContext(ctx, "ar", append([]string{"rcs", path}, objects...)...)
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("archiving the runtime: %w\n%s", err, said)
	}
	return nil
}
