package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"interleave/internal/machine"
)

func doctorCommand(lab *laboratory) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "limits, ports, tool chains, cgroups, steal, clock, with remedies",
		Long: `Doctor examines the properties of this machine that affect measurements. It lists each obstacle
with the command that removes it. It exits with 1 if an obstacle makes runs impossible.`,
		Example: "  interleave doctor\n  interleave doctor --json | jq '.[] | select(.state != " +
			"\"ok\")'",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			tree, err := lab.tree()
			if err != nil {
				return err
			}
			l, err := list(tree)
			if err != nil {
				return err
			}
			findings := machine.Doctor(out(tree.Root))
			for _, t := range l.ToolChains {
				f := machine.Finding{Name: "tool chain " + t.Need, Value: t.Version,
					State: machine.OK}
				if t.Missing != "" {
					f.Value, f.State, f.Why = "missing", machine.Warn, "its models are skipped"
					_, f.Fix, _ = strings.Cut(t.Missing, ": ")
				}
				findings = append(findings, f)
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), findings)
			} else {
				err = printFindings(cmd.OutOrStdout(), findings)
			}
			if err != nil {
				return err
			}
			for _, f := range findings {
				if f.State == machine.Bad {
					return errors.New("something here makes runs impossible: " + f.Name)
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "for scripts")
	return cmd
}

// printFindings prints the table, with the reason and the remedy below each finding that needs
// attention.
func printFindings(w io.Writer, findings []machine.Finding) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range findings {
		fmt.Fprintf(t, "%s\t%s\t%s\n", f.State, f.Name, f.Value)
		if f.State == machine.OK {
			continue
		}
		fmt.Fprintf(t, "\t  %s\n", f.Why)
		if f.Fix != "" {
			fmt.Fprintf(t, "\t  change it: %s\n", f.Fix)
		}
	}
	return t.Flush()
}
