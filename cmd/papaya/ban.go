package main

import (
	"encoding/json"
	"fmt"
	"os/user"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"interleave/internal/command"
	"interleave/papaya/bans"
	"interleave/papaya/control"
)

// timeless is how lists show a ban without an end.
const timeless = "forever"

func banCommand() *cobra.Command {
	var p target
	c := &cobra.Command{Use: "ban",
		Short: "Bans from the whole server: add, list, remove",
		Long: `A ban keeps an account, an address, a network or a mask out of the whole server,
for a time or for ever. It holds on all servers that share the log, and connections that it fits end
at once. The server must run.`,
		Args: usageArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	p.flags(c)
	c.AddCommand(addBan(&p), listBans(&p),
		&cobra.Command{Use: "remove TARGET", Short: "Remove a ban", Args: exactly(1),
			RunE: p.ordering(func(cmd *cobra.Command, c *control.Client, args []string) error {
				t, err := banTarget(cmd, args[0])
				if err != nil {
					return err
				}
				return c.Unban(cmd.Context(), t)
			})})
	return c
}

func banTarget(cmd *cobra.Command, word string) (bans.Target, error) {
	t, err := bans.Parse(word)
	if err != nil {
		return t, command.Usagef("%s: %q: %w", cmd.CommandPath(), word, err)
	}
	return t, nil
}

func addBan(p *target) *cobra.Command {
	var length, by string
	add := &cobra.Command{Use: "add TARGET [WHY...]",
		Short: "Ban an account, an address, a network or a mask; again, to change a ban",
		Example: `  papaya ban add eve --for 7d advertising
  papaya ban add 192.0.2.0/24 --for 12h a flood
  papaya ban add '*!*@*.y7k2.p3qx.cloak.invalid'`,
		Args: least(1)}
	add.Flags().StringVar(&length, "for", timeless,
		"how `long`: 30m, 12h, 7d, 1w2d, or forever")
	add.Flags().StringVar(&by, "by", "", "who bans, for the records: a `name`; "+
		"without, the user of this machine")
	add.RunE = p.ordering(func(cmd *cobra.Command, c *control.Client, args []string) error {
		t, err := banTarget(cmd, args[0])
		if err != nil {
			return err
		}
		d, err := bans.ParseLength(length)
		if err != nil {
			return command.Usagef("%s: --for %q: %w", cmd.CommandPath(), length, err)
		}
		if by == "" {
			by = ownName()
		}
		return c.Ban(cmd.Context(), t, d, by, why(args, 1))
	})
	return add
}

// ownName names whoever bans without --by: the user of this machine.
func ownName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "administrator"
}

func listBans(p *target) *cobra.Command {
	var lines bool
	list := &cobra.Command{Use: "list", Short: "List the bans, with who has set them, and why",
		Args: exactly(0),
		RunE: p.ordering(func(cmd *cobra.Command, c *control.Client, _ []string) error {
			list, err := c.Bans(cmd.Context())
			if err != nil {
				return err
			}
			if lines {
				out := json.NewEncoder(cmd.OutOrStdout())
				for _, b := range list {
					if err := out.Encode(b); err != nil {
						return err
					}
				}
				return nil
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
			for _, b := range list {
				until := timeless
				if b.Until != 0 {
					until = time.UnixMilli(b.Until).UTC().Format(time.RFC3339)
				}
				fmt.Fprintf(w, "%s\t%s\tby %s\t%s\tuntil %s\t%s\n", b.Target.Kind(), b.Target, b.By,
					time.UnixMilli(b.Set).UTC().Format(time.RFC3339), until, b.Why)
			}
			return w.Flush()
		})}
	list.Flags().BoolVar(&lines, "json", false, "as JSON, one ban in a line, for other programs")
	return list
}
