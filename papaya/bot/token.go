// Package bot lets programs talk in rooms and read them, without being clients: webhooks, which
// post to one room, and the API. Each has a token, which an administrator makes.
package bot

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"interleave/papaya/account"
	"interleave/papaya/irc"
)

// A Kind is what a token is for.
type Kind string

// The kinds. What is posted has the nick NAME/KIND, which no user may have.
const (
	Hook Kind = "hook" // posts to a room, by a URL that has the token in it
	Bot  Kind = "bot"  // uses the API
)

// A Token is the part of a token that may be shown.
type Token struct {
	ID      string    `json:"id"`
	Kind    Kind      `json:"kind"`
	Name    string    `json:"name"`
	Rooms   []string  `json:"rooms"`
	Read    bool      `json:"read,omitempty"`
	Send    bool      `json:"send,omitempty"`
	Created time.Time `json:"created"`
}

// Nick is the sender of what is posted with the token.
func (t Token) Nick() string { return t.Name + "/" + string(t.Kind) }

// Knows says whether a token is for a room.
func (t Token) Knows(room string) bool {
	return slices.ContainsFunc(t.Rooms,
		func(r string) bool { return irc.Lower(r) == irc.Lower(room) })
}

// Limits of tokens. Names are short, so that a line with one has room for words. Both are guesses.
const (
	maxTokens = 1000
	maxName   = 20 // in bytes
	maxRooms  = 50 // of one token
)

// The errors of Tokens, besides failures of the store and mistakes.
var (
	ErrUnknown = errors.New("there is no such token")
	ErrMany    = fmt.Errorf("there are %d tokens, which is the limit: remove some", maxTokens)
)

// Tokens are the tokens in a store, which they may share with others. Any goroutine may use them.
type Tokens struct {
	all account.Secrets[Token]
	now func() time.Time
}

// prefix is that of a token's key in the store.
const prefix = "token."

// Open returns the tokens in a store.
func Open(store account.Store) *Tokens {
	return &Tokens{account.Secrets[Token]{Store: store, Prefix: prefix}, time.Now}
}

var (
	namePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)
	kinds       = []Kind{Hook, Bot}
)

// check returns what is wrong with a new token.
func (t Token) check() error {
	switch {
	case !slices.Contains(kinds, t.Kind):
		return fmt.Errorf("kind %.20q: expected hook or bot", t.Kind)
	case len(t.Name) > maxName || !namePattern.MatchString(t.Name):
		return fmt.Errorf("name %.40q: expected a letter, and up to %d letters, digits, - and _",
			t.Name, maxName-1)
	case len(t.Rooms) == 0 || t.Kind == Hook && len(t.Rooms) > 1:
		return errors.New("expected a room: a webhook has one, a bot one at least")
	case len(t.Rooms) > maxRooms:
		return fmt.Errorf("%d rooms: expected at most %d", len(t.Rooms), maxRooms)
	case !t.Read && !t.Send:
		return errors.New("expected a token that may read or send")
	}
	for _, r := range t.Rooms {
		if !irc.IsRoom(r) {
			return fmt.Errorf("%.60q is not the name of a room, which begins with #", r)
		}
	}
	return nil
}

// Add makes a token from its kind, name, rooms and rights.
func (s *Tokens) Add(ctx context.Context, t Token) (account.Secret, Token, error) {
	if err := t.check(); err != nil {
		return account.Secret{}, Token{}, err
	}
	all, err := s.List(ctx)
	if err != nil {
		return account.Secret{}, Token{}, err
	}
	if len(all) >= maxTokens {
		return account.Secret{}, Token{}, ErrMany
	}
	return s.all.Add(ctx, func(id string) Token {
		t.ID, t.Created = id, s.now().UTC().Truncate(time.Second)
		return t
	})
}

// List returns all tokens, the oldest first.
func (s *Tokens) List(ctx context.Context) ([]Token, error) {
	all, err := s.all.List(ctx)
	if err != nil {
		return nil, err
	}
	var list []Token
	for _, t := range all {
		list = append(list, t.Record)
	}
	slices.SortStableFunc(list, func(a, b Token) int { return a.Created.Compare(b.Created) })
	return list, nil
}

// Remove removes a token.
func (s *Tokens) Remove(ctx context.Context, id string) error {
	return known(s.all.Remove(ctx, id))
}

// Find returns a token by its secret.
func (s *Tokens) Find(ctx context.Context, secret account.Secret) (Token, error) {
	t, err := s.all.Find(ctx, secret)
	return t.Record, known(err)
}

// known makes ErrUnknown of the store's error.
func known(err error) error {
	if errors.Is(err, account.ErrAbsent) {
		return ErrUnknown
	}
	return err
}
