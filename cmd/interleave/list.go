package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"interleave/internal/manifest"
	"interleave/internal/probe/serve"
	"interleave/internal/probe/toolchain"
	"interleave/internal/run"
)

// A listing is `interleave list --json`.
type listing struct {
	Services    []listedService    `json:"services"`
	Experiments []listedExperiment `json:"experiments"`
	ToolChains  []listedTool       `json:"tool_chains"`
}

type listedService struct {
	Name   string        `json:"name"`
	Title  string        `json:"title"`
	Models []listedModel `json:"models"`
}

type listedModel struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	Lines   int    `json:"lines"`
	Missing string `json:"missing,omitempty"` // the missing tools and how to install them
}

type listedExperiment struct {
	Name    string             `json:"name"`
	Title   string             `json:"title"`
	Claims  int                `json:"claims"`
	Minutes map[string]float64 `json:"minutes"` // by depth
}

type listedTool struct {
	Need    string `json:"need"`
	Version string `json:"version,omitempty"`
	Missing string `json:"missing,omitempty"`
}

func listCommand(lab *laboratory) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "services and their models, experiments, and tool chains found and missing",
		Example: "  interleave list\n  interleave list --json | jq '.tool_chains[] | " +
			"select(.missing)'",
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
			if asJSON {
				return printJSON(cmd.OutOrStdout(), l)
			}
			return l.print(cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "for scripts")
	return cmd
}

// noArguments refuses words that a command does not take.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%s takes no arguments, got %q", cmd.Name(), args)
	}
	return nil
}

func list(tree *manifest.Tree) (*listing, error) {
	l := &listing{}
	seen := map[string]bool{}
	for _, s := range tree.Services {
		ls := listedService{Name: s.Name, Title: s.Title}
		for _, m := range s.Models {
			lm := listedModel{Name: m.Name, Summary: m.Summary, Lines: lines(m)}
			lm.Missing = text(serve.Able(s, m))
			for _, need := range m.Needs {
				found, err := toolchain.Lookup(out(tree.Root), need)
				if err != nil && lm.Missing == "" {
					lm.Missing = err.Error()
				}
				if !seen[need] {
					seen[need] = true
					l.ToolChains = append(l.ToolChains,
						listedTool{Need: need, Version: found.Version, Missing: text(err)})
				}
			}
			ls.Models = append(ls.Models, lm)
		}
		l.Services = append(l.Services, ls)
	}
	for _, e := range tree.Experiments {
		le := listedExperiment{Name: e.Name, Title: e.Title, Claims: len(e.Claims),
			Minutes: map[string]float64{}}
		for _, d := range manifest.Depths {
			plan, err := run.Lay(tree, []*manifest.Experiment{e}, run.Choice{Depth: d})
			if err != nil {
				return nil, err
			}
			le.Minutes[d] = plan.Estimate().Round(6 * time.Second).Minutes()
		}
		l.Experiments = append(l.Experiments, le)
	}
	return l, nil
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (l *listing) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range l.Services {
		fmt.Fprintf(t, "%s\t%d models\n", s.Name, len(s.Models))
		for _, m := range s.Models {
			what := m.Summary
			if m.Missing != "" {
				what = "SKIP: " + m.Missing
			}
			fmt.Fprintf(t, "  %s\t%3d lines\t%s\n", m.Name, m.Lines, what)
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(t, "experiments\tclaims\tquick\tnormal\tfull (minutes)\n")
	for _, e := range l.Experiments {
		fmt.Fprintf(t, "  %s\t%d\t%.1f\t%.0f\t%.0f\t%s\n", e.Name, e.Claims, e.Minutes["quick"],
			e.Minutes["normal"], e.Minutes["full"], e.Title)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(t, "\ntool chains\n")
	for _, c := range l.ToolChains {
		version := c.Version
		if c.Missing != "" {
			version = "missing: " + c.Missing
		}
		fmt.Fprintf(t, "  %s\t%s\n", c.Need, version)
	}
	return t.Flush()
}
