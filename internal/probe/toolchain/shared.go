package toolchain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Builds by slow compilers are shared by all checkouts of a user: a program whose sources, commands
// and tools are the same was compiled before, perhaps in another clone, and is copied from there.
// They are kept in the user's cache, each under a hash of all that it was made from. eve has such a
// cache of its own. go has one of packages, and links a program anew in each checkout, unless it
// finds in its place the one that it would link. So it is given the one that was linked last.

// compilers are the commands whose builds are shared. Each makes a program that is the same
// wherever it stands. npm does so by `npm ci`, which brings the versions of package-lock.json.
var compilers = []string{"cc", "c++", "cargo", "cp", "erlc", "ghc", goCommand, "javac", "npm"}

// goCommand looks itself whether a program is up to date, by the build ID in it.
const goCommand = "go"

// compiles says whether a command is a compiler, or a script of a model that does a compiler's
// work: such a script is named build.sh, and fetches only files whose versions the model fixes.
func compiles(command []string) bool {
	return slices.Contains(compilers, command[0]) ||
		len(command) > 1 && command[0] == "sh" && filepath.Base(command[1]) == "build.sh"
}

// sharedFor is how long a shared build stays that nobody asks for. It is a guess.
const sharedFor = 30 * 24 * time.Hour

// packagesFile has the state of Debian's packages: a new C library has the old compiler's version.
const packagesFile = "/var/lib/dpkg/status"

// settings are the beginnings of the names of variables that compilers read.
var settings = []string{"CARGO_", "COMPILER_PATH", "CPATH", "CPLUS_INCLUDE_PATH", "C_INCLUDE_PATH",
	"ERL_", "GCC_", "GHC", "JAVA_TOOL_OPTIONS", "JDK_JAVAC_OPTIONS", "LIBRARY_PATH", "RUST",
	"SOURCE_DATE_EPOCH"}

// A sharing is the place of one build among those that all checkouts share. The zero value shares
// nothing.
type sharing struct {
	dir   string   // of this build
	parts []string // the files and folders below {out} that the server needs
	looks bool     // the command looks itself whether the build is up to date
}

// sharingOf returns the place of a build whose hash is known.
func sharingOf(b *Built, commands [][]string) sharing {
	cache, err := os.UserCacheDir()
	if err != nil || len(commands) == 0 {
		return sharing{}
	}
	looks := false
	for _, command := range commands {
		if !compiles(command) {
			return sharing{}
		}
		looks = looks || command[0] == goCommand
	}
	parts := partsOf(b.Model.Run)
	if len(parts) == 0 {
		return sharing{}
	}
	from := b.Hash
	if looks { // one place for each program: the next one that is linked replaces it
		from = fmt.Sprintf("%s %s %q", b.Model.Service, filepath.Base(b.Out), commands)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n%q\n", from, thisMachine(), parts)
	for _, setting := range b.Env {
		if slices.ContainsFunc(settings,
			func(name string) bool { return strings.HasPrefix(setting, name) }) {
			fmt.Fprintf(h, "%q\n", setting)
		}
	}
	return sharing{filepath.Join(cache, "interleave", "builds", hex.EncodeToString(h.Sum(nil))),
		parts, looks}
}

// partsOf are the files and folders below {out} that a command names. A word that goes on with
// another placeholder names a folder, and so does a script of Node, which loads what is beside it.
func partsOf(command []string) (parts []string) {
	for _, word := range command {
		for _, path := range strings.Split(word, ":") {
			path, ok := strings.CutPrefix(path, "{out}")
			if !ok {
				continue
			}
			if open := strings.IndexAny(path, "{*"); open >= 0 {
				path = path[:max(0, strings.LastIndexByte(path[:open], '/'))]
			} else if strings.HasSuffix(path, ".js") {
				path = path[:max(0, strings.LastIndexByte(path, '/'))]
			}
			parts = append(parts, "."+path)
		}
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}

// thisMachine is the part of a shared build's hash that the sources and tools do not tell.
var thisMachine = sync.OnceValue(func() string { return machineOf(packagesFile) })

// machineOf is thisMachine with this list of installed packages.
func machineOf(packages string) string {
	var name unix.Utsname
	_ = unix.Uname(&name) // a kernel without a name is the same each time
	h := sha256.New()
	// Where there is no Debian, the tools' versions must do.
	_ = hashFile(h, packages)
	return fmt.Sprintf("%s %x", unix.ByteSliceToString(name.Machine[:]), h.Sum(nil))
}

// take copies the shared build to out. It returns false if there is none, or it cannot be copied.
func (s sharing) take(ctx context.Context, out string) bool {
	if s.dir == "" {
		return false
	}
	now := time.Now()
	if os.Chtimes(s.dir, now, now) != nil {
		return false // there is none
	}
	// A build whose part is all of {out} was copied with its stamp. A copy that is interrupted must
	// not count as a whole build.
	_ = os.Remove(filepath.Join(s.dir, stampName))
	if s.copy(ctx, s.dir, out) == nil {
		return true
	}
	if ctx.Err() == nil {
		_ = os.RemoveAll(s.dir) // it is not whole: put makes another
	}
	return false
}

// put copies the build in out to the shared ones, and removes old ones. A build counts even if that
// fails, as on a full disk.
func (s sharing) put(ctx context.Context, out string) {
	all := filepath.Dir(s.dir)
	if s.dir == "" || s.looks && s.has(ctx, out) || os.MkdirAll(all, 0o755) != nil {
		return
	}
	if entries, err := os.ReadDir(all); err == nil {
		for _, e := range entries {
			if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > sharedFor {
				_ = os.RemoveAll(filepath.Join(all, e.Name()))
			}
		}
	}
	part, err := os.MkdirTemp(all, "new-")
	if err != nil {
		return
	}
	defer os.RemoveAll(part)
	if s.copy(ctx, out, part) == nil {
		if s.looks {
			_ = os.RemoveAll(s.dir) // go has linked another program than the one there
		}
		_ = os.Rename(part, s.dir) // or another checkout was quicker
	}
}

// has tells whether the shared build is the one in out.
func (s sharing) has(ctx context.Context, out string) bool {
	return !slices.ContainsFunc(s.parts, func(part string) bool {
		return exec.CommandContext(ctx, "diff", "-rq", filepath.Join(out, part),
			filepath.Join(s.dir, part)).Run() != nil
	})
}

// copy copies the parts from one folder to another. A process of its own does so: a program that
// this process holds open for writing, or a child that it starts meanwhile, could not be run.
func (s sharing) copy(ctx context.Context, from, to string) error {
	for _, part := range s.parts {
		target := filepath.Join(to, part)
		if target != filepath.Clean(to) {
			if err := os.RemoveAll(target); err != nil {
				return err
			}
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		err := exec.CommandContext(ctx, "cp", "-a", "-T", filepath.Join(from, part), target).Run()
		if err != nil {
			return fmt.Errorf("copying %s: %w", part, err)
		}
	}
	return nil
}
