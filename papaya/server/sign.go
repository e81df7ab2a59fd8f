package server

import (
	"context"
	"errors"
	"time"

	"interleave/papaya/hall"
	"interleave/papaya/log"
)

// signTimeout bounds one login. A guess: a password hash takes a tenth of a second on purpose, and
// may wait for others.
const signTimeout = 20 * time.Second

// signer checks logins beside the goroutine that owns the hall, and returns the answer to it.
type signer server

func (g *signer) Plain(c *hall.Client, name, password string) {
	g.ask(c, false, func(ctx context.Context, o *conn) (Person, error) {
		return g.config.Accounts.Verify(ctx, name, password, o.net.RemoteAddr())
	})
}

func (g *signer) External(c *hall.Client, name string) {
	g.ask(c, false, func(ctx context.Context, _ *conn) (Person, error) {
		return g.config.Accounts.Certificate(ctx, c.Fingerprint, name)
	})
}

func (g *signer) Register(c *hall.Client, name, password, invitation string) {
	g.ask(c, true, func(ctx context.Context, o *conn) (Person, error) {
		return g.config.Accounts.Register(ctx, name, password, invitation, o.net.RemoteAddr())
	})
}

func (g *signer) Required() bool { return g.config.Accounts.Required() }

// ask checks one login. A client has at most one at a time.
func (g *signer) ask(c *hall.Client, registering bool, question func(context.Context,
	*conn) (Person, error)) {
	o := g.conns[c.ID]
	if o == nil {
		return
	}
	g.readers.Add(1)
	go func() {
		defer g.readers.Done()
		ctx, cancel := log.WithRunningTime(context.Background(), signTimeout)
		defer cancel()
		who, err := question(ctx, o)
		why := ""
		switch {
		case err == nil:
		case errors.Is(err, ErrNotYours) || registering:
			why = err.Error()
		default:
			g.config.Logger.Error("a login could not be checked", "reason", err)
			why = "Logins cannot be checked at the moment"
		}
		g.events <- event{conn: o, do: func() (hall.Entry, bool) {
			return g.hall.Signed(c, who.Account, who.Role, why, registering)
		}}
	}()
}
