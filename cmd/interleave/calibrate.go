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

func calibrateCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "calibrate",
		Short: "measure reference servers whose truth is known",
		Long: `Calibrate measures reference servers with a known truth (a stall of 100 ms each second, an injected
delay, a known burn of CPU, a known amount of memory) and prints the laboratory's error.
Every run makes a form of it that takes seven seconds, and refuses to measure if it fails.`,
		Example: "  interleave calibrate\n  interleave calibrate --json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			exe, err := os.Executable()
			if err != nil {
				return err
			}
			checks, err := calibrate.Run(cmd.Context(), exe, true)
			if err != nil {
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
	cmd.Flags().BoolVar(&asJSON, "json", false, "for scripts")
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
		fmt.Fprintf(t, "%s\t%s\t%.5g %s\t%.5g %s\t%+.3g\t± %.3g\t%s\n", mark, c.Name, c.Truth,
			c.Unit, c.Measured, c.Unit, c.Measured-c.Truth, c.Tolerance, c.Note)
	}
	return t.Flush()
}
