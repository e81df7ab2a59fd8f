package chatmatrix

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/probe"
)

// model is the folder of the server, seen from the checkout.
const model = "services/chat/c-process"

// buildLimit bounds one compiler: zig builds a C library the first time.
const buildLimit = 5 * time.Minute

// emulatedPatience lengthens the limits of a server that is translated as it runs: a guess.
const emulatedPatience = 5

// heavy are the transcripts with hundreds of clients or megabytes: under an emulator they try the emulator.
var heavy = []string{"thousand", "crowded", "missed-many", "slow-reader", "burst", "hundred-rooms", "restart-busy", "killed", "order"}

// zig is what `make portability` installs.
const zig = "out/tools/zig/ziglang/zig"

var errElsewhere = errors.New("built; nothing here can run it")

// A target is a system, who compiles for it, and what runs its programs here.
type target struct {
	name     string
	compiler []string
	emulator string // "" runs them as they are, "-" cannot
	install  string // what brings compiler and emulator
}

var targets = []target{
	{"x86_64-linux-gnu-gcc", []string{"gcc"}, "", "gcc"},
	{"x86_64-linux-gnu-clang", []string{"clang"}, "", "clang"},
	{"i686-linux-gnu-gcc", []string{"gcc", "-m32", "-Wno-psabi"}, "", "gcc-multilib"},
	{"x86_64-linux-musl", zigFor("x86_64-linux-musl"), "", "zig (make portability)"},
	{"x86-linux-musl", zigFor("x86-linux-musl"), "", "zig (make portability)"},
	{"aarch64-linux-musl", zigFor("aarch64-linux-musl"), "qemu-aarch64", "zig (make portability) and qemu-user"},
	{"s390x-linux-musl", zigFor("s390x-linux-musl"), "qemu-s390x", "zig (make portability) and qemu-user"},
	{"powerpc64-linux-musl", zigFor("powerpc64-linux-musl"), "qemu-ppc64", "zig (make portability) and qemu-user"},
	{"x86_64-freebsd", zigFor("x86_64-freebsd"), "-", "zig (make portability)"},
}

func zigFor(name string) []string { return []string{zig, "cc", "-target", name} }

var whole = flag.Bool("matrix", false, "print a row for each target, or for those that are named")

func TestMatrix(t *testing.T) {
	if !*whole {
		t.Skip("SKIP: -args -matrix builds and plays every target, in some minutes: make portability")
	}
	if err := run(t.Context(), flag.Args(), os.Stdout); err != nil {
		t.Fatal(err)
	}
}

// run prints a row for each target that is named, or for all. A target that fails is a row, not an error.
func run(ctx context.Context, names []string, out io.Writer) error {
	root, err := checkout()
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.ContainsFunc(targets, func(t target) bool { return t.name == name }) {
			return fmt.Errorf("%s is none of the targets", name)
		}
	}
	for _, t := range targets {
		if len(names) > 0 && !slices.Contains(names, t.name) {
			continue
		}
		fmt.Fprintln(out, t.row(ctx, root))
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

func checkout() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := here; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, model, "model.toml")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not in a checkout", here)
		}
	}
}

func (t target) row(ctx context.Context, root string) string {
	built, err := t.build(ctx, root)
	if missing := new(exec.Error); errors.As(err, &missing) || errors.Is(err, os.ErrNotExist) {
		return line(t.name, "skip", 0, 0, "install "+t.install)
	}
	if err != nil {
		return line(t.name, "no", 0, 0, err.Error())
	}
	passed, all, err := t.play(ctx, root, built)
	note := ""
	if err != nil {
		note = err.Error()
	}
	return line(t.name, "yes", passed, all, note)
}

func line(name, built string, passed, all int, note string) string {
	note = strings.Join(strings.Fields(note), " ")
	return fmt.Sprintf("%s\t%s\t%d\t%d\t%s", name, built, passed, all, note)
}

// build compiles the sources of the model with its own flags, by another compiler.
func (t target) build(ctx context.Context, root string) (*probe.Built, error) {
	m, err := load(root)
	if err != nil {
		return nil, err
	}
	out := filepath.Join(root, "out", "build", "chat", "c-process-"+t.name)
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	args := slices.Clone(t.compiler)
	if strings.Contains(args[0], "/") {
		args[0] = filepath.Join(root, args[0])
	}
	for _, arg := range m.Build[0][1:] {
		args = append(args, strings.ReplaceAll(arg, "{out}", out))
	}
	ctx, stop := context.WithTimeout(ctx, buildLimit)
	defer stop()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = m.Dir
	said, err := cmd.CombinedOutput()
	if missing := new(exec.ExitError); errors.As(err, &missing) {
		if strings.Contains(string(said), "bits/libc-header-start.h") {
			return nil, fmt.Errorf("the headers of the system: %w", os.ErrNotExist)
		}
		return nil, fmt.Errorf("%w: %s", err, said)
	}
	return &probe.Built{Model: m, Out: out}, err
}

func load(root string) (*manifest.Model, error) {
	service, err := manifest.LoadService(root, "services/chat/service.toml")
	if err != nil {
		return nil, err
	}
	return service.LoadModel(root, model+"/model.toml")
}

// play holds a build against the transcripts. The first failure is the error.
func (t target) play(ctx context.Context, root string, built *probe.Built) (passed, all int, first error) {
	if t.emulator == "-" {
		return 0, 0, errElsewhere
	}
	patience := built.Patience()
	if t.emulator != "" {
		path, err := exec.LookPath(t.emulator)
		if err != nil {
			return 0, 0, fmt.Errorf("%w: install %s", errElsewhere, t.install)
		}
		built.Model.Run = append([]string{path}, built.Model.Run...)
		patience = emulatedPatience
	}
	service, err := manifest.LoadService(root, "services/chat/service.toml")
	if err != nil {
		return 0, 0, err
	}
	checks, err := probe.Checks(service, built.Model)
	if err != nil {
		return 0, 0, err
	}
	for _, check := range checks {
		if t.emulator != "" && slices.Contains(heavy, check.Name) {
			continue
		}
		all++
		if err := check.Play(ctx, built, patience); err == nil {
			passed++
		} else if first == nil {
			first = fmt.Errorf("%s: %w", check.Name, err)
		}
	}
	return passed, all, first
}
