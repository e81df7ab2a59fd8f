package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"interleave/papaya/config"
	"interleave/papaya/control"
	"interleave/papaya/keep"
	"interleave/papaya/log"
)

func backupCommand() *cobra.Command {
	var p target
	c := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy everything that a server stores, while it runs or not",
		Long: `Writes one file with everything that the server stores: messages, files, rooms, how far each member has read,
accounts, invitations, the certificate and its key. Keep it as safe as the key. - is standard output.`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.settings()
			if err != nil {
				return err
			}
			return writeTo(cmd, args[0], func(w io.Writer) error { return backup(cmd, c, w) })
		},
	}
	p.flags(c)
	return c
}

func backup(cmd *cobra.Command, c *config.Config, w io.Writer) error {
	ctx := cmd.Context()
	client, err := control.Dial(ctx, c.Data)
	if err == nil {
		return client.Backup(ctx, w)
	}
	if !errors.Is(err, control.ErrNobody) {
		return err
	}
	if _, err := os.Stat(c.Data); err != nil {
		return err // no empty folder is made in its place
	}
	text, l, end, err := offline(ctx, c)
	if err != nil {
		return err
	}
	err = keep.Backup(ctx, keep.Source{Log: l, Text: text, Tables: tables, Folder: c.Data,
		Files: dataFiles, Now: time.Now()}, w)
	return errors.Join(err, end())
}

func restoreCommand() *cobra.Command {
	var p target
	c := &cobra.Command{
		Use:   "restore FILE",
		Short: "Make a data folder from a backup",
		Long: `Makes the data folder from a backup. The folder must be missing or empty. It appears complete, or not at all. - is standard
input. This restores the embedded log only: a NATS cluster (--nats) keeps its data itself.`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.settings()
			if err != nil {
				return err
			}
			if len(c.NATS) > 0 {
				return errors.New("restore: the settings name a NATS cluster; it restores the " +
					"embedded log only")
			}
			in := cmd.InOrStdin()
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer f.Close()
				in = f
			}
			done, err := keep.Restore(cmd.Context(), in, c.Data, func(folder string) (log.Log,
				error) {
				return log.Open(cmd.Context(), log.Options{Folder: streamFolder(folder),
					Name: "papaya restore"})
			})
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(),
				"%s: %d lines, %d batches after them, %d keys, %d files\n", c.Data, done.Lines,
				done.Batches, done.Keys, done.Files)
			return nil
		},
	}
	p.flags(c)
	return c
}
