package main

import (
	"context"
	_ "embed" // for the example
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"interleave/internal/command"
	"interleave/papaya/account"
	"interleave/papaya/bot"
	"interleave/papaya/config"
	"interleave/papaya/control"
)

// tokens calls do with the tokens of the running server, or of the data folder if none is running.
func (p *target) tokens(ctx context.Context,
	do func(control.Tokens, *config.Config) error) error {
	return p.either(ctx, func(client *control.Client) error {
		c, err := p.settings()
		if err != nil {
			return err
		}
		return do(client.Tokens(), c)
	}, func(keys account.Store, c *config.Config) error { return do(bot.Open(keys), c) })
}

// addToken makes a token and prints it.
func (p *target) addToken(cmd *cobra.Command, t bot.Token) error {
	return p.tokens(cmd.Context(), func(all control.Tokens, _ *config.Config) error {
		secret, _, err := all.Add(cmd.Context(), t)
		if err == nil {
			fmt.Fprintln(cmd.OutOrStdout(), secret.Reveal())
		}
		return err
	})
}

func webhookCommand() *cobra.Command {
	var p target
	t := bot.Token{Kind: bot.Hook, Send: true}
	add := &cobra.Command{Use: "add ROOM", Short: "Make a webhook for a room and print its URL",
		Example: "  papaya webhook add '#dev' --name github", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t.Rooms = args
			return p.tokens(cmd.Context(), func(all control.Tokens, c *config.Config) error {
				secret, _, err := all.Add(cmd.Context(), t)
				if err != nil {
					return err
				}
				base, ok := webAddress(c)
				if !ok {
					fmt.Fprintln(cmd.ErrOrStderr(), "papaya: no address is set in listen.web or "+
						"listen.proxied_web, where webhooks are served, too")
				}
				fmt.Fprintln(cmd.OutOrStdout(), base+"/hook/"+secret.Reveal())
				return nil
			})
		}}
	add.Flags().StringVar(&t.Name, "name", "webhook",
		"the `name` of the sender; its nick is NAME/hook")
	send := sendCommand(&p)
	c := &cobra.Command{Use: "webhook",
		Short: "Webhooks, which post to a room or are posted to: add, send, list, remove",
		Long: `A webhook is a URL with a secret token. What is posted to it is said in its room:
{"text": "..."}, plain text, or what GitHub sends. An outgoing one (send) is another's URL, to which
what is said in its room is posted.`,
		Args: usageArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	p.flags(c)
	c.AddCommand(add, send, listTokens(&p, bot.Hook, bot.Out), removeToken(&p))
	return c
}

func sendCommand(p *target) *cobra.Command {
	t := bot.Token{Kind: bot.Out, Read: true}
	send := &cobra.Command{Use: "send ROOM URL",
		Short:   "Post what is said in a room to a URL, and print the token that signs it",
		Example: "  papaya webhook send '#dev' https://ci.example.org/chat --name ci",
		Args:    exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			t.Rooms, t.URL = args[:1], args[1]
			return p.addToken(cmd, t)
		}}
	send.Flags().StringVar(&t.Name, "name", "webhook",
		"the `name` of the receiver; what it answers has the nick NAME/out")
	send.Flags().BoolVar(&t.Changes, "changes", false,
		"post later texts and removals of messages, too")
	return send
}

func botCommand() *cobra.Command {
	var p target
	t := bot.Token{Kind: bot.Bot}
	var readOnly, sendOnly bool
	add := &cobra.Command{Use: "add NAME", Short: "Make a token for the API and print it",
		Example: "  papaya bot add weather --room '#kitchen' --room '#garden'", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t.Name, t.Read, t.Send = args[0], !sendOnly, !readOnly
			if len(t.Rooms) == 0 {
				return command.Usagef("%s: name its rooms with --room", cmd.CommandPath())
			}
			return p.addToken(cmd, t)
		}}
	add.Flags().StringArrayVar(&t.Rooms, "room", nil, "a `room` that it is for")
	add.Flags().BoolVar(&readOnly, "read-only", false, "it says nothing")
	add.Flags().BoolVar(&sendOnly, "send-only", false, "it reads nothing")
	add.MarkFlagsMutuallyExclusive("read-only", "send-only")
	c := &cobra.Command{Use: "bot", Short: "Tokens for the API: add, list, remove; example",
		Long: `A program with a token reads its rooms and talks in them, at /api of the server's page.`,
		Args: usageArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	p.flags(c)
	c.AddCommand(add, listTokens(&p, bot.Bot), removeToken(&p), exampleBot())
	return c
}

//go:embed example.py
var example string

// exampleBot prints a bot to start from.
func exampleBot() *cobra.Command {
	return &cobra.Command{Use: "example", Short: "Print a bot in Python to start from",
		Example: "  papaya bot example >timebot.py", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), example)
			return err
		}}
}

// webAddress returns the URL of the page. ok is false if the server has none.
func webAddress(c *config.Config) (base string, ok bool) {
	host := c.Domains[0]
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if len(c.Web) > 0 {
		if _, port, err := net.SplitHostPort(c.Web[0]); err == nil && port != "443" {
			host += ":" + port
		}
	}
	return "https://" + host + c.Base, len(c.Web)+len(c.ProxiedWeb) > 0
}

func listTokens(p *target, kinds ...bot.Kind) *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List them, without the tokens", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.tokens(cmd.Context(), func(all control.Tokens, _ *config.Config) error {
				list, err := all.List(cmd.Context())
				if err != nil {
					return err
				}
				w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
				for _, t := range list {
					if !slices.Contains(kinds, t.Kind) {
						continue
					}
					may := "reads and sends"
					switch {
					case t.Kind == bot.Out:
						may = "to " + t.URL
						if t.Changes {
							may += " with changes"
						}
					case !t.Read:
						may = "sends"
					case !t.Send:
						may = "reads"
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", t.ID, t.Nick(),
						strings.Join(t.Rooms, ","), may, t.Created.Format(time.DateOnly))
				}
				return w.Flush()
			})
		}}
}

func removeToken(p *target) *cobra.Command {
	return &cobra.Command{Use: "remove ID", Short: "Remove one; its token does nothing any more",
		Args: exactly(1), RunE: func(cmd *cobra.Command, args []string) error {
			return p.tokens(cmd.Context(), func(all control.Tokens, _ *config.Config) error {
				return all.Remove(cmd.Context(), args[0])
			})
		}}
}
