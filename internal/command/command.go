// Package command is shared by our command-line programs: their messages about wrong arguments.
package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"interleave/internal/version"
)

// Usage is a mistake on the command line.
type Usage struct{ error }

// Usagef makes a Usage as fmt.Errorf makes an error.
func Usagef(format string, args ...any) error { return Usage{fmt.Errorf(format, args...)} }

// Root is a program with its commands. Wrong arguments are a Usage error, which suggests similar
// words.
func Root(name, short, about string, commands ...*cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use:           name,
		Short:         short,
		Long:          about,
		Version:       version.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          Unknown,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
		SuggestionsMinimumDistance: 2,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return Usagef("%w; `%s --help` says more", err, cmd.CommandPath())
	})
	root.AddCommand(commands...)
	for _, c := range root.Commands() {
		if check := c.Args; check != nil {
			c.Args = func(cmd *cobra.Command, args []string) error {
				if err := check(cmd, args); err != nil {
					return Usagef("%s: %w; it is `%s`", cmd.Name(), err, cmd.UseLine())
				}
				return nil
			}
		}
	}
	return root
}

// Unknown is the Args of a program's root. It accepts no word: a word that is left there is no
// command.
func Unknown(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := fmt.Sprintf("`%s help` lists them", cmd.Name())
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return Usagef("no command %q: %s", args[0], hint)
}
