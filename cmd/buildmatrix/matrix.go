package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/probe/conform"
	"interleave/internal/probe/toolchain"
)

// buildLimit bounds one compiler: zig builds a C library the first time.
const buildLimit = 5 * time.Minute

// emulatedPatience lengthens the limits of a server that is translated as it runs: a guess.
const emulatedPatience = 5

// heavy are the transcripts with hundreds of clients or megabytes, or that look at memory: under an
// emulator they try the emulator.
var heavy = []string{"many", "thousand", "crowded", "missed-many", "slow-reader", "burst",
	"hundred-rooms",
	"restart-busy", "killed", "order", "power", "long-lines"}

// zig is the compiler that toolchains.sh installs.
const zig = "out/tools/zig/ziglang/zig"

var errElsewhere = errors.New("nothing here can run it")

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
	{"x86_64-linux-musl", zigFor("x86_64-linux-musl"), "", "zig (make toolchains)"},
	{"x86-linux-musl", zigFor("x86-linux-musl"), "", "zig (make toolchains)"},
	{"aarch64-linux-musl", zigFor("aarch64-linux-musl"), "qemu-aarch64",
		"zig (make toolchains) and qemu-user"},
	{"s390x-linux-musl", zigFor("s390x-linux-musl"), "qemu-s390x",
		"zig (make toolchains) and qemu-user"},
	{"powerpc64-linux-musl", zigFor("powerpc64-linux-musl"), "qemu-ppc64",
		"zig (make toolchains) and qemu-user"},
	{"x86_64-freebsd", zigFor("x86_64-freebsd"), "-", "zig (make toolchains)"},
}

func zigFor(name string) []string { return []string{zig, "cc", "-target", name} }

// core are the transcripts of a quick matrix, by service: what its first promises come to, in a
// second or two on any target.
var core = map[string][]string{
	"chat": {"registration", "messages", "rooms", "lines", "log", "missed", "restart", "torn"},
	"sink": {"lines", "bytes", "last-line", "overlong", "reset", "terminate"},
}

// A matrix is what is tried.
type matrix struct {
	root   string
	server string   // SERVICE/MODEL
	quick  bool     // only the core of the transcripts, and no emulator
	names  []string // of targets; none: all

	service *manifest.Service
}

// run prints a row for each target. A target that fails is a row, not an error.
func (m matrix) run(ctx context.Context, out io.Writer) error {
	for _, name := range m.names {
		if !slices.ContainsFunc(targets, func(t target) bool { return t.name == name }) {
			return fmt.Errorf("%s is none of the targets", name)
		}
	}
	if err := m.load(); err != nil {
		return err
	}
	for _, t := range targets {
		if len(m.names) > 0 && !slices.Contains(m.names, t.name) {
			continue
		}
		fmt.Fprintln(out, m.row(ctx, t))
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
		if _, err := os.Stat(filepath.Join(dir, "services", "chat", "service.toml")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not in a checkout", here)
		}
	}
}

func (m matrix) row(ctx context.Context, t target) string {
	if m.quick && t.emulator != "" && t.emulator != "-" {
		return line(t.name, "skip", 0, 0, "left out of a quick look: an emulator takes minutes")
	}
	built, err := m.build(ctx, t)
	if missing := new(exec.Error); errors.As(err, &missing) || errors.Is(err, os.ErrNotExist) {
		return line(t.name, "skip", 0, 0, "install "+t.install)
	}
	if err != nil {
		return line(t.name, "no", 0, 0, err.Error())
	}
	passed, all, err := m.play(ctx, t, built)
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
func (m matrix) build(ctx context.Context, t target) (*toolchain.Built, error) {
	// its own for each target: run differs
	source, err := m.service.LoadModel(m.root, path.Join("services", m.server, "model.toml"))
	if err != nil {
		return nil, err
	}
	out := filepath.Join(m.root, "out", "build", m.server+"-"+t.name)
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	args := slices.Clone(t.compiler)
	if strings.Contains(args[0], "/") {
		args[0] = filepath.Join(m.root, args[0])
	}
	for _, arg := range source.Build[0][1:] {
		args = append(args, strings.ReplaceAll(arg, "{out}", out))
	}
	ctx, stop := context.WithTimeout(ctx, buildLimit)
	defer stop()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = source.Dir
	said, err := cmd.CombinedOutput()
	if missing := new(exec.ExitError); errors.As(err, &missing) {
		if strings.Contains(string(said), "bits/libc-header-start.h") {
			return nil, fmt.Errorf("the headers of the system: %w", os.ErrNotExist)
		}
		return nil, fmt.Errorf("%w: %s", err, said)
	}
	return &toolchain.Built{Model: source, Out: out}, err
}

func (m *matrix) load() (err error) {
	service, _, found := strings.Cut(m.server, "/")
	if !found {
		return fmt.Errorf("%q is no server: expected SERVICE/MODEL, such as chat/c-process",
			m.server)
	}
	m.service, err = manifest.LoadService(m.root, path.Join("services", service, "service.toml"))
	if err == nil {
		_, err = m.service.LoadModel(m.root, path.Join("services", m.server, "model.toml"))
	}
	return err
}

// play holds a build against the transcripts. The first failure is the error.
func (m matrix) play(ctx context.Context, t target,
	built *toolchain.Built) (passed, all int, first error) {
	if t.emulator == "-" {
		return 0, 0, errElsewhere
	}
	patience := built.Patience()
	if t.emulator != "" {
		emulator, err := exec.LookPath(t.emulator)
		if err != nil {
			return 0, 0, fmt.Errorf("%w: install qemu-user", errElsewhere)
		}
		built.Model.Run = append([]string{emulator}, built.Model.Run...)
		patience = emulatedPatience
	}
	checks, err := conform.Checks(m.service, built.Model)
	if err != nil {
		return 0, 0, err
	}
	for _, check := range checks {
		name, _, _ := strings.Cut(check.Name, " (") // of a sink's output
		if t.emulator != "" && slices.Contains(heavy, name) ||
			m.quick && !slices.Contains(core[m.service.Name], name) {
			continue
		}
		err := check.Play(ctx, built, patience)
		if missing := new(toolchain.Missing); errors.As(err, &missing) {
			continue // this machine lacks something for the transcript, whatever the target
		}
		all++
		if err == nil {
			passed++
		} else if first == nil {
			first = fmt.Errorf("%s: %w", check.Name, err)
		}
	}
	return passed, all, first
}
