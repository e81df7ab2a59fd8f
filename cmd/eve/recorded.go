package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"interleave/eve/build"
	"interleave/eve/emit"
)

// A recorded is what eve trace and eve profile do alike: they run a program that records itself, or
// read what one has recorded, and write pages.
type recorded struct {
	variable string   // of the runtime, which names the file
	magic    string   // with which the file begins
	more     []string // of the environment
	out      string   // the names of the pages, without their ends; empty: after the program
	ran      string   // what get has run, as it was named; empty: nothing
}

// elfMagic is how a program begins.
const elfMagic = "\x7fELF"

// get returns the contents of a recording, and the exit status of the program. The first argument
// is a text of Eve, a compiled program, or a recording.
func (r *recorded) get(c *call) (data []byte, status int, err error) {
	if len(c.args) == 0 {
		return nil, 0, usage("name a file: a text of Eve, a compiled program or a recording")
	}
	name := c.args[0]
	if err := r.place(name); err != nil {
		return nil, 0, err
	}
	start := beginning(name, max(len(r.magic), len(elfMagic)))
	var program string
	switch {
	case strings.HasPrefix(start, r.magic):
		if len(c.args) > 1 {
			return nil, 0, usage("a recording has no arguments")
		}
		data, err = os.ReadFile(name)
		return data, 0, err
	case filepath.Ext(name) != ".eve" && isEmpty(name):
		return nil, 0, fmt.Errorf("%s is empty: its program was killed before it wrote it, or "+
			"still runs; kill -QUIT has it write what it has", name)
	case strings.HasPrefix(start, elfMagic):
		program, err = filepath.Abs(name)
	default:
		program, err = c.optimised(name)
	}
	if err != nil {
		return nil, 0, err
	}
	r.ran = name
	return r.run(c, program)
}

// place chooses where the pages for a program or a recording go. It fails if nothing can be written
// there: a program may run for hours before there is something to write.
func (r *recorded) place(name string) error {
	name = strings.TrimSuffix(filepath.Base(name), ".eve")
	if name == "-" {
		name = "program"
	}
	if info, err := os.Stat(r.out); r.out == "" || err == nil && info.IsDir() {
		r.out = filepath.Join(r.out, name)
	}
	dir := filepath.Dir(r.out)
	f, err := os.CreateTemp(dir, ".eve-*")
	if err != nil {
		return fmt.Errorf("nothing can be written into the folder %s: %w; choose another place "+
			"with -o NAME", dir, build.Cause(err))
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func isEmpty(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular() && info.Size() == 0
}

// beginning reads the first bytes of a file. It has none if it cannot be read, which the compiler
// then says.
func beginning(name string, n int) string {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	b := make([]byte, n)
	n, _ = io.ReadFull(f, b)
	return string(b[:n])
}

// optimised builds a program as `eve build` does, with the places of its code, in the cache.
func (c *call) optimised(name string) (string, error) {
	p, err := c.load(name)
	if err != nil {
		return "", err
	}
	if err := needMain(p, name); err != nil {
		return "", err
	}
	units, err := emit.Program(p, emit.Options{})
	if err != nil {
		return "", err
	}
	return build.Build(c.ctx, units, build.Options{Optimise: true, Profile: true, Note: c.note()})
}

// run runs the program with the rest of the arguments until it ends, however it does.
func (r *recorded) run(c *call, program string) (data []byte, status int, err error) {
	dir, err := os.MkdirTemp("", "eve-*")
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "recording")
	cmd := exec.Command(program, c.args[1:]...)
	cmd.Env = append(append(os.Environ(), r.more...), r.variable+"="+file)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.stdin, plainFile(c.stdout), c.stderr
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return nil, 0, err
	}
	done := make(chan struct{})
	go passSignals(cmd.Process, signals, done)
	waited := cmd.Wait()
	close(done)
	var exit *exec.ExitError
	if waited != nil && !errors.As(waited, &exit) {
		return nil, 0, waited
	}
	status = statusOf(cmd.ProcessState)
	data, err = os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(data) == 0 {
		return nil, 0, fmt.Errorf("%s left no recording: %v", r.ran, cmd.ProcessState)
	}
	return data, status, err
}

// plainFile is the file behind the output of a command, so that the program writes to it itself.
func plainFile(w io.Writer) io.Writer {
	if o, ok := w.(*output); ok {
		return o.w
	}
	return w
}

// statusOf is the status that a shell has for a program.
func statusOf(state *os.ProcessState) int {
	if s, ok := state.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return 128 + int(s.Signal())
	}
	return state.ExitCode()
}

// passOn makes the status of a program that of the command.
func passOn(ended int) error {
	if ended == 0 {
		return nil
	}
	return status(ended)
}

// passSignals hands signals on to the program, until it has ended. Ctrl-C reaches a program on the
// same terminal by itself.
func passSignals(p *os.Process, signals <-chan os.Signal, done <-chan struct{}) {
	for {
		select {
		case s := <-signals:
			if s != os.Interrupt || !inForeground() {
				_ = p.Signal(s) // it may have ended
			}
		case <-done:
			return
		}
	}
}

// inForeground says whether the terminal signals our process group.
func inForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	var group int32
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, tty.Fd(), syscall.TIOCGPGRP,
		uintptr(unsafe.Pointer(&group)))
	return errno == 0 && int(group) == syscall.Getpgrp()
}

// base is the name of the pages, without what tells them apart. A name that is that of an older
// page or of a recording does not get a second end.
func (r *recorded) base(end string) string { return strings.TrimSuffix(r.out, end) + end }

// A written is a file that a command makes, and the function that writes its text.
type written struct {
	name string
	to   func(io.Writer) error
}

// writeAll makes files, and names them.
func (c *call) writeAll(files ...written) error {
	for _, f := range files {
		var b bytes.Buffer
		if err := f.to(&b); err != nil {
			return err
		}
		if err := create(f.name, b.String(), newMode); err != nil {
			return err
		}
		fmt.Fprintf(c.stderr, "eve: wrote %s\n", f.name)
	}
	return nil
}

// sourceText reads a text of the program that was recorded, whose name the recording has.
func sourceText(file string) (string, error) {
	if filepath.Ext(file) != ".eve" {
		return "", fmt.Errorf("%s is no text of Eve", file)
	}
	text, err := os.ReadFile(file)
	return string(text), err
}
