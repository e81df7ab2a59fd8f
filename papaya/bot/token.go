// Package bot lets programs talk in rooms and read them, without being clients: webhooks, which
// post to one room, and the API. Each has a token, which an administrator makes.
package bot

import (
	"context"
	"errors"
	"fmt"
	"net/url"
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
	Out  Kind = "out"  // signs what is posted to a URL when something is said in a room
)

// A Token is the part of a token that may be shown.
type Token struct {
	ID      string    `json:"id"`
	Kind    Kind      `json:"kind"`
	Name    string    `json:"name"`
	Rooms   []string  `json:"rooms"`
	Read    bool      `json:"read,omitempty"`
	Send    bool      `json:"send,omitempty"`
	URL     string    `json:"url,omitempty"`     // of an outgoing webhook
	Changes bool      `json:"changes,omitempty"` // it is told of later texts and removals, too
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
	maxURL    = 2000
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
	kinds       = []Kind{Hook, Bot, Out}
)

// check returns what is wrong with a new token.
func (t Token) check() error {
	switch {
	case !slices.Contains(kinds, t.Kind):
		return fmt.Errorf("kind %.20q: expected hook, bot or out", t.Kind)
	case len(t.Name) > maxName || !namePattern.MatchString(t.Name):
		return fmt.Errorf("name %.40q: expected a letter, and up to %d letters, digits, - and _",
			t.Name, maxName-1)
	case len(t.Rooms) == 0 || t.Kind != Bot && len(t.Rooms) > 1:
		return errors.New("expected a room: a webhook has one, a bot one at least")
	case len(t.Rooms) > maxRooms:
		return fmt.Errorf("%d rooms: expected at most %d", len(t.Rooms), maxRooms)
	case !t.Read && !t.Send:
		return errors.New("expected a token that may read or send")
	case t.Changes && t.Kind != Out:
		return errors.New("expected changes of an outgoing webhook only")
	}
	if err := t.checkURL(); err != nil {
		return err
	}
	for _, r := range t.Rooms {
		if !irc.IsRoom(r) {
			return fmt.Errorf("%.60q is not the name of a room, which begins with #", r)
		}
	}
	return nil
}

// checkURL returns what is wrong with the URL of a new token. Its text may have a secret in it, and
// is not shown.
func (t Token) checkURL() error {
	if t.Kind != Out {
		if t.URL != "" {
			return errors.New("expected a URL of an outgoing webhook only")
		}
		return nil
	}
	u, err := url.Parse(t.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("expected a URL that begins with http:// or https:// and names a host")
	}
	if len(t.URL) > maxURL {
		return fmt.Errorf("a URL of %d bytes: expected at most %d", len(t.URL), maxURL)
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

// outgoing returns the outgoing webhooks, with the keys that they have in the store.
func (s *Tokens) outgoing(ctx context.Context) (list []account.Stored[Token], err error) {
	all, err := s.all.List(ctx)
	for _, t := range all {
		if t.Record.Kind == Out {
			list = append(list, t)
		}
	}
	return list, err
}

// Remove removes a token.
func (s *Tokens) Remove(ctx context.Context, id string) error {
	if err := known(s.all.Remove(ctx, id)); err != nil {
		return err
	}
	return forget(ctx, s.all.Store, id)
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
