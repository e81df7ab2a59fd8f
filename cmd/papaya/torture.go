package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"interleave/internal/command"
	"interleave/internal/freeport"
	"interleave/papaya/checker"
	"interleave/papaya/torture"
)

// tortureOptions are the flags of `papaya torture`.
type tortureOptions struct {
	nodes, kills            int
	length                  time.Duration
	seed                    uint64
	keep                    bool
	history, check, program string
}

func tortureCommand() *cobra.Command {
	var o tortureOptions
	c := &cobra.Command{
		Use:   "torture",
		Short: "Kill servers of its own, and check what their clients were promised",
		Long: `Starts servers in a temporary folder, has clients of four accounts talk, and kills the servers with SIGKILL again and again.
What clients ask for, are answered and are shown is recorded as lines of JSON. A checker that knows nothing of the server then
judges whether every promise was kept. No server but its own is touched: it uses free ports of 127.0.0.1.

Ctrl-C ends it with the result so far, a second one at once.`,
		Example: "  papaya torture --kills 20 --for 1m\n" +
			"  papaya torture --nodes 3 --keep\n  papaya torture --check history.jsonl",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.check != "" {
				return checkHistory(cmd, o.check)
			}
			return tortureServers(cmd, o)
		},
	}
	f := c.Flags()
	f.IntVar(&o.kills, "kills", 1000, "how many servers are killed, one after the other")
	f.DurationVar(&o.length, "for", time.Hour, "the time over which the kills are spread")
	f.IntVar(&o.nodes, "nodes", 1,
		"1 server, or 3 on one log, with as many nodes of NATS, which are killed, too")
	f.Uint64Var(&o.seed, "seed", 0,
		"what decides what clients do and whom a kill hits; 0 draws one, which is printed")
	f.BoolVar(&o.keep, "keep", false, "keep the folder if a promise is broken or an error occurs")
	f.StringVar(&o.history, "history", "",
		"a new `file` for the history; without, it is in the folder")
	f.StringVar(&o.check, "check", "", "judge the history in a `file`, and start nothing")
	f.StringVar(&o.program, "program", "",
		"the papaya whose servers are killed, as a `file`; without, this one")
	c.MarkFlagsMutuallyExclusive("check", "history")
	c.AddCommand(rushCommand())
	return c
}

// tortureNodeCommand runs a node of NATS for a campaign.
func tortureNodeCommand() *cobra.Command {
	return &cobra.Command{Use: "torture-node NAME FOLDER PORT ROUTE ROUTES", Hidden: true,
		Short: "A node of the log of papaya torture", Args: exactly(5),
		RunE: func(cmd *cobra.Command, args []string) error {
			port, err := strconv.Atoi(args[2])
			route, err2 := strconv.Atoi(args[3])
			if err := errors.Join(err, err2); err != nil {
				return command.Usagef("torture-node: %w", err)
			}
			n := torture.Node{Name: args[0], Folder: args[1], Port: port, Route: route,
				Routes: args[4]}
			return n.Run(cmd.Context(), cmd.ErrOrStderr())
		}}
}

// errBroken means that a history shows a broken promise.
var errBroken = errors.New("promises are broken")

// checkHistory judges a history that was recorded before.
func checkHistory(cmd *cobra.Command, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("torture: %w", err)
	}
	defer f.Close()
	verdict, err := checker.Check(f)
	if err != nil {
		return fmt.Errorf("torture: %s is no history: %w", file, err)
	}
	fmt.Fprint(cmd.OutOrStdout(), verdict)
	if len(verdict.Breaches) > 0 {
		return fmt.Errorf("torture: %w", errBroken)
	}
	return nil
}

// tortureServers runs a campaign and judges it.
func tortureServers(cmd *cobra.Command, o tortureOptions) (err error) {
	if o.nodes != 1 && o.nodes != 3 || o.kills < 0 || o.length <= 0 {
		return command.Usagef("torture: 1 or 3 nodes, no fewer than 0 kills, and some time")
	}
	if o.program, err = tortured(o.program); err != nil {
		return err
	}
	for o.seed == 0 {
		o.seed = rand.Uint64()
	}
	stderr := cmd.ErrOrStderr()
	folder, remove, err := tortureFolder(stderr, o.keep)
	if err != nil {
		return err
	}
	defer func() { err = remove(err) }()
	campaign := torture.Options{Program: o.program, Nodes: o.nodes, Kills: o.kills, For: o.length,
		Seed: o.seed, Folder: folder, History: o.history,
		Tell: func(line string) { fmt.Fprintln(stderr, line) }}
	if campaign.History == "" {
		campaign.History = filepath.Join(folder, "history.jsonl")
	}
	for range torture.Ports(o.nodes) {
		port, failed := freeport.Hold()
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, port.Close()) }()
		campaign.Ports = append(campaign.Ports, port.Port)
	}
	fmt.Fprintf(stderr, "seed %d: %d kills, over %v\n", o.seed, o.kills, o.length)
	defer context.AfterFunc(cmd.Context(), func() {
		fmt.Fprintln(stderr, "ending with the result so far; a second Ctrl-C ends at once")
	})()
	if err := torture.Run(cmd.Context(), campaign); err != nil {
		err = fmt.Errorf("torture: %w", err)
		if errors.Is(err, torture.ErrNothing) {
			return err
		}
		return errors.Join(err, checkHistory(cmd, campaign.History))
	}
	return checkHistory(cmd, campaign.History)
}

// tortureFolder makes a folder for a campaign. remove takes the campaign's error, and removes the
// folder unless that is to be kept.
func tortureFolder(stderr io.Writer, keep bool) (folder string, remove func(error) error,
	err error) {
	folder, err = os.MkdirTemp("", "papaya-torture-*")
	if err != nil {
		return "", nil, fmt.Errorf("torture: %w", err)
	}
	return folder, func(err error) error {
		if err != nil && keep {
			fmt.Fprintln(stderr, "kept:", folder)
			return err
		}
		return errors.Join(err, os.RemoveAll(folder))
	}, nil
}

// tortured returns the program whose servers are killed: the named one, or this one.
func tortured(name string) (string, error) {
	if name == "" {
		own, err := os.Executable()
		if err == nil {
			_, err = os.Stat(own) // it may have been replaced since the start
		}
		if err != nil {
			return "", fmt.Errorf("torture: this program: %w", err)
		}
		return own, nil
	}
	found, err := exec.LookPath(name)
	if err == nil {
		found, err = filepath.Abs(found)
	}
	if err != nil {
		return "", fmt.Errorf("torture: the program to be killed: %w", err)
	}
	return found, nil
}
