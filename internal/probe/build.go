package probe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"interleave/internal/manifest"
)

// A Sanitizer is a build that finds faults which an ordinary one hides.
type Sanitizer string

// The sanitizers: address and undefined behaviour, or threads, for C; the race detector for Go.
const (
	Plain Sanitizer = ""
	ASan  Sanitizer = "asan"
	TSan  Sanitizer = "tsan"
	Race  Sanitizer = "race"
)

// ErrNotApplicable says that a sanitizer has nothing to look at in a model: it is for another
// language, or for threads where there are only processes.
var ErrNotApplicable = errors.New("does not apply to this model")

// buildLimit bounds a model's whole build. The slowest is a first cargo build: under a minute here.
const buildLimit = 10 * time.Minute

// BuildOptions say where and how a model is built.
type BuildOptions struct {
	OutRoot  string    // the laboratory's output folder, usually ROOT/out
	Sanitize Sanitizer // Plain unless told
}

// A Built is a model that can be started.
type Built struct {
	Model    *manifest.Model
	Out      string // {out}
	Env      []string
	Tools    []Found
	Sanitize Sanitizer
	Hash     string // of everything that the build depends on
	Reused   bool   // an earlier build was still good
}

// A BuildError is a model whose build failed.
type BuildError struct {
	Model   *manifest.Model
	Command []string
	Output  string // its end
	Err     error
}

func (e *BuildError) Error() string {
	return fmt.Sprintf("building %s/%s: %s: %v%s", e.Model.Service, e.Model.Name,
		strings.Join(e.Command, " "), e.Err, lastLines(e.Output, 30))
}

func (e *BuildError) Unwrap() error { return e.Err }

// Build makes a model's program under OutRoot/build, unless what is there was made from the same
// files by the same tools. Two builds of a model at once are safe: the second waits, then finds it
// done. A tool chain that is not here is a *Missing, a command that fails a *BuildError.
func Build(ctx context.Context, model *manifest.Model, opts BuildOptions) (*Built, error) {
	outRoot, err := filepath.Abs(opts.OutRoot)
	if err != nil {
		return nil, err
	}
	b := &Built{Model: model, Sanitize: opts.Sanitize}
	for _, need := range model.Needs {
		found, err := Lookup(outRoot, need)
		if err != nil {
			return nil, err
		}
		b.Tools = append(b.Tools, found)
	}
	b.Env = environ(b.Tools, model.Env)
	commands, err := sanitized(model, opts.Sanitize)
	if err != nil {
		return nil, err
	}
	commands = onStack(model, commands)
	name := model.Name
	if opts.Sanitize != Plain {
		name += "-" + string(opts.Sanitize)
	}
	b.Out = filepath.Join(outRoot, "build", model.Service, name)
	if b.Hash, err = hash(b, commands, filepath.Join(outRoot, "bin")); err != nil {
		return nil, fmt.Errorf("building %s/%s: %w", model.Service, model.Name, err)
	}
	if err := os.MkdirAll(b.Out, 0o755); err != nil {
		return nil, fmt.Errorf("building %s/%s: %w", model.Service, model.Name, err)
	}
	unlock, err := lock(ctx, b.Out+".lock")
	if err != nil {
		return nil, fmt.Errorf("building %s/%s: %w", model.Service, model.Name, err)
	}
	defer unlock()
	stamp := filepath.Join(b.Out, "stamp")
	if done, err := os.ReadFile(stamp); err == nil && string(done) == b.Hash+"\n" {
		b.Reused = true
		return b, nil
	}
	return b, b.make(ctx, commands, stamp)
}

// make runs the commands. The stamp goes first and comes back last, so that a build which failed or
// was cut short never counts.
func (b *Built) make(ctx context.Context, commands [][]string, stamp string) error {
	if err := os.Remove(stamp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &BuildError{Model: b.Model, Err: err}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, buildLimit, fmt.Errorf("not done after %v",
		buildLimit))
	defer cancel()
	outRoot := filepath.Join(b.Out, "../../..")
	for _, args := range commands {
		args = manifest.Expand(args, map[string]string{"out": b.Out, "tools": filepath.Join(outRoot,
			"tools"), "cache": filepath.Join(outRoot, "cache")})
		var output tail
		if err := b.command(ctx, args, &output); err != nil {
			return &BuildError{Model: b.Model, Command: args, Output: output.String(), Err: err}
		}
	}
	if err := writeWhole(stamp, b.Hash+"\n"); err != nil {
		return &BuildError{Model: b.Model, Command: []string{"writing the stamp"}, Err: err}
	}
	return nil
}

