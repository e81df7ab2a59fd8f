// Command prove runs the project's tests by rings: `make test` and the other targets call it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"interleave/internal/command"
	"interleave/internal/prove"
)

// The exit status of `prove` after a failed test, after wrong arguments, and when it was stopped.
const (
	failed  = 1
	usage   = 2
	stopped = 130
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	err := root().ExecuteContext(ctx)
	wrong := command.Usage{}
	switch {
	case err == nil:
		return
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "prove: stopped")
		os.Exit(stopped)
	case errors.Is(err, prove.ErrFailed):
		os.Exit(failed)
	case errors.As(err, &wrong):
		fmt.Fprintln(os.Stderr, "prove:", err)
		os.Exit(usage)
	}
	fmt.Fprintln(os.Stderr, "prove:", err)
	os.Exit(failed)
}

func root() *cobra.Command {
	var o prove.Options
	r := command.Root("prove", "runs the project's tests",
		`prove runs the project's tests by rings: make test, whole, race and sanitize call it.`,
		runCommand(&o), buildCommand(&o), flakesCommand(&o), ringsCommand(&o), timesCommand(&o))
	r.PersistentFlags().StringVar(&o.Root, "root", ".", "the checkout")
	r.PersistentPreRunE = func(cmd *cobra.Command, _ []string) (err error) {
		o.Out = os.Stdout
		o.Root, err = filepath.Abs(o.Root)
		if cache, none := os.UserCacheDir(); none == nil {
			o.Shared = filepath.Join(cache, "interleave", "tests")
		}
		return errors.Join(err, shareBuilds(cmd.Context()))
	}
	return r
}

// shareBuilds makes go build with -trimpath here and in the tests, as the Makefile does. Otherwise
// the key of a build includes the folder, and each new checkout compiles all of our packages again.
func shareBuilds(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "go", "env", "GOFLAGS").Output()
	if err != nil {
		return fmt.Errorf("go env GOFLAGS: %w", err)
	}
	flags := strings.Fields(string(out))
	if !slices.Contains(flags, "-trimpath") {
		flags = append(flags, "-trimpath")
	}
	return os.Setenv("GOFLAGS", strings.Join(flags, " "))
}

// runFlags are those of all commands that run tests.
func runFlags(cmd *cobra.Command, o *prove.Options) {
	cmd.Flags().StringSliceVar(&o.Packages, "package", nil,
		"only the packages whose paths match, such as papaya/...")
	cmd.Flags().DurationVar(&o.Limit, "limit", 0, "the limit of one package's tests")
	cmd.Flags().IntVar(&o.AtOnce, "at-once", 0, "packages at the same time, at most")
}

func runCommand(o *prove.Options) *cobra.Command {
	times := false
	cmd := &cobra.Command{
		Use:   "run RING...",
		Short: "run the tests of rings, except unchanged packages that have passed",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, rings []string) error {
			o.Rings = rings
			_, err := prove.Run(cmd.Context(), *o)
			if times && (err == nil || errors.Is(err, prove.ErrFailed)) {
				err = errors.Join(err, prove.PrintTimes(o.Root, rings, os.Stdout))
			}
			return err
		},
	}
	runFlags(cmd, o)
	cmd.Flags().BoolVar(&o.Fresh, "fresh", os.Getenv("CI") != "",
		"run unchanged packages, too; the default if CI is set")
	cmd.Flags().IntVar(&o.Again, "again", 0, "a failed test that passes so many times more is "+
		"listed as unsteady and does not fail the run")
	cmd.Flags().BoolVar(&times, "times", false, "end with the table of times")
	return cmd
}

func buildCommand(o *prove.Options) *cobra.Command {
	return &cobra.Command{
		Use:   "build RING...",
		Short: "build the test programs of rings, and run nothing",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, rings []string) error {
			o.Rings = rings
			return prove.Build(cmd.Context(), *o)
		},
	}
}

func flakesCommand(o *prove.Options) *cobra.Command {
	var n int
	var beside string
	cmd := &cobra.Command{
		Use:   "flakes RING...",
		Short: "run rings again and again, beside other work, and count the failures",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, rings []string) error {
			o.Rings = rings
			return prove.Flakes(cmd.Context(), *o, n, prove.Beside(beside))
		},
	}
	runFlags(cmd, o)
	cmd.Flags().IntVarP(&n, "runs", "n", 10, "how many times")
	cmd.Flags().StringVar(&beside, "beside", string(prove.Nothing),
		"the other work: nothing, busy (a loop for each core), io (stress-ng), or stops "+
			"(processes of the tests stand still for seconds)")
	return cmd
}

func ringsCommand(o *prove.Options) *cobra.Command {
	short := false
	cmd := &cobra.Command{
		Use:   "rings",
		Short: "list the tests of each ring, with the reasons",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			table, err := prove.LoadRings(filepath.Join(o.Root, prove.RingsFile))
			if err != nil {
				return err
			}
			if short {
				table.Help(os.Stdout)
			} else {
				table.Show(os.Stdout)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&short, "short", false, "a line for each ring")
	return cmd
}

func timesCommand(o *prove.Options) *cobra.Command {
	return &cobra.Command{
		Use:   "times [RING...]",
		Short: "print the table of the last times: package, wall, CPU, waits, builds",
		RunE: func(_ *cobra.Command, rings []string) error {
			return prove.PrintTimes(o.Root, rings, os.Stdout)
		},
	}
}
