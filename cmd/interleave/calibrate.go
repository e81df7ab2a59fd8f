package main

import (
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"interleave/internal/calibrate"
	"interleave/internal/record"
)

func calibrateCommand(lab *laboratory) *cobra.Command {
	var asJSON bool
	var duets duetFlags
	cmd := &cobra.Command{
		Use:   "calibrate",
		Short: "measure reference servers whose truth is known",
		Long: `Calibrate measures reference servers with a known truth (a stall of 100 ms each second, an injected
delay, a known burn of CPU, a known amount of memory) and prints the laboratory's error.
It also measures what the kernel takes to wake a core, a figure that the gate foreign-cpu uses.
Every run makes a form of it that takes eleven seconds, and refuses to measure if it fails.

With --duets it measures one model against itself instead, in cells and in duets for the same time,
beside busy loops that it starts. It prints the width of the interval, how often it holds 1, and how
many cells were void: what duets are worth on this machine. Of 20 runs beside 0, 1 and 2 busy loops
that takes 20 minutes.`,
		Example: `  interleave calibrate
  interleave calibrate --json
  interleave calibrate --duets                      20 runs each beside 0, 1 and 2 busy loops
  interleave calibrate --duets --beside 1 --runs 5  a part of it`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if duets.asked {
				return duets.compareDuets(cmd.Context(), lab, cmd.OutOrStdout(),
					cmd.ErrOrStderr())
			}
			exe, err := os.Executable()
			if err != nil {
				return err
			}
			checks, err := calibrate.Run(cmd.Context(), exe, true)
			if err != nil {
				return err
			}
			checks = append(checks, calibrate.Wakings(cmd.Context(), exe).Check())
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), checks)
			} else {
				err = printChecks(cmd.OutOrStdout(), checks)
			}
			if err != nil {
				return err
			}
			for _, c := range checks {
				if !c.OK {
					return &failure{exitRefused, fmt.Errorf("the instrument is not true here: %s",
						c.Name)}
				}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&asJSON, "json", false, "for scripts")
	flags.BoolVar(&duets.asked, "duets", false,
		"compare cells and duets, of a model against itself")
	flags.IntVar(&duets.runs, "runs", 20, "with --duets: how often each is tried")
	flags.IntSliceVar(&duets.beside, "beside", []int{0, 1, 2},
		"with --duets: numbers of busy loops")
	flags.StringVar(&duets.model, "model", "echo/c-epoll", "with --duets: the model")
	cmd.MarkFlagsMutuallyExclusive("json", "duets")
	return cmd
}

// printChecks is the table of a calibration.
func printChecks(w io.Writer, checks []record.Check) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\tcheck\ttruth\tmeasured\toff by\tallowed\t")
	for _, c := range checks {
		mark := "ok"
		if !c.OK {
			mark = "FAILED"
		}
		if c.Tolerance == 0 { // for information
			fmt.Fprintf(t, "\t%s\t–\t%.5g %s\t–\t–\t%s\n", c.Name, c.Measured, c.Unit, c.Note)
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%.5g %s\t%.5g %s\t%+.3g\t± %.3g\t%s\n", mark, c.Name, c.Truth,
			c.Unit, c.Measured, c.Unit, c.Measured-c.Truth, c.Tolerance, c.Note)
	}
	return t.Flush()
}
