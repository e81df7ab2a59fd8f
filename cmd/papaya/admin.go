package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"interleave/internal/command"
	"interleave/papaya/account"
	"interleave/papaya/config"
	"interleave/papaya/control"
	"interleave/papaya/hall"
	"interleave/papaya/log"
)

// A target says which server a command is for.
type target struct{ data, config string }

func (p *target) flags(c *cobra.Command) {
	c.PersistentFlags().StringVar(&p.data, "data", "",
		"the server's data `folder`; without, that of --config, or papaya-data")
	c.PersistentFlags().StringVar(&p.config, "config", "", "the server's `file` of settings")
}

// settings returns the server's settings, with its data folder.
func (p *target) settings() (*config.Config, error) {
	c, err := readSettings(p.config)
	if err == nil && p.data != "" {
		c.Data = p.data
	}
	return c, err
}

func (p *target) dial(ctx context.Context) (*control.Client, error) {
	c, err := p.settings()
	if err != nil {
		return nil, err
	}
	return control.Dial(ctx, c.Data)
}

// offline opens the data folder of a server that is not running. It locks the folder, so none can
// start.
func offline(ctx context.Context,
	c *config.Config) (text *log.Text, l log.Log, end func() error, err error) {
	if text, err = log.OpenText(c.Data); err != nil {
		return nil, nil, nil, err
	}
	l, err = log.Open(ctx, log.Options{Folder: streamFolder(c.Data), URL: strings.Join(c.NATS, ","),
		Name: "papaya admin"})
	if err != nil {
		return nil, nil, nil, errors.Join(err, text.Close())
	}
	return text, l, func() error { return errors.Join(l.Close(), text.Close()) }, nil
}

// accounts calls do with the accounts of the running server, or of the data folder if none is
// running. It makes the folder if there is none, so that the first account can be made before the
// first start.
func (p *target) accounts(ctx context.Context, do func(control.Accounts) error) error {
	return p.either(ctx, func(c *control.Client) error { return do(c) },
		func(keys account.Store, c *config.Config) error { return do(openBook(keys, c)) })
}

// either does something by the running server, or with the data folder if none is running.
func (p *target) either(ctx context.Context, running func(*control.Client) error,
	still func(account.Store, *config.Config) error) error {
	c, err := p.settings()
	if err != nil {
		return err
	}
	client, err := control.Dial(ctx, c.Data)
	if err == nil {
		return running(client)
	}
	if !errors.Is(err, control.ErrNobody) {
		return err
	}
	_, l, end, err := offline(ctx, c)
	if err != nil {
		return err
	}
	keys, err := openKeys(ctx, l)
	if err == nil {
		err = still(keys, c)
	}
	return errors.Join(err, end())
}

func adminCommand() *cobra.Command {
	var p target
	c := &cobra.Command{
		Use:   "admin",
		Short: "Accounts, sessions, rooms, files, invitations, settings",
		Long: `Talks to the server that runs on the data folder, through a socket in it. Only the server's user and root may do that.
Accounts, invitations and files can also be changed while no server runs.`,
		Args: usageArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	p.flags(c)
	c.AddCommand(accountCommand(&p), sessionCommand(&p), roomCommand(&p), fileCommand(&p),
		inviteCommand(&p), invitationsCommand(&p), takeBackCommand(&p), reloadCommand(&p),
		metricsCommand(&p),
		exampleCommand(), checkCommand())
	return c
}

// usageArgs refuses unknown words after a command that has subcommands.
func usageArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("no command %q; `%s --help` lists them", args[0], cmd.CommandPath())
	}
	return nil
}

// exactly requires n words, which Use names.
func exactly(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return command.Usagef("%s: it is `%s`", cmd.CommandPath(), cmd.UseLine())
		}
		return nil
	}
}

// passwords says where a new password comes from.
type passwords struct {
	generate, none bool
	file           string
}

func (w *passwords) flags(c *cobra.Command) {
	c.Flags().BoolVar(&w.generate, "generate", false, "make one and print it")
	c.Flags().BoolVar(&w.none, "no-password", false, "none: certificates only")
	c.Flags().StringVar(&w.file, "password-file", "",
		"its first line in a `file`; without, it is asked for or read from standard input")
	c.MarkFlagsMutuallyExclusive("generate", "no-password", "password-file")
}

