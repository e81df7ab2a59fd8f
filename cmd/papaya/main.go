// Command papaya is a chat server that speaks IRC, and what belongs to it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// The exit codes, as `papaya help` lists them.
const (
	exitFailed = 1
	exitUsage  = 2
)

// A usage is a mistake on the command line.
type usage struct{ error }

func usagef(format string, args ...any) error { return usage{fmt.Errorf(format, args...)} }

func main() {
	os.Exit(realMain(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// realMain is main with its edges passed in.
func realMain(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends what does not end by itself
	root := rootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var u usage
	switch {
	case err == nil:
		return 0
	case errors.As(err, &u):
		fmt.Fprintln(stderr, "papaya:", err)
		return exitUsage
	}
	fmt.Fprintln(stderr, "papaya:", err)
	return exitFailed
}

const about = `Papaya is a chat server of your own: rooms of IRC for any client, on one machine or on several that share a NATS cluster.
What is said is kept in one log, for those who were away and for people to read.

Exit status: 0 done (also what runs until Ctrl-C or SIGTERM), 1 failed, 2 wrong words.`

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "papaya",
		Short:         "a chat server of your own",
		Long:          about,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			hint := "`papaya help` lists them"
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				hint = "did you mean " + strings.Join(near, " or ") + "?"
			}
			return usagef("no command %q: %s", args[0], hint)
		},
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SuggestionsMinimumDistance: 2,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w; `%s --help` says more", err, cmd.CommandPath())
	})
	root.AddCommand(serveCommand(), benchCommand(), chatCommand(), adminCommand(), exportCommand(), backupCommand(), restoreCommand())
	for _, c := range root.Commands() {
		if check := c.Args; check != nil {
			c.Args = func(cmd *cobra.Command, args []string) error {
				if err := check(cmd, args); err != nil {
					return usagef("%s: %w; it is `%s`", cmd.Name(), err, cmd.UseLine())
				}
				return nil
			}
		}
	}
	return root
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value[:min(12, len(s.Value))]
			}
		}
	}
	return "development"
}
