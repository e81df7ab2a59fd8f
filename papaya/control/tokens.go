package control

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"interleave/papaya/account"
	"interleave/papaya/bot"
)

// Tokens are the operations on tokens of programs. bot.Tokens does them in this process; a
// TokenClient asks a server.
type Tokens interface {
	Add(ctx context.Context, t bot.Token) (account.Secret, bot.Token, error)
	List(ctx context.Context) ([]bot.Token, error)
	Remove(ctx context.Context, id string) error
}

// tokens handles requests about tokens.
func (s *Server) tokens(w http.ResponseWriter, r *http.Request) {
	q, ok := parse(w, r)
	if !ok {
		return
	}
	verb := r.PathValue("verb")
	a, err := s.token(r.Context(), verb, q)
	if err != nil {
		a.Error = err.Error()
	}
	s.Logger.Info("admin", "verb", "token "+verb, "name", q.Bot.Name, "rooms", q.Bot.Rooms,
		"id", q.ID, "error", a.Error)
	reply(w, a)
}

func (s *Server) token(ctx context.Context, verb string, q request) (a answer, err error) {
	if s.Tokens == nil {
		return a, errors.New("this server has no tokens")
	}
	switch verb {
	case "add":
		var secret account.Secret
		var t bot.Token
		if secret, t, err = s.Tokens.Add(ctx, q.Bot); err == nil {
			a.Token, a.Tokens = secret.Reveal(), []bot.Token{t}
		}
	case "list":
		a.Tokens, err = s.Tokens.List(ctx)
	case "remove":
		err = s.Tokens.Remove(ctx, q.ID)
	default:
		err = fmt.Errorf("no verb %.40q", verb)
	}
	return a, err
}

// A TokenClient is the part of a Client that is about tokens.
type TokenClient struct{ client *Client }

// Tokens returns the part of the client that is about tokens.
func (c *Client) Tokens() TokenClient { return TokenClient{c} }

// Add implements Tokens, as the methods below do.
func (c TokenClient) Add(ctx context.Context, t bot.Token) (account.Secret, bot.Token, error) {
	a, err := c.client.post(ctx, "/tokens/add", request{Bot: t})
	if err == nil && len(a.Tokens) != 1 {
		err = errors.New("the server has answered without a token")
	}
	if err != nil {
		return account.Secret{}, bot.Token{}, err
	}
	return account.NewSecret(a.Token), a.Tokens[0], nil
}

// List implements Tokens.
func (c TokenClient) List(ctx context.Context) ([]bot.Token, error) {
	a, err := c.client.post(ctx, "/tokens/list", request{})
	return a.Tokens, err
}

// Remove implements Tokens.
func (c TokenClient) Remove(ctx context.Context, id string) error {
	_, err := c.client.post(ctx, "/tokens/remove", request{ID: id})
	return err
}