// read returns the password, and a text to print when the account has it.
func (w *passwords) read(cmd *cobra.Command) (p account.Secret, said string, err error) {
	switch {
	case w.none:
		return p, "", nil
	case w.generate:
		text := rand.Text()
		return account.NewSecret(text), "password: " + text, nil
	case w.file != "":
		f, err := os.Open(w.file)
		if err != nil {
			return p, "", err
		}
		defer f.Close()
		p, err = firstLine(f)
		return p, "", err
	}
	in, ok := cmd.InOrStdin().(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		p, err = firstLine(cmd.InOrStdin())
		return p, "", err
	}
	ask := func(what string) ([]byte, error) {
		fmt.Fprint(cmd.ErrOrStderr(), what)
		defer fmt.Fprintln(cmd.ErrOrStderr())
		return term.ReadPassword(int(in.Fd()))
	}
	first, err := ask("password: ")
	if err != nil {
		return p, "", err
	}
	again, err := ask("once more: ")
	if err != nil {
		return p, "", err
	}
	if string(first) != string(again) {
		return p, "", errors.New("the two are not the same")
	}
	return account.NewSecret(string(first)), "", nil
}

func firstLine(r io.Reader) (account.Secret, error) {
	const most = 4096
	line, err := bufio.NewReader(io.LimitReader(r, most)).ReadString('\n')
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		if err == nil || errors.Is(err, io.EOF) {
			err = errors.New("no password: expected it in the first line")
		}
		return account.Secret{}, err
	}
	return account.NewSecret(line), nil
}

func accountCommand(p *target) *cobra.Command {
	c := &cobra.Command{Use: "account",
		Short: "Accounts: add, remove, rename, password, role, certificates, tokens, list",
		Args:  usageArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var new, changed passwords
	var role string
	add := &cobra.Command{Use: "add NAME", Short: "Make an account", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := hall.ParseRole(role)
			if err != nil {
				return command.Usagef("%w", err)
			}
			password, said, err := new.read(cmd)
			if err != nil {
				return err
			}
			return p.say(cmd, said,
				func(a control.Accounts) error {
					return a.Add(cmd.Context(), args[0], r, password)
				})
		}}
	add.Flags().StringVar(&role, "role", string(account.Member), "admin, operator, member or guest")
	new.flags(add)
	password := &cobra.Command{Use: "password NAME", Short: "Change a password", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			password, said, err := changed.read(cmd)
			if err != nil {
				return err
			}
			return p.say(cmd, said, func(a control.Accounts) error {
				return a.SetPassword(cmd.Context(), args[0], password)
			})
		}}
	changed.flags(password)
	c.AddCommand(add, password,
		p.simple("remove NAME",
			"Remove an account, end its sessions, and take from it what it had in rooms",
			func(ctx context.Context, a control.Accounts, args []string) error {
				return a.Remove(ctx, args[0])
			}),
		p.simple("rename NAME NEW", "Give an account another name, with all that it has",
			func(ctx context.Context, a control.Accounts, args []string) error {
				return a.Rename(ctx, args[0], args[1])
			}),
		p.simple("role NAME ROLE", "Change what somebody is: admin, operator, member or guest",
			func(ctx context.Context, a control.Accounts, args []string) error {
				return a.SetRole(ctx, args[0], account.Role(args[1]))
			}),
		p.simple("add-certificate NAME SHA256",
			"Let somebody log in by certificate (SASL EXTERNAL)", func(ctx context.Context,
				a control.Accounts, args []string) error {
				return a.AddCertificate(ctx, args[0], args[1])
			}),
		p.simple("remove-certificate NAME SHA256", "Take a certificate from an account",
			func(ctx context.Context, a control.Accounts, args []string) error {
				return a.RemoveCertificate(ctx, args[0], args[1])
			}),
		tokensCommand(p), endTokenCommand(p),
		&cobra.Command{Use: "list", Short: "List all accounts", Args: exactly(0),
			RunE: func(cmd *cobra.Command, _ []string) error {
				return p.accounts(cmd.Context(),
					func(a control.Accounts) error { return list(cmd, a) })
			}})
	return c
}

// say does something to the accounts, and then prints the text.
func (p *target) say(cmd *cobra.Command, said string, do func(control.Accounts) error) error {
	err := p.accounts(cmd.Context(), do)
	if err == nil && said != "" {
		fmt.Fprintln(cmd.OutOrStdout(), said)
	}
	return err
}

