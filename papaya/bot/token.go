// Package bot lets programs talk in rooms and read them, without being clients: webhooks, which
// post to one room, and the API. Each has a token, which an administrator makes.
package bot

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
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

// A Token is the part of a token that may be shown. The token itself is shown once, and only a hash
// of it is stored.
type Token struct {
	// ID is the beginning of the hash. It tells tokens apart, and does not help to guess them.
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
	store account.Store
	now   func() time.Time
}

// Open returns the tokens in a store.
func Open(store account.Store) *Tokens { return &Tokens{store, time.Now} }

// prefix is that of a token's key in the store.
const prefix = "token."

func keyOf(token account.Secret) (key, id string) {
	sum := sha256.Sum256([]byte(token.Reveal()))
	id = hex.EncodeToString(sum[:])
	return prefix + id, id[:12]
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

// Add makes a token of 130 bits from its kind, name, rooms and rights.
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
	secret := account.NewSecret(rand.Text())
	key := ""
	key, t.ID = keyOf(secret)
	t.Created = s.now().UTC().Truncate(time.Second)
	data, err := json.Marshal(t)
	if err == nil {
		err = s.store.Put(ctx, key, data, 0)
	}
	if err != nil {
		return account.Secret{}, Token{}, fmt.Errorf("token: %w", err)
	}
	return secret, t, nil
}

// List returns all tokens, the oldest first.
func (s *Tokens) List(ctx context.Context) ([]Token, error) {
	keys, err := s.store.Keys(ctx, prefix)
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	var list []Token
	for _, k := range keys {
		t, _, err := s.get(ctx, k)
		switch {
		case errors.Is(err, ErrUnknown): // removed in the meantime
		case err != nil:
			return nil, err
		default:
			list = append(list, t)
		}
	}
	slices.SortStableFunc(list, func(a, b Token) int { return a.Created.Compare(b.Created) })
	return list, nil
}

// Remove removes a token.
func (s *Tokens) Remove(ctx context.Context, id string) error {
	if len(id) != 12 || strings.Trim(id, "0123456789abcdef") != "" {
		return ErrUnknown
	}
	keys, err := s.store.Keys(ctx, prefix+id)
	if err != nil {
		return fmt.Errorf("token %s: %w", id, err)
	}
	if len(keys) == 0 {
		return ErrUnknown
	}
	_, revision, err := s.get(ctx, keys[0]) // two IDs of 48 bits are not expected to be equal
	if err == nil {
		err = s.store.Delete(ctx, keys[0], revision)
	}
	return err
}

// Find returns a token by its secret.
func (s *Tokens) Find(ctx context.Context, secret account.Secret) (Token, error) {
	key, _ := keyOf(secret)
	t, _, err := s.get(ctx, key)
	return t, err
}

func (s *Tokens) get(ctx context.Context, key string) (t Token, revision uint64, err error) {
	data, revision, err := s.store.Get(ctx, key)
	if errors.Is(err, account.ErrAbsent) {
		return t, 0, ErrUnknown
	}
	if err == nil {
		err = json.Unmarshal(data, &t)
	}
	if err != nil {
		return t, 0, fmt.Errorf("%.18s: %w", key, err)
	}
	return t, revision, nil
}
