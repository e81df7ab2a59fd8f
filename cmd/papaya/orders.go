package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"interleave/internal/command"
	"interleave/papaya/config"
	"interleave/papaya/control"
	"interleave/papaya/hall"
	"interleave/papaya/irc"
	"interleave/papaya/keep"
	"interleave/papaya/server"
)

// forget ends the sessions of removed accounts, and removes their rights in rooms.
func (d *daemon) forget(ctx context.Context) error {
	names, err := d.book.Removed(ctx)
	for _, name := range names {
		one := d.admin.Order(ctx, hall.Forget, name, "The account was removed")
		if one == nil && d.push != nil {
			one = d.push.Forget(ctx, name)
		}
		if one == nil {
			one = d.files.Rename(name, "") // a later account of that name does not get them
		}
		if one == nil {
			one = d.book.Forgotten(ctx, name)
		}
		err = errors.Join(err, one)
	}
	return err
}

// settle tells the chat which accounts were renamed or removed.
func (d *daemon) settle(ctx context.Context) error {
	return errors.Join(d.rename(ctx), d.forget(ctx))
}

// forgetEvery is how often settle is tried again: accounts may have been removed while no server
// ran, or while the log could not be written.
const forgetEvery = 10 * time.Second

func (d *daemon) forgetOld(ctx context.Context) {
	select {
	case <-d.ready:
	case <-ctx.Done():
		return
	}
	tick := time.NewTicker(forgetEvery)
	defer tick.Stop()
	for {
		if err := d.settle(ctx); err != nil && !errors.Is(err, server.ErrNotServing) &&
			ctx.Err() == nil {
			d.logger.Error("the chat does not know yet which accounts were removed or renamed",
				"error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// erase removes the messages of a room.
func (d *daemon) erase(ctx context.Context, room string) (int, error) {
	d.keeping.Lock()
	defer d.keeping.Unlock()
	return d.removeLines(ctx, func(before func(keep.Line) error) (int, error) {
		return keep.RemoveRoom(ctx, d.text, room, before)
	})
}

// roomAges parses a setting that package config has checked, and returns the ages by folded name. A
// room that has got another name keeps its age, unless the setting has one for the new name, or
// another room has the old one.
func roomAges(list []string, rooms []hall.Room) map[string]time.Duration {
	ages, there := map[string]time.Duration{}, map[string]bool{}
	for _, s := range list {
		if room, age, err := config.RoomAge(s); err == nil {
			ages[irc.Lower(room)] = age
		}
	}
	for _, r := range rooms {
		there[irc.Lower(r.Name)] = true
	}
	for _, r := range rooms {
		name := irc.Lower(r.Name)
		_, own := ages[name]
		for _, former := range r.Former {
			age, set := ages[former]
			before, has := ages[name]
			if set && !own && !there[former] && (!has || age < before) {
				ages[name] = age
			}
		}
	}
	return ages
}

// ordering is a command for the running server.
func (p *target) ordering(do func(cmd *cobra.Command, c *control.Client,
	args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := p.dial(cmd.Context())
		if err != nil {
			return err
		}
		return do(cmd, c, args)
	}
}

// why returns the reason of an order, which is the last words, or nothing.
func why(args []string, n int) string { return strings.Join(args[min(n, len(args)):], " ") }

// least requires at least n words.
func least(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return command.Usagef("%s: it is `%s`", cmd.CommandPath(), cmd.UseLine())
		}
		return nil
	}
}

func sessionCommand(p *target) *cobra.Command {
	c := &cobra.Command{Use: "session", Short: "Sessions: list, end", Args: usageArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var account bool
	end := &cobra.Command{Use: "end NICK [WHY...]",
		Short: "End a session, or with --account all sessions of an account",
		Args:  least(1),
		RunE: p.ordering(func(cmd *cobra.Command, c *control.Client, args []string) error {
			verb := hall.EndNick
			if account {
				verb = hall.EndAccount
			}
			return c.Order(cmd.Context(), verb, args[0], why(args, 1))
		})}
	end.Flags().BoolVar(&account, "account", false, "NICK is the name of an account")
	c.AddCommand(end, &cobra.Command{Use: "list",
		Short: "List the sessions on all servers that share the log", Args: exactly(0),
		RunE: p.ordering(listSessions)})
	return c
}

func listSessions(cmd *cobra.Command, c *control.Client, _ []string) error {
	list, err := c.Sessions(cmd.Context())
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
	for _, s := range list {
		account, how := s.Account, "plain"
		if account == "" {
			account = "-"
		}
		if s.Secure {
			how = "TLS"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Nick, account, s.Host, how, s.Server,
			s.Since.Format(time.RFC3339), strings.Join(s.Rooms, ","))
	}
	return w.Flush()
}

func roomCommand(p *target) *cobra.Command {
	c := &cobra.Command{Use: "room", Short: "Rooms: list, kick, remove", Args: usageArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var text bool
	remove := &cobra.Command{Use: "remove ROOM [WHY...]",
		Short: "Remove a room with all members, and with --text its messages",
		Args:  least(1),
		RunE: p.ordering(func(cmd *cobra.Command, c *control.Client, args []string) error {
			if err := c.Order(cmd.Context(), hall.RemoveRoom, args[0], why(args, 1)); err != nil ||
				!text {
				return err
			}
			n, err := c.Erase(cmd.Context(), args[0])
			if err == nil {
				fmt.Fprintf(cmd.OutOrStdout(), "%d lines removed from the log\n", n)
			}
			return err
		})}
	remove.Flags().BoolVar(&text, "text", false, "remove from the log what was said in it")
	c.AddCommand(remove,
		&cobra.Command{Use: "kick ROOM NICK [WHY...]",
			Short: "Remove a member, present or away, from a room", Args: least(2),
			RunE: p.ordering(func(cmd *cobra.Command, c *control.Client, args []string) error {
				return c.Order(cmd.Context(), hall.KickMember, args[0], args[1], why(args, 2))
			})},
		&cobra.Command{Use: "list",
			Short: "List all rooms: members present and away, modes, founder, topic",
			Args:  exactly(0), RunE: p.ordering(listRooms)})
	return c
}

func listRooms(cmd *cobra.Command, c *control.Client, _ []string) error {
	list, err := c.Rooms(cmd.Context())
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
	for _, r := range list {
		founder := r.Founder
		if founder == "" {
			founder = "-"
		}
		fmt.Fprintf(w, "%s\t%d here\t%d away\t%s\t%s\t%s\n", r.Name, r.Here, r.Away, r.Modes,
			founder, r.Topic)
	}
	return w.Flush()
}