// simple is a command that needs only its words.
func (p *target) simple(use, short string, do func(context.Context, control.Accounts,
	[]string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: exactly(strings.Count(use,
		" ")), RunE: func(cmd *cobra.Command, args []string) error {
		return p.accounts(cmd.Context(),
			func(a control.Accounts) error { return do(cmd.Context(), a, args) })
	}}
}

func list(cmd *cobra.Command, a control.Accounts) error {
	all, err := a.List(cmd.Context())
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
	for _, a := range all {
		how := map[bool]string{true: "password", false: "no password"}[a.HasPassword]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", a.Name, a.Role, a.Created.Format(time.DateOnly), how)
		for _, f := range a.Certificates {
			fmt.Fprintf(w, "\tcertificate\t\t%s\n", f)
		}
	}
	return w.Flush()
}

func inviteCommand(p *target) *cobra.Command {
	var role, by string
	var life time.Duration
	c := &cobra.Command{Use: "invite", Short: "Make an invitation and print its token",
		Args: exactly(0), RunE: func(cmd *cobra.Command, _ []string) error {
			return p.accounts(cmd.Context(), func(a control.Accounts) error {
				token, i, err := a.Invite(cmd.Context(), by, account.Role(role), life)
				if err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), token.Reveal())
				fmt.Fprintf(cmd.ErrOrStderr(),
					"for one %s, until %s; it goes into the page for browsers, or: papaya chat "+
						"--account NAME --invited HOST\n", i.Role, i.Expires.Format(time.RFC3339))
				return nil
			})
		}}
	c.Flags().StringVar(&role, "role", string(account.Member),
		"what it makes: admin, operator, member or guest")
	c.Flags().StringVar(&by, "by", "", "who invites, for the records: a `name`")
	c.Flags().DurationVar(&life, "for", 72*time.Hour, "how long it can be used")
	return c
}

func invitationsCommand(p *target) *cobra.Command {
	return &cobra.Command{Use: "invitations", Short: "List open invitations",
		Args: exactly(0), RunE: func(cmd *cobra.Command, _ []string) error {
			return p.accounts(cmd.Context(), func(a control.Accounts) error {
				open, err := a.Invitations(cmd.Context())
				for _, i := range open {
					fmt.Fprintf(cmd.OutOrStdout(), "%s %s until %s %s\n", i.ID, i.Role,
						i.Expires.Format(time.RFC3339), i.By)
				}
				return err
			})
		}}
}

func takeBackCommand(p *target) *cobra.Command {
	return p.simple("take-back ID", "End an invitation that is open", func(ctx context.Context,
		a control.Accounts, args []string) error {
		return a.TakeBack(ctx, args[0])
	})
}

func reloadCommand(p *target) *cobra.Command {
	return &cobra.Command{Use: "reload",
		Short: "Make the server read its settings and certificates again",
		Args:  exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := p.dial(cmd.Context())
			if err != nil {
				return err
			}
			done, err := client.Reload(cmd.Context())
			if err != nil {
				return err
			}
			say := func(what string, list []string) {
				if len(list) > 0 {
					fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", what, strings.Join(list, ", "))
				}
			}
			say("changed", done.Live)
			say("changes with the next start", done.Later)
			if len(done.Live)+len(done.Later) == 0 {
				fmt.Fprintln(cmd.OutOrStdout(), "nothing has changed")
			}
			return nil
		}}
}

func metricsCommand(p *target) *cobra.Command {
	return &cobra.Command{Use: "metrics", Short: "Print the metrics of the running server",
		Args: exactly(0), RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := p.dial(cmd.Context())
			if err != nil {
				return err
			}
			return client.Metrics(cmd.Context(), cmd.OutOrStdout())
		}}
}

func exampleCommand() *cobra.Command {
	return &cobra.Command{Use: "example", Short: "Print a file with every setting and its default",
		Args: exactly(0), RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(cmd.OutOrStdout(), config.Example())
			return err
		}}
}

func checkCommand() *cobra.Command {
	return &cobra.Command{Use: "check FILE", Short: "Report the mistakes in a file of settings",
		Args: exactly(1), RunE: func(cmd *cobra.Command, args []string) error {
			c, err := config.Load(args[0])
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is right; the data is in %s\n",
				filepath.Base(args[0]),
				c.Data)
			return nil
		}}
}
