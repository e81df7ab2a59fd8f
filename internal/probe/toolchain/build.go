package toolchain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"interleave/internal/manifest"
	"interleave/internal/probe/tail"
)

// buildLimit bounds the whole build of a model. It only ends what hangs: the slowest one, a first
// build by cargo, takes 135 CPU seconds, and on a machine with thirty other busy processes more
// than ten minutes.
const buildLimit = time.Hour

// stampName is a file of a build that is whole. It has the build's hash.
const stampName = "stamp"

// BuildOptions say where and how Build makes a model.
type BuildOptions struct {
	OutRoot  string    // the output folder, usually ROOT/out
	Sanitize Sanitizer // the zero value is Plain
}

// A Built is a model that can be started.
type Built struct {
	Model    *manifest.Model
	Out      string   // the folder that {out} stands for
	Env      []string // of the build and of the server
	Tools    []Found
	Sanitize Sanitizer
	Hash     string // of everything that the build depends on
	Reused   bool   // an earlier build was up to date, here or in another checkout
}

// A BuildError is a model whose build failed.
type BuildError struct {
	Model   *manifest.Model
	Command []string
	Output  string // the end of what the command wrote
	Err     error
}

// Error says which command failed and how, and shows the end of its output.
func (e *BuildError) Error() string {
	return fmt.Sprintf("building %s/%s: %s: %v%s", e.Model.Service, e.Model.Name,
		strings.Join(e.Command, " "), e.Err, tail.Lines(e.Output, 30))
}

// Unwrap returns the cause.
func (e *BuildError) Unwrap() error { return e.Err }

// Build makes the program of a model below OutRoot/build, unless the program there was made from
// the same files by the same tools, or another checkout of this user made it from the same (see
// sharing). Two builds of a model at once are safe: the second one waits, and then finds the model
// built. If the sanitizer has nothing to look for, the error is ErrNotApplicable. If a tool is not
// here, it is a *Missing. If a command fails, it is a *BuildError.
func Build(ctx context.Context, model *manifest.Model, opts BuildOptions) (*Built, error) {
	outRoot, err := filepath.Abs(opts.OutRoot)
	if err != nil {
		return nil, err
	}
	b := &Built{Model: model, Sanitize: opts.Sanitize}
	// first, since the answer of some tools takes most of a second
	commands, err := sanitized(model, opts.Sanitize)
	if err != nil {
		return nil, err
	}
	for _, need := range model.Needs {
		found, err := Lookup(outRoot, need)
		if err != nil {
			return nil, err
		}
		b.Tools = append(b.Tools, found)
	}
	b.Env = environ(b.Tools, model.Env)
	commands = onStack(model, commands)
	name := model.Name
	if opts.Sanitize != Plain {
		name += "-" + string(opts.Sanitize)
	}
	b.Out = filepath.Join(outRoot, "build", model.Service, name)
	if b.Hash, err = hash(b, commands, outRoot); err != nil {
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
	stamp := filepath.Join(b.Out, stampName)
	if done, err := os.ReadFile(stamp); err == nil && string(done) == b.Hash+"\n" {
		b.Reused = true
		return b, nil
	}
	shared := sharingOf(b, commands)
	if err := b.make(ctx, commands, stamp, shared); err != nil {
		return b, err
	}
	if !b.Reused {
		shared.put(ctx, b.Out)
	}
	return b, nil
}

// make copies the shared build, or runs the commands. It removes the stamp first and writes it
// last, so that a build that failed or was interrupted never counts.
func (b *Built) make(ctx context.Context, commands [][]string, stamp string, shared sharing) error {
	if err := os.Remove(stamp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &BuildError{Model: b.Model, Err: err}
	}
	taken := shared.take(ctx, b.Out)
	if b.Reused = taken && !shared.looks; !b.Reused {
		if err := b.run(ctx, commands); err != nil {
			return err
		}
	}
	if err := writeWhole(stamp, b.Hash+"\n"); err != nil {
		return &BuildError{Model: b.Model, Command: []string{"writing the stamp"}, Err: err}
	}
	return nil
}

// run runs the commands of the build.
func (b *Built) run(ctx context.Context, commands [][]string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, buildLimit, fmt.Errorf("not done after %v",
		buildLimit))
	defer cancel()
	outRoot := filepath.Join(b.Out, "../../..")
	dir, err := filepath.Abs(b.Model.Dir)
	if err != nil {
		return &BuildError{Model: b.Model, Err: err}
	}
	for _, args := range commands {
		args = manifest.Expand(args, map[string]string{"out": b.Out, "tools": filepath.Join(outRoot,
			"tools"), "cache": filepath.Join(outRoot, "cache"), "dir": dir})
		var output tail.Buffer
		if err := b.command(ctx, args, &output); err != nil {
			return &BuildError{Model: b.Model, Command: args, Output: output.String(), Err: err}
		}
	}
	return nil
}

// goFlags is the setting GOFLAGS of an environment, with which go leaves the commit out of what it
// links: the same sources are the same program at each commit.
func goFlags(env []string) string {
	flags := ""
	for _, setting := range env {
		if value, ok := strings.CutPrefix(setting, "GOFLAGS="); ok {
			flags = value + " "
		}
	}
	return "GOFLAGS=" + flags + "-buildvcs=false"
}

// hurriedJVM is for a compiler that runs for a second: it spares the JVM the second JIT compiler
// and the threads that collect garbage, which take 40 % of the CPU.
const hurriedJVM = "JAVA_TOOL_OPTIONS=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

// outputDelay bounds how long the output of a command is read when a process that outlives it holds
// it open. It is a net: a build whose output is read late, on a busy machine, has not failed.
const outputDelay = time.Minute

// command runs one command of the build in a process group of its own: when ctx ends, all of the
// group's processes are killed.
func (b *Built) command(ctx context.Context, args []string, output io.Writer) error {
	path, err := LookPath(args[0], b.Model.Dir, b.Env)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, args[1:]...)
	cmd.Dir, cmd.Env = b.Model.Dir, b.Env
	switch args[0] {
	case goCommand:
		cmd.Env = append(slices.Clone(b.Env), goFlags(b.Env))
	case "javac":
		cmd.Env = append([]string{hurriedJVM}, b.Env...) // the user's own is later
	}
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = outputDelay
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	return nil
}

// lock waits for an advisory lock on path. The kernel releases it when its holder dies.
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

// writeWhole writes a file in one step: readers see all of it or nothing.
func writeWhole(path, text string) error {
	part := path + ".part"
	if err := os.WriteFile(part, []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(part, path)
}
