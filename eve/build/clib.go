package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"interleave/eve"
	"interleave/eve/emit"
	"interleave/eve/std"
)

// A Missing says that a program needs a C library that is not installed.
type Missing struct {
	For     string // the module: db.sqlite
	Library eve.Library
}

func (m *Missing) Error() string {
	return fmt.Sprintf("%s needs %s, and its header %s is not here: apt-get install %s", m.For,
		m.Library.Name, m.Library.Header, m.Library.Package)
}

// A clib is a C library of a program, as it was found on this machine.
type clib struct {
	eve.Library
	part          bool     // the program uses the part of the runtime that needs the library
	compile, link []string // arguments of the compiler
}

// findLibraries finds the C libraries of units. It runs no compiler, so that a missing one is named
// before anything is built.
func findLibraries(ctx context.Context, tools *toolchain, units []emit.Unit) ([]clib, error) {
	var found []clib
	for _, l := range eve.Libraries {
		user, part := needs(units, l)
		if user == "" {
			continue
		}
		c := clib{Library: l, part: part, link: strings.Fields(l.Link)}
		if !inAny(tools.includes(), l.Header) {
			flags, err := askPkgConfig(ctx, l)
			if err != nil {
				return nil, err
			}
			if flags == nil {
				return nil, &Missing{For: user, Library: l}
			}
			c.link = nil
			for _, f := range flags {
				if strings.HasPrefix(f, "-l") || strings.HasPrefix(f, "-L") {
					c.link = append(c.link, f)
				} else {
					c.compile = append(c.compile, f)
				}
			}
		}
		found = append(found, c)
	}
	return found, nil
}

// needs returns the module that needs the library, and whether it does so by a part of the runtime;
// empty if none does.
func needs(units []emit.Unit, l eve.Library) (module string, part bool) {
	for _, u := range units {
		if l.Runtime != "" && slices.Contains(u.Runtime, l.Runtime) {
			return std.Implemented(l.Runtime), true
		}
		if slices.Contains(u.Headers, l.Header) {
			module = u.Module
		}
	}
	return module, false
}

// includes are the folders in which the compiler looks for headers, as far as that is known without
// it: those of its arguments, of the environment and of Debian.
func (t *toolchain) includes() []string {
	var dirs []string
	root := "/"
	for i, a := range t.args {
		for _, flag := range []string{"-I", "-isystem"} {
			rest, is := strings.CutPrefix(a, flag)
			switch {
			case is && rest != "":
				dirs = append(dirs, rest)
			case is && i+1 < len(t.args):
				dirs = append(dirs, t.args[i+1])
			}
		}
		if dir, is := strings.CutPrefix(a, "--sysroot="); is {
			root = dir
		}
	}
	for _, name := range []string{"CPATH", "CPLUS_INCLUDE_PATH"} {
		for _, dir := range filepath.SplitList(os.Getenv(name)) {
			dirs = append(dirs, cmp.Or(dir, ".")) // an empty one is the working directory
		}
	}
	for _, dir := range []string{"usr/local/include", "usr/include", "usr/include/" + triplet()} {
		dirs = append(dirs, filepath.Join(root, dir))
	}
	return dirs
}

// triplet is Debian's name of this machine, of which some headers have a folder.
func triplet() string {
	cpu := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	return cpu + "-linux-gnu"
}

func inAny(dirs []string, header string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, header))
		return err == nil
	})
}

// askPkgConfig returns the arguments for a library that is not in the folders of the system; none
// if pkg-config does not know it, or is not here.
func askPkgConfig(ctx context.Context, l eve.Library) ([]string, error) {
	command := strings.Fields(os.Getenv("PKG_CONFIG"))
	if len(command) == 0 {
		command = []string{"pkg-config"}
	}
	if l.PkgConfig == "" {
		return nil, nil
	}
	words := append(command[1:], "--cflags", "--libs")
	words = append(words, strings.Fields(l.PkgConfig)...)
	out, err := exec.CommandContext(ctx, command[0], words...).Output()
	if ctx.Err() != nil || interrupted(err) {
		return nil, context.Canceled
	}
	var flags, dirs []string
	if err == nil { // else it does not know the library, or is not here
		flags = strings.Fields(string(out))
	}
	for _, f := range flags {
		if dir, is := strings.CutPrefix(f, "-I"); is {
			dirs = append(dirs, dir)
		}
	}
	if !inAny(dirs, l.Header) { // it speaks of folders that have been looked at
		return nil, nil
	}
	return flags, nil
}

// parts compiles the parts of the runtime that need the program's libraries, and returns their
// objects.
func (b *builder) parts(ctx context.Context, lib string) ([]string, error) {
	type source struct {
		name  string
		flags []string
	}
	var all []source
	for _, l := range b.libs {
		if l.part {
			for _, name := range l.Sources {
				all = append(all, source{name, slices.Concat(b.o.runtimeFlags(), l.compile)})
			}
		}
	}
	objects := make([]string, len(all))
	err := b.parallel(ctx, len(all), func(ctx context.Context, i int) error {
		name := key(slices.Concat([]string{b.runtimeKey(), all[i].name}, all[i].flags)...)
		objects[i] = filepath.Join(b.cache.dir, "objects", name+".o")
		return b.cache.once(ctx, objects[i], func(tmp string) error {
			args := slices.Concat(all[i].flags,
				[]string{"-c", filepath.Join(lib, "include", all[i].name), "-o", tmp})
			said, err := b.tools.run(ctx, args...)
			if err != nil && !errors.Is(err, context.Canceled) {
				return fmt.Errorf("%s of the runtime does not compile with %s: %w\n%s", all[i].name,
					b.tools.path, err, said)
			}
			return err
		})
	})
	return objects, err
}
