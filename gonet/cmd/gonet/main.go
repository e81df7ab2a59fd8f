// Command gonet runs the stack of package gonet on a tap of Linux. It pings, connects, serves,
// proxies and measures with it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// The exit codes, as `gonet help` lists them.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// errReported is a failure that was reported to the user already, for example by the summary of a
// ping that nobody answered.
var errReported = errors.New("failed")

func main() {
	os.Exit(realMain(words(os.Args), os.Stdin, os.Stdout, os.Stderr))
}

// words returns the words of the command line behind the program's name. By the name slirp4netns,
// under which podman and others start it, the program is `gonet slirp`.
func words(args []string) []string {
	if filepath.Base(args[0]) == slirp4netns && (len(args) < 2 || args[1] != slirpTap) {
		return append([]string{"slirp"}, args[1:]...)
	}
	return args[1:]
}

// realMain is main with arguments, streams and exit code as parameters.
func realMain(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM,
		syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C kills the process
	root := rootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var u usageError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errReported):
		return exitFailed
	case errors.As(err, &u):
		fmt.Fprintln(stderr, "gonet:", err)
		return exitUsage
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "gonet: stopped")
		return exitInterrupted
	}
	fmt.Fprintln(stderr, "gonet:", strings.TrimPrefix(errorText(err), "gonet: "))
	return exitFailed
}

// errorText returns the text of an error for the user. For a name that cannot be looked up it omits
// the system's DNS server, which was not asked.
func errorText(err error) string {
	if d, ok := errors.AsType[*net.DNSError](err); ok &&
		strings.Contains(d.Err, "no DNS server is configured") {
		return fmt.Sprintf("lookup %s: no DNS server is configured: give one with --dns",
			d.Name)
	}
	return err.Error()
}

const longHelp = `GoNet is a TCP/IP stack that a program carries in itself. This command runs one on a tap: a network
device whose other end is this process. The stack is a host of its own (10.9.0.2, unless --address says
otherwise), this machine's kernel its neighbour (10.9.0.1). Each command makes the tap, and removes it
when it ends.

With --tun NAME the device is a tun: it carries IP packets without Ethernet, as a VPN does.

It needs CAP_NET_ADMIN. Without it, run it in an empty network namespace of your own:

  unshare -rn gonet ping 10.9.0.1

Exit status: 0 done (also what runs until Ctrl-C or SIGTERM), 1 failed or no answer, 2 wrong usage,
130 stopped by Ctrl-C before it was done.`

func rootCommand() *cobra.Command {
	return newRoot(
		upCommand(), pingCommand(), ncCommand(), getCommand(), serveCommand(), socksCommand(),
		tun2socksCommand(), slirpCommand(), slirpTapCommand(), wgCommand(), benchCommand(),
		statCommand(), dumpCommand())
}
