// Command papaya is a chat server that speaks IRC, with its tools and a client.
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

	"interleave/internal/command"
)

// The exit codes of `papaya help`.
const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	os.Exit(realMain(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// realMain is main with its input and output as parameters.
func realMain(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	root := rootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var u command.Usage
	switch {
	case err == nil:
		return 0
	case errors.As(err, &u):
		fmt.Fprintln(stderr, "papaya:", err)
		return exitUsage
	case errors.As(err, &toldError{}):
		return exitFailed
	}
	fmt.Fprintln(stderr, "papaya:", err)
	return exitFailed
}

const about = `Papaya is a chat server of your own: rooms of IRC for any client, on one machine or on several that share a NATS cluster.
What is said is kept in one log, for those who were away and for people to read.

Exit status: 0 done (also what runs until Ctrl-C or SIGTERM), 1 failed, 2 wrong words.`

func rootCommand() *cobra.Command {
	return command.Root("papaya", "a chat server of your own", about,
		serveCommand(), benchCommand(), chatCommand(), adminCommand(), exportCommand(),
		backupCommand(), restoreCommand(), banCommand(), webhookCommand(), botCommand(),
		tortureCommand(), tortureNodeCommand())
}
