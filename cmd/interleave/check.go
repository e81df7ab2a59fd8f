package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"interleave/internal/machine"
	"interleave/internal/manifest"
	"interleave/internal/probe/conform"
	"interleave/internal/probe/serve"
	"interleave/internal/probe/toolchain"
)

// A checked model is one line of `interleave check --json`.
type checked struct {
	Service string `json:"service"`
	Model   string `json:"model"`
	Status  string `json:"status"` // ok, failed, skipped
	Reason  string `json:"reason,omitempty"`
	// the transcripts, if they are not all of the service
	HeldTo   []string         `json:"held_to,omitempty"`
	Outcomes []checkedOutcome `json:"outcomes,omitempty"`
	Seconds  float64          `json:"seconds"`
}

type checkedOutcome struct {
	Name    string  `json:"name"`
	Error   string  `json:"error,omitempty"`
	Skipped string  `json:"skipped,omitempty"` // the tools that this machine lacks for it
	Seconds float64 `json:"seconds"`
}

func checkCommand(lab *laboratory) *cobra.Command {
	var asJSON, verbose bool
	var sanitize, stack string
	var patience float64
	cmd := &cobra.Command{
		Use:   "check [SERVICE[/MODEL]...]",
		Short: "conformance: is each server correct?",
		Long: `Check builds servers and plays their service's transcripts (services/SERVICE/conform/) and
checks the contract of all servers: ready, SIGTERM, a port in use, no stray process. A server that fails
is never measured. Without arguments, every model of every service is checked.`,
		Example: `  interleave check
  interleave check counter
  interleave check echo/c-uring --sanitize=asan
  interleave check echo --stack gonet`,
		ValidArgsFunction: lab.completeModels,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch toolchain.Sanitizer(sanitize) {
			case toolchain.Plain, toolchain.ASan, toolchain.TSan, toolchain.Race:
			default:
				return usage("--sanitize=%s: expected asan, tsan or race", sanitize)
			}
			if cmd.Flags().Changed("patience") && !(patience >= 1) {
				return usage("--patience=%v: expected a number from 1 on", patience)
			}
			tree, err := lab.tree()
			if err != nil {
				return err
			}
			if !onlyStacks([]string{stack}) {
				return usage("--stack=%s: expected kernel or gonet", stack)
			}
			found, err := models(tree, args)
			if err != nil {
				return err
			}
			if err := machine.Ready(out(tree.Root)); err != nil {
				return err
			}
			var all []checked
			for _, m := range found {
				c := checkOne(cmd, tree, m, toolchain.Sanitizer(sanitize), manifest.Stack(stack),
					patience)
				if cmd.Context().Err() != nil {
					return &failure{exitInterrupted, errors.New("stopped")}
				}
				all = append(all, c)
				if !asJSON {
					c.print(cmd, verbose)
				}
			}
			if asJSON {
				if err := printJSON(cmd.OutOrStdout(), all); err != nil {
					return err
				}
			}
			return verdictOf(all)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "for scripts")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "name every transcript")
	cmd.Flags().StringVar(&sanitize, "sanitize", "",
		"build with asan (address and undefined behaviour), tsan (C) or race (Go)")
	cmd.Flags().StringVar(&stack, "stack", string(manifest.Kernel),
		"kernel or gonet: the TCP/IP stack of servers that can use both")
	cmd.Flags().Float64Var(&patience, "patience", 0,
		"lengthen every time limit by this `factor`, on a machine that is busy with other work")
	return cmd
}

// checkOne builds one model and plays its conformance, on a stack if it does not bring its own. A
// patience of 0 is that of the build.
func checkOne(cmd *cobra.Command, tree *manifest.Tree, m *manifest.Model, s toolchain.Sanitizer,
	stack manifest.Stack, patience float64) (c checked) {
	began := time.Now()
	c = checked{Service: m.Service, Model: m.Name, Status: "ok", HeldTo: m.Conform}
	defer func() { c.Seconds = time.Since(began).Seconds() }()
	service := tree.Service(m.Service)
	if v := m.OnStack(stack); v != nil {
		m = v
		c.Model = m.Name
	} else if service.Hosts == manifest.Local {
		c.Status, c.Reason = "skipped",
			fmt.Sprintf("it opens its sockets at the kernel, and cannot run on %s", stack)
		return c
	}
	if err := serve.Able(service, m); err != nil {
		c.Status, c.Reason = "skipped", err.Error()
		return c
	}
	built, err := toolchain.Build(cmd.Context(), m, toolchain.BuildOptions{OutRoot: out(tree.Root),
		Sanitize: s})
	if missing, ok := errors.AsType[*toolchain.Missing](err); ok {
		c.Status, c.Reason = "skipped", missing.Error()
		return c
	}
	if errors.Is(err, toolchain.ErrNotApplicable) {
		c.Status, c.Reason = "skipped", err.Error()
		return c
	}
	if err == nil {
		var outcomes []conform.Outcome
		outcomes, err = conform.Conform(cmd.Context(), service, built,
			conform.Options{Patience: patience})
		for _, o := range outcomes {
			checked := checkedOutcome{Name: o.Check, Error: text(o.Err), Seconds: o.Took.Seconds()}
			if o.Skip != nil {
				checked.Skipped = o.Skip.Error()
			}
			c.Outcomes = append(c.Outcomes, checked)
			if o.Err != nil {
				c.Status = "failed"
			}
		}
	}
	if err != nil {
		c.Status, c.Reason = "failed", err.Error()
	}
	return c
}

// held says so if a model is checked with some transcripts only.
func (c *checked) held() string {
	if len(c.HeldTo) == 0 {
		return ""
	}
	return "; of the transcripts held to " + strings.Join(c.HeldTo, ", ") + " only"
}

// print is the line of one model, and of each transcript that failed.
func (c *checked) print(cmd *cobra.Command, verbose bool) {
	w := cmd.OutOrStdout()
	name := c.Service + "/" + c.Model
	switch c.Status {
	case "skipped":
		fmt.Fprintf(w, "SKIP    %s: %s\n", name, c.Reason)
		return
	case "ok":
		fmt.Fprintf(w, "ok      %s  %d checks, %.1f s%s\n", name, len(c.Outcomes), c.Seconds,
			c.held())
	default:
		fmt.Fprintf(w, "FAILED  %s  %s\n", name, c.Reason)
	}
	for _, o := range c.Outcomes {
		if o.Skipped != "" {
			fmt.Fprintf(w, "        %s: SKIP: %s\n", o.Name, o.Skipped)
		} else if o.Error != "" {
			fmt.Fprintf(w, "        %s: %s\n", o.Name, strings.ReplaceAll(o.Error, "\n",
				"\n        "))
		} else if verbose {
			fmt.Fprintf(w, "        %s: ok, %.1f s\n", o.Name, o.Seconds)
		}
	}
}

// verdictOf turns failures into the exit code.
func verdictOf(all []checked) error {
	var failed []string
	for _, c := range all {
		if c.Status == "failed" {
			failed = append(failed, c.Service+"/"+c.Model)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return &failure{exitNonconform, fmt.Errorf("%d of %d servers failed: %s", len(failed), len(all),
		strings.Join(failed, ", "))}
}
