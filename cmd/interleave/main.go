// Command interleave measures the same network services under many concurrency models, and tests
// published claims against its measurements.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"interleave/internal/calibrate"
	"interleave/internal/command"
	"interleave/internal/load"
)

// The exit codes, as `interleave help` lists them.
const (
	exitFailed      = 1   // something went wrong; standard error has the error
	exitUsage       = 2   // wrong arguments, or a wrong manifest: nothing was started
	exitRefused     = 3   // the instrument did not measure its own reference servers right
	exitNonconform  = 4   // a server failed its conformance
	exitInterrupted = 130 // Ctrl-C: finished cells are recorded
)

// A failure is an error with an exit code of its own.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func usage(format string, args ...any) error {
	return &failure{exitUsage, fmt.Errorf(format, args...)}
}

func main() {
	os.Exit(realMain(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// realMain is main with its edges passed in.
func realMain(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 { // the laboratory's own processes, which users do not start
		switch args[0] {
		case "load":
			return load.Main(stdin, stdout)
		case "reference":
			return calibrate.Main(args[1:])
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM,
		syscall.SIGHUP)
	defer stop()
	root := rootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var f *failure
	switch {
	case errors.As(err, &f):
		fmt.Fprintf(stderr, "interleave: %v%s\n", err, wayOut(err))
		return f.code
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "interleave: stopped:", err)
		return exitInterrupted
	}
	fmt.Fprintf(stderr, "interleave: %v%s\n", err, wayOut(err))
	return exitFailed
}

// waysOut are remedies for errors of the system.
var waysOut = map[syscall.Errno]string{
	syscall.ENOSPC: "free some space, of runs below out/runs that are no longer wanted for example",
	syscall.EDQUOT: "free some space of this user's, or ask for a larger quota",
	syscall.EROFS:  "this checkout cannot be written to: copy it to where out/ can be made",
	syscall.EMFILE: "allow more open files: ulimit -n 65536",
	syscall.ENFILE: "allow more open files: sysctl -w fs.file-max=1000000",
	syscall.EAGAIN: "allow more processes: ulimit -u 65536",
	syscall.ENOMEM: "free some memory, or measure models with fewer processes",
}

// wayOut is the remedy at the end of a message about an error of the system, if there is one.
func wayOut(err error) string {
	for errno, way := range waysOut {
		if errors.Is(err, errno) {
			return "; " + way
		}
	}
	return ""
}

const about = `Interleave runs the same services (echo, counter, sink) under many concurrency models, checks that
each server is correct, loads all of them alike in shuffled rounds, and tests whether this machine
reproduces published claims.

Exit status: 0 done, 1 failed, 2 wrong arguments or a wrong manifest, 3 the instrument is wrong
here, 4 a server failed its conformance, 130 stopped by Ctrl-C (finished cells are recorded).`

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "interleave",
		Short:         "a laboratory for concurrency models",
		Long:          about,
		SilenceUsage:  true,
		SilenceErrors: true,
		Example: `  interleave run --for 10m               what ten minutes decide
  interleave run eve-echo --models=c-epoll,go-goroutine
  interleave check echo/c-epoll          is this server correct?
  interleave bench echo -- ./my-server {port}
  interleave report last`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := command.Unknown(cmd, args); err != nil {
				return &failure{exitUsage, err}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
		SuggestionsMinimumDistance: 2,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return &failure{exitUsage, err}
	})
	var lab laboratory
	root.PersistentFlags().StringVar(&lab.rootFlag, "root", "",
		"the checkout (default: the folder above that holds services/ and experiments/)")
	root.AddCommand(
		runCommand(&lab), listCommand(&lab), showCommand(&lab), checkCommand(&lab),
		benchCommand(&lab),
		reportCommand(&lab), compareCommand(&lab), findingsCommand(&lab),
		calibrateCommand(&lab), doctorCommand(&lab),
	)
	return root
}
