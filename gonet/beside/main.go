// Command beside measures GoNet beside other stacks, in programs that carry a stack in themselves:
// behind wireguard-go, as tun2socks, over a link in memory, and by the size of a program. It runs
// on Linux, in this folder. README.md says what is measured, and how.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// comparisons are all that are there.
var comparisons = []*comparison{&wireguard, &tun2socks, &memory, &size}

// patience bounds what takes no time to speak of.
const patience = 2 * time.Minute

func main() {
	log.SetFlags(0)
	log.SetPrefix("beside: ")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := start(ctx, os.Args[1:], os.Stdout)
	if err == nil {
		return
	}
	log.Print(err)
	switch _, isUsage := errors.AsType[usageError](err); {
	case isUsage:
		os.Exit(2)
	case ctx.Err() != nil:
		os.Exit(130)
	}
	os.Exit(1)
}

// usageError is an error of the words on the command line.
type usageError string

func (e usageError) Error() string { return string(e) }

// options are the words on the command line.
type options struct {
	rounds int
	lasts  time.Duration
	chosen []*comparison
	folder string // set in the process that is in a network namespace of its own
	cell   string // set in the process of a cell: its comparison, load and stack
}

func parse(words []string) (o options, err error) {
	f := flag.NewFlagSet("beside", flag.ContinueOnError)
	var said bytes.Buffer
	f.SetOutput(&said)
	f.IntVar(&o.rounds, "rounds", 5, "how often each load is measured")
	f.DurationVar(&o.lasts, "time", time.Second, "how long each load is measured")
	f.StringVar(&o.folder, "folder", "", "used by beside itself: where the programs are")
	f.StringVar(&o.cell, "cell", "", "used by beside itself: measure this cell")
	f.Usage = func() {
		fmt.Fprintln(&said, "usage: beside [-rounds N] [-time 1s] [COMPARISON...], of:")
		for _, c := range comparisons {
			fmt.Fprintf(&said, "  %-10s %s\n", c.name, c.title)
		}
	}
	if err := f.Parse(words); err != nil {
		return o, usageError(strings.TrimSpace(said.String()))
	}
	if o.rounds < 1 || o.lasts <= 0 {
		return o, usageError("-rounds and -time must be positive")
	}
	for _, name := range f.Args() {
		i := slices.IndexFunc(comparisons, func(c *comparison) bool { return c.name == name })
		if i < 0 {
			return o, usageError(name + ": no such comparison; -help lists them")
		}
		o.chosen = append(o.chosen, comparisons[i])
	}
	if len(o.chosen) == 0 {
		o.chosen = comparisons
	}
	return o, nil
}

// start does one of three things. The first process builds the programs, and runs the command again
// in a network namespace; that one runs the command again for each cell.
func start(ctx context.Context, words []string, out io.Writer) error {
	o, err := parse(words)
	switch {
	case err != nil:
		return err
	case o.cell != "":
		return o.measure(ctx, out)
	case o.folder != "":
		return o.compare(ctx, out)
	}
	folder, err := os.MkdirTemp("", "beside")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := build(ctx, folder); err != nil {
		return err
	}
	return enter(ctx, append([]string{"-folder", folder}, words...), out)
}

// enter runs the command again in a network namespace of its own. Without the privilege for one it
// makes a user namespace, too.
func enter(ctx context.Context, words []string, out io.Writer) error {
	try := func(user bool) error {
		c := again(ctx, words)
		c.Stdout = out
		c.SysProcAttr.Cloneflags = syscall.CLONE_NEWNET
		if user {
			c.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
			c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
			c.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
		}
		return c.Run()
	}
	err := try(false)
	if errors.Is(err, syscall.EPERM) {
		if err = try(true); errors.Is(err, syscall.EPERM) {
			return fmt.Errorf("no network namespace: %w: run it as root, or allow user namespaces",
				err)
		}
	}
	return err
}

// again is this command with other words. It ends with the context.
func again(ctx context.Context, words []string) *exec.Cmd {
	c := exec.CommandContext(ctx, "/proc/self/exe", words...)
	c.Args[0] = os.Args[0]
	c.Stderr = os.Stderr
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = patience
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c
}

// compare runs the comparisons. It is in a network namespace in which there is nothing else.
func (o *options) compare(ctx context.Context, out io.Writer) error {
	if err := ip(ctx, "link", "set", "lo", "up"); err != nil {
		return err
	}
	// Connections that come and go need many ports.
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_local_port_range", []byte("10000 65535"),
		0); err != nil {
		return err
	}
	for _, c := range o.chosen {
		if err := c.run(ctx, o.rounds, out, o.inProcess, o.lasts); err != nil {
			return err
		}
	}
	return nil
}

// inProcess measures a cell in a process of its own.
func (o *options) inProcess(ctx context.Context, c cell) (f figures, err error) {
	ctx, cancel := context.WithTimeout(ctx, 4*o.lasts+4*patience)
	defer cancel()
	command := again(ctx, []string{"-folder", o.folder, "-time", o.lasts.String(), "-cell",
		strings.Join([]string{c.comparison, c.load, c.stack}, "/")})
	out, err := command.Output()
	if err != nil {
		return nil, err
	}
	return f, json.Unmarshal(out, &f)
}

// measure measures one cell, and prints its figures.
func (o *options) measure(ctx context.Context, out io.Writer) error {
	names := strings.Split(o.cell, "/")
	if len(names) != 3 {
		return usageError(o.cell + ": not a cell")
	}
	c := cell{comparison: names[0], load: names[1], stack: names[2], lasts: o.lasts,
		folder: o.folder}
	for _, of := range comparisons {
		for _, l := range of.loads {
			if of.name == c.comparison && l.name == c.load {
				f, err := l.measure(ctx, c)
				if err != nil {
					return err
				}
				return json.NewEncoder(out).Encode(f)
			}
		}
	}
	return usageError(o.cell + ": no such cell")
}
