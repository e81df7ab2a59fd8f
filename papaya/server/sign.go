package server

import (
	"context"
	"errors"
	"time"

	"interleave/papaya/hall"
	"interleave/papaya/log"
)

// besideTime bounds one login, and one reading of the text with the wait for its turn. A password
// hash takes 25 ms on purpose, and may wait for others. The time is shorter than those after which
// clients give up (WeeChat: 15 s), so that the server does not work for clients that have gone.
const besideTime = 10 * time.Second

// crowd is how many logins may be checked at the same time before handshakes are slowed down. Those
// clients would wait for their logins otherwise, and too many of them in vain: each costs another
// handshake when it comes again. A guess: 64 hashes take about a second.
const crowd = 64

// crowded says whether too many logins wait for their checks.
func (s *server) crowded() bool { return s.loggingIn.Load() > crowd }

// signer checks logins beside the goroutine that owns the hall, and returns the answer to it.
type signer server

func (g *signer) Plain(c *hall.Client, name, password string) {
	g.ask(c, false, func(ctx context.Context, o *conn) (Person, error) {
		return g.config.Accounts.Verify(ctx, name, password, o.net.RemoteAddr())
	})
}

func (g *signer) External(c *hall.Client, name string) {
	g.ask(c, false, func(ctx context.Context, o *conn) (Person, error) {
		if w, ok := o.net.(*wsConn); ok && w.token != "" {
			return g.config.Stay.Enter(ctx, w.token, name, o.net.RemoteAddr())
		}
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
	(*server)(g).beside(o, func(ctx context.Context) func() (hall.Entry, bool) {
		g.loggingIn.Add(1)
		who, err := question(ctx, o)
		g.loggingIn.Add(-1)
		why := (*server)(g).why(err, registering)
		return func() (hall.Entry, bool) {
			if !registering && (*server)(g).turnAway(o, err) {
				return hall.Entry{}, false
			}
			if why == "" {
				why = c.TakeToken(who.Token)
			}
			return g.hall.Signed(c, who.Account, who.Role, why, registering)
		}
	})
}

// scrammer checks logins by SCRAM-SHA-256 in the same way.
type scrammer server

func (g *scrammer) First(c *hall.Client, message string) {
	o := g.conns[c.ID]
	o.abandonLogin()
	(*server)(g).beside(o, func(ctx context.Context) func() (hall.Entry, bool) {
		x, answer, err := g.config.Scram.Begin(ctx, message, o.net.RemoteAddr())
		why := (*server)(g).why(err, false)
		return func() (hall.Entry, bool) {
			if err == nil {
				o.scram = x
			}
			if g.conns[c.ID] == nil { // its connection has ended meanwhile
				o.abandonLogin()
			}
			if !(*server)(g).turnAway(o, err) {
				g.hall.Challenged(c, answer, "", hall.Member, why)
			}
			return hall.Entry{}, false
		}
	})
}

func (g *scrammer) Final(c *hall.Client, message string) {
	o := g.conns[c.ID]
	if o == nil {
		return
	}
	x := o.scram
	o.scram = nil
	(*server)(g).beside(o, func(context.Context) func() (hall.Entry, bool) {
		who, answer, err := x.Finish(message)
		why := (*server)(g).why(err, false)
		return func() (hall.Entry, bool) {
			g.hall.Challenged(c, answer, who.Account, who.Role, why)
			return hall.Entry{}, false
		}
	})
}

// beside does something for a client beside the goroutine that owns the hall, which then runs what
// is returned. It does nothing for a client that has gone (nil).
func (s *server) beside(o *conn, work func(context.Context) func() (hall.Entry, bool)) {
	if o == nil {
		return
	}
	s.readers.Add(1)
	go func() {
		defer s.readers.Done()
		ctx, cancel := log.WithRunningTime(context.Background(), besideTime)
		defer cancel()
		s.events <- event{conn: o, do: work(ctx)}
	}()
}

// turnAway disconnects a client whose login could not be checked in time, unless it is registered.
// It comes back as after any loss of its connection. If it were told that the login has failed,
// some clients would ask for another password, or go on without an account.
func (s *server) turnAway(o *conn, err error) bool {
	if !errors.Is(err, ErrBusy) || o.Registered() {
		return false
	}
	s.end(o, false, ErrBusy.Error())
	return true
}

// abandonLogin ends a login by SCRAM with which the client does not go on. It counts as failed.
func (c *conn) abandonLogin() {
	if c != nil && c.scram != nil {
		_, _, _ = c.scram.Finish("")
		c.scram = nil
	}
}

// why returns what a client is told of an error; nothing if there is none.
func (s *server) why(err error, registering bool) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ErrNotYours) || errors.Is(err, ErrBusy) || registering:
		return err.Error()
	}
	s.config.Logger.Error("a login could not be checked", "reason", err)
	return "Logins cannot be checked at the moment"
}
