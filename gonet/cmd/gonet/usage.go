package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"interleave/gonet/internal/version"
)

// usageError is a mistake on the command line.
type usageError struct{ error }

// usagef makes a usageError as fmt.Errorf makes an error.
func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// newRoot returns the program with its commands. Wrong arguments are a usageError, which suggests
// similar words.
func newRoot(commands ...*cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use:           "gonet",
		Short:         "a TCP/IP stack on a tap",
		Long:          longHelp,
		Version:       version.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
		SuggestionsMinimumDistance: 2,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w; `%s --help` says more", err, cmd.CommandPath())
	})
	root.AddCommand(commands...)
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

// noCommand accepts no word: one that is left for the root is the name of no command.
func noCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := "`gonet help` lists them"
	if near := root.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return usagef("no command %q: %s", args[0], hint)
}