// command runs one build command in a process group of its own: a Ctrl-C ends all of it.
func (b *Built) command(ctx context.Context, args []string, output io.Writer) error {
	path, err := lookPath(args[0], b.Model.Dir, b.Env)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, args[1:]...)
	cmd.Dir, cmd.Env = b.Model.Dir, b.Env
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	return nil
}

// sanitized returns the model's build commands with the sanitizer's flags.
func sanitized(m *manifest.Model, s Sanitizer) ([][]string, error) {
	if s == Plain {
		return m.Build, nil
	}
	flags := map[Sanitizer][]string{
		ASan: {"-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"},
		TSan: {"-g", "-fsanitize=thread", "-fno-sanitize-recover=all"},
	}[s]
	var commands [][]string
	applied := false
	for _, args := range m.Build {
		args = slices.Clone(args)
		switch {
		case s == TSan && m.Model == "process":
		case s == TSan && m.Tables: // it takes a number for the same descriptor in all threads
		case flags != nil && m.Language == "c" && len(args) > 0 && args[0] == "cc":
			// A sanitizer's own library is loaded: no program of its can be static.
			args = slices.DeleteFunc(args, func(word string) bool { return word == "-static" })
			args, applied = append(args, flags...), true
		case s == Race && m.Language == "go" && len(args) > 1 && args[0] == "go" &&
			args[1] == "build":
			args, applied = withFlag(args, "-race"), true
		case flags != nil && m.Language == "eve" && len(args) > 1 && args[0] == "eve" &&
			args[1] == "build":
			args, applied = slices.Insert(args, 2, "--sanitize="+eveSanitizer[s]), true
		}
		commands = append(commands, args)
	}
	if !applied {
		return nil, fmt.Errorf("%s %w", s, ErrNotApplicable)
	}
	return commands, nil
}

// onStack returns the commands that build a Go model with the stack that it is to carry: its
// files of that tag.
func onStack(m *manifest.Model, commands [][]string) [][]string {
	if m.Stack != manifest.GoNet {
		return commands
	}
	commands = slices.Clone(commands)
	for i, args := range commands {
		if len(args) > 1 && args[0] == "go" && args[1] == "build" {
			commands[i] = withFlag(slices.Clone(args), "-tags="+string(m.Stack))
		}
	}
	return commands
}

// withFlag puts a flag into a command of go build: behind -C, which go wants first.
func withFlag(args []string, flag string) []string {
	if len(args) > 3 && args[2] == "-C" {
		return slices.Insert(args, 4, flag)
	}
	return slices.Insert(args, 2, flag)
}

// eveSanitizer is what the Eve compiler calls a sanitizer.
var eveSanitizer = map[Sanitizer]string{ASan: "address", TSan: "thread"}

// hash is over what the build depends on: the folder's files and what else the model uses,
// the commands, the tools' versions, and the tools themselves where they are made here: where
// they lie in ours.
func hash(b *Built, commands [][]string, ours string) (string, error) {
	h := sha256.New()
	for _, f := range b.Tools {
		fmt.Fprintf(h, "tool %q %q %q\n", f.Need, f.Version, f.Path)
		if filepath.Dir(f.Path) == ours {
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

// hashTree writes the files of a folder, or one file, to h. The path is relative to dir.
func hashTree(h io.Writer, dir, part string) error {
	return filepath.WalkDir(filepath.Join(dir, part), func(path string, entry fs.DirEntry,
		err error) error {
		if err != nil {
			return err
		}
		// What package managers leave beside the source is made from it, and tests are not built.
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

// hashFile writes what stands in a file to h, shortened.
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

// lock waits for an advisory lock on path, which the kernel lets go when its holder dies.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { file.Close() }, nil
		}
		if err != unix.EWOULDBLOCK && err != unix.EINTR {
			file.Close()
			return nil, fmt.Errorf("locking %s: %w", path, err)
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// writeWhole puts a file in place in one step.
func writeWhole(path, text string) error {
	part := path + ".part"
	if err := os.WriteFile(part, []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(part, path)
}
