package control

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"interleave/papaya/account"
	"interleave/papaya/bans"
)

// Bans are the bans of the whole server. server.Admin implements it; a Client asks a server.
type Bans interface {
	Bans(ctx context.Context) ([]bans.Ban, error)
	Ban(ctx context.Context, t bans.Target, length time.Duration, by, why string) error
	Unban(ctx context.Context, t bans.Target) error
}

// bans handles requests about bans.
func (s *Server) bans(w http.ResponseWriter, r *http.Request) {
	q, ok := parse(w, r)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), orderTime)
	defer cancel()
	verb := r.PathValue("verb")
	a, err := s.ban(ctx, verb, q)
	if err != nil {
		a.Error = err.Error()
	}
	s.Logger.Info("admin", "verb", "ban "+verb, "words", strings.Join(q.Words, " "), "by", q.By,
		"error", a.Error)
	reply(w, a)
}

func (s *Server) ban(ctx context.Context, verb string, q request) (a answer, err error) {
	if s.Bans == nil {
		return a, errors.New("this server has no chat")
	}
	if verb == "list" {
		a.Bans, err = s.Bans.Bans(ctx)
		return a, err
	}
	words := append(q.Words, "", "")
	t, err := bans.Parse(words[0])
	if err != nil {
		return a, fmt.Errorf("%.100q: %w", words[0], err)
	}
	switch verb {
	case "add":
		if err = s.exists(ctx, t.Account()); err == nil {
			err = s.Bans.Ban(ctx, t, q.Life, q.By, words[1])
		}
	case "remove":
		err = s.Bans.Unban(ctx, t)
	default:
		err = fmt.Errorf("no verb %.40q", verb)
	}
	return a, err
}

// exists returns an error if there is no account of a name, which may be empty.
func (s *Server) exists(ctx context.Context, name string) error {
	if name == "" || s.Accounts == nil {
		return nil
	}
	list, err := s.Accounts.List(ctx)
	if err != nil {
		return err
	}
	for _, a := range list {
		if strings.EqualFold(a.Name, name) {
			return nil
		}
	}
	return fmt.Errorf("account %s: %w; a nick is banned as %s!*@*", name, account.ErrNone, name)
}

// Bans implements Bans, as the methods below do.
func (c *Client) Bans(ctx context.Context) ([]bans.Ban, error) {
	a, err := c.post(ctx, "/bans/list", request{})
	return a.Bans, err
}

// Ban implements Bans.
func (c *Client) Ban(ctx context.Context, t bans.Target, length time.Duration,
	by, why string) error {
	_, err := c.post(ctx, "/bans/add", request{Words: []string{t.String(), why}, Life: length,
		By: by})
	return err
}

// Unban implements Bans.
func (c *Client) Unban(ctx context.Context, t bans.Target) error {
	_, err := c.post(ctx, "/bans/remove", request{Words: []string{t.String()}})
	return err
}
