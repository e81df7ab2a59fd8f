package server

import (
	"context"
	"errors"
	"net"
	"time"

	"interleave/papaya/hall"
	"interleave/papaya/log"
)

// Stay keeps devices signed in by tokens, each of one account. A call may take long, and many
// goroutines call it.
type Stay interface {
	// Begin makes a token for a browser whose user knows the password of an account. It ends the
	// token that the browser had before; empty: none. The error is ErrNotYours for a wrong
	// password, or ErrNoToken.
	Begin(ctx context.Context, name, password, device, former string,
		from net.Addr) (token string, err error)
	// Enter finds the account of a token. name is the account that the client asks for, or empty.
	Enter(ctx context.Context, token, name string, from net.Addr) (Person, error)
	// Use is told of the token of a connection that is open, by its hash. It returns ErrNotYours if
	// the token has ended.
	Use(ctx context.Context, hash string) error
	// End ends a token. It is no error if there is none.
	End(ctx context.Context, token string, from net.Addr) error
	// Life is the time without use after which a token ends; 0: it does not.
	Life() time.Duration
}

// ErrNoToken reports that an account gets no token for a reason that the client is told.
var ErrNoToken = errors.New("no token")

// SignedOut is what a connection is told that ends with its token.
const SignedOut = "Signed out"

// endToken ends a connection whose token has ended.
func (s *server) endToken(c *hall.Client, why string) {
	if o := s.conns[c.ID]; o != nil {
		s.end(o, false, why)
	}
}

// checkTokens asks, each Limits.Tokens, whether the tokens of open connections have ended. The
// order that says so (hall.EndTokens) may have been lost with the server that has ended them, or
// may have come before the login of a connection. A token that was not used for too long ends
// without one.
func (s *server) checkTokens(now time.Time) {
	if s.config.Stay == nil || s.checking || now.Sub(s.checkedAt) < s.config.Limits.Tokens {
		return
	}
	s.checkedAt = now
	tokens := map[string]bool{}
	for _, c := range s.conns {
		if c.Token != "" && !c.ending {
			tokens[c.Token] = true
		}
	}
	if len(tokens) == 0 {
		return
	}
	s.checking = true
	s.readers.Add(1)
	go func() {
		defer s.readers.Done()
		ctx, cancel := log.WithRunningTime(context.Background(), checkTimeout)
		defer cancel()
		ended := map[string]bool{}
		for hash := range tokens {
			if err := s.config.Stay.Use(ctx, hash); errors.Is(err, ErrNotYours) {
				ended[hash] = true
			} else if err != nil {
				s.config.Logger.Warn("a token could not be checked; it counts meanwhile",
					"reason", err)
				break // the others are asked again next time
			}
		}
		s.events <- event{do: func() (hall.Entry, bool) {
			s.checking = false
			for _, c := range s.conns {
				if ended[c.Token] {
					s.end(c, false, SignedOut)
				}
			}
			return hall.Entry{}, false
		}}
	}()
}

// checkTimeout bounds one round of checkTokens. A guess.
const checkTimeout = time.Minute
