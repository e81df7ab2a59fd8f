package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"interleave/papaya/account"
	"interleave/papaya/config"
	"interleave/papaya/control"
	"interleave/papaya/hall"
	"interleave/papaya/server"
)

func tokenLimits(c *config.Config) account.TokenLimits {
	return account.TokenLimits{Most: c.Tokens, Life: c.Stay}
}

// tokensEnded ends the sessions of tokens that have ended, on all servers. If that cannot be said
// now, each server notices it by itself (server.Limits.Tokens).
func (d *daemon) tokensEnded(name string, ids []string) {
	d.logger.Info("tokens have ended", "account", name, "tokens", ids)
	select {
	case <-d.ready:
	default:
		return // nobody is connected
	}
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	if err := d.admin.Order(ctx, hall.EndTokens, name, strings.Join(ids, ","),
		server.SignedOut); err != nil && !errors.Is(err, server.ErrNotServing) {
		d.logger.Warn("sessions of tokens that have ended may go on for a minute", "account", name,
			"reason", err)
	}
}

// endTime bounds the wait for the order that ends sessions. A guess.
const endTime = 10 * time.Second

// A keeper implements server.Stay with the book of accounts.
type keeper struct{ *daemon }

// A noToken is an error that makes no token, and whose text the client may see.
type noToken struct{ error }

// Is makes noToken count as server.ErrNoToken.
func (noToken) Is(target error) bool { return target == server.ErrNoToken }

// Begin implements server.Stay, as the methods below do.
func (k keeper) Begin(ctx context.Context, name, password, device, former string,
	from net.Addr) (string, error) {
	last, counted := account.NewSecret(former), false
	secret, err := k.newToken(ctx, name, device, last, func() error {
		a, err := k.book.Login(ctx, addrOf(from), name, account.NewSecret(password))
		if err != nil || !counted { // it is proved twice if the first time has renewed the hash
			_, err = authenticator(k).answer(a, err)
			counted = true
		}
		if err != nil {
			return err
		}
		if why, banned := k.admin.Banned(name); banned {
			return noToken{errors.New(why)}
		}
		return nil
	})
	if mistake, ok := errors.AsType[account.Mistake](err); ok {
		err = noToken{mistake}
	}
	if err != nil {
		return "", err
	}
	// That of another account is left. The new one counts, also if this fails.
	if err := k.book.EndFormer(ctx, last); err != nil {
		k.logger.Warn("the former token of a device goes on", "account", name, "reason", err)
	}
	return secret.Reveal(), nil
}

// newToken makes a token, in the place of a former one of the account unless that is empty.
func (d *daemon) newToken(ctx context.Context, name, device string, former account.Secret,
	prove func() error) (account.Secret, error) {
	secret, t, err := d.book.NewToken(ctx, name, device, former, prove)
	if err == nil {
		d.logger.Info("a token was made", "account", name, "token", t.ID, "name", t.Name)
	}
	return secret, err
}

var errSignedOut = clientError{errors.New("this device is not signed in any more")}

// Enter implements server.Stay.
func (k keeper) Enter(ctx context.Context, token, name string,
	from net.Addr) (server.Person, error) {
	a, hash, err := k.book.EnterToken(ctx, addrOf(from), account.NewSecret(token), name)
	who, told := authenticator(k).answer(a, err)
	who.Token = hash
	if errors.Is(err, account.ErrWrong) {
		told = errSignedOut
	}
	return who, told
}

// Use implements server.Stay.
func (k keeper) Use(ctx context.Context, hash string) error {
	err := k.book.UseToken(ctx, hash)
	if errors.Is(err, account.ErrWrong) {
		return server.ErrNotYours
	}
	return err
}

// End implements server.Stay.
func (k keeper) End(ctx context.Context, token string, from net.Addr) error {
	return k.book.EndSecret(ctx, addrOf(from), account.NewSecret(token))
}

// Life implements server.Stay.
func (k keeper) Life() time.Duration { return k.settings.Load().Stay }

// proves checks the password of an account's owner for what a token alone may not do.
func (d authenticator) proves(ctx context.Context, who server.Owner, password string) error {
	err := d.book.Prove(ctx, addrOf(who.From), who.Account, account.NewSecret(password),
		who.Token != "")
	if errors.Is(err, account.ErrWrong) {
		why := "the password is wrong"
		if password == "" {
			why = "that needs the password, too"
		}
		return clientError{errors.New(why)}
	}
	return told(err)
}

// provesAlone is proves for changes that need the password only after a login by a token.
func (d authenticator) provesAlone(ctx context.Context, who server.Owner, password string) error {
	if who.Token == "" {
		return nil
	}
	return d.proves(ctx, who, password)
}

// Tokens implements server.Own, as the methods below do.
func (d authenticator) Tokens(ctx context.Context, who server.Owner) ([]string, error) {
	list, err := d.book.TokensOf(ctx, who.Account)
	lines := []string{fmt.Sprintf("%d tokens.", len(list))}
	for _, t := range list {
		where := "other"
		if t.ID == who.ID() {
			where = "here"
		}
		lines = append(lines, fmt.Sprintf("token %s made=%s used=%s %s %s", t.ID,
			t.Made.Format(time.RFC3339), t.Used.Format(time.RFC3339), where, t.Name))
	}
	return lines, told(err)
}

// AddToken implements server.Own.
func (d authenticator) AddToken(ctx context.Context, who server.Owner,
	device, password string) (secret, hash string, err error) {
	made, err := d.newToken(ctx, who.Account, device, account.Secret{}, func() error {
		return d.proves(ctx, who, password)
	})
	return made.Reveal(), account.HashOf(made), told(err)
}

// EndTokens implements server.Own.
func (d authenticator) EndTokens(ctx context.Context, who server.Owner, which string) (int, error) {
	n, err := d.book.EndTokens(ctx, who.Account, func(t account.Token) bool {
		switch strings.ToUpper(which) {
		case "ALL":
			return true
		case "OTHERS":
			return t.ID != who.ID()
		case "HERE":
			return t.ID == who.ID()
		}
		return t.ID == which
	})
	if err == nil && n == 0 {
		err = clientError{errors.New("there is no such token: NS TOKEN LIST lists them")}
	}
	return n, told(err)
}

// tokensCommand lists the tokens of an account for an administrator.
func tokensCommand(p *target) *cobra.Command {
	return &cobra.Command{Use: "tokens NAME",
		Short: "List the devices and programs that are signed in to an account by a token",
		Args:  exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.accounts(cmd.Context(), func(a control.Accounts) error {
				list, err := a.TokensOf(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
				for _, t := range list {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.ID, t.Made.Format(time.DateOnly),
						t.Used.Format(time.RFC3339), t.Name)
				}
				return w.Flush()
			})
		}}
}

// endTokenCommand ends one of them, or all.
func endTokenCommand(p *target) *cobra.Command {
	return p.simple("end-token NAME ID", "End a token and its sessions; ID may be all",
		func(ctx context.Context, a control.Accounts, args []string) error {
			return a.EndToken(ctx, args[0], args[1])
		})
}
