package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Secrets are records in a store, each of which is found by a secret, such as an invitation or a
// token. A secret is shown once, and only a hash of it is stored. Any goroutine may use them.
type Secrets[T any] struct {
	Store  Store
	Prefix string // of the keys in the store
}

// A Stored record has what is needed to change or remove it.
type Stored[T any] struct {
	Record   T
	Key      string
	Revision uint64
}

// idLen is how many digits of the hash are shown. They tell records apart, and do not help to guess
// the secret. Two IDs of 48 bits are not expected to be equal.
const idLen = 12

// key returns the key of a secret in the store, and its ID.
func (s Secrets[T]) key(secret Secret) (key, id string) {
	sum := sha256.Sum256([]byte(secret.text))
	id = hex.EncodeToString(sum[:])
	return s.Prefix + id, id[:idLen]
}

// Add stores a record, which record makes from its ID, and returns it with its secret. The secret
// has 130 bits, and no characters that look alike.
func (s Secrets[T]) Add(ctx context.Context, record func(id string) T) (Secret, T, error) {
	secret := Secret{rand.Text()}
	key, id := s.key(secret)
	r := record(id)
	if err := s.put(ctx, key, r); err != nil {
		return Secret{}, r, err
	}
	return secret, r, nil
}

// put stores a record under a key that has none.
func (s Secrets[T]) put(ctx context.Context, key string, r T) error {
	data, err := json.Marshal(r)
	if err == nil {
		err = s.Store.Put(ctx, key, data, 0)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.short(key), err)
	}
	return nil
}

// short is a key for messages of errors.
func (s Secrets[T]) short(key string) string { return cut(key, len(s.Prefix)+idLen) }

func cut(text string, size int) string { return text[:min(len(text), size)] }

// Find returns the record of a secret. The error is ErrAbsent if there is none.
func (s Secrets[T]) Find(ctx context.Context, secret Secret) (Stored[T], error) {
	key, _ := s.key(secret)
	return s.get(ctx, key)
}

func (s Secrets[T]) get(ctx context.Context, key string) (Stored[T], error) {
	r := Stored[T]{Key: key}
	data, revision, err := s.Store.Get(ctx, key)
	if err == nil {
		r.Revision = revision
		err = json.Unmarshal(data, &r.Record)
	}
	if err != nil {
		return Stored[T]{}, fmt.Errorf("%s: %w", s.short(key), err)
	}
	return r, nil
}

// List returns all records, in the order of their keys. Those that are removed meanwhile are left
// out.
func (s Secrets[T]) List(ctx context.Context) ([]Stored[T], error) {
	keys, err := s.Store.Keys(ctx, s.Prefix)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Prefix, err)
	}
	var list []Stored[T]
	for _, key := range keys {
		r, err := s.get(ctx, key)
		switch {
		case errors.Is(err, ErrAbsent):
		case err != nil:
			return nil, err
		default:
			list = append(list, r)
		}
	}
	return list, nil
}

// Remove removes the record of an ID. The error is ErrAbsent if there is none.
func (s Secrets[T]) Remove(ctx context.Context, id string) error {
	if len(id) != idLen || strings.Trim(id, "0123456789abcdef") != "" {
		return ErrAbsent
	}
	keys, err := s.Store.Keys(ctx, s.Prefix+id)
	if err != nil {
		return fmt.Errorf("%s%s: %w", s.Prefix, id, err)
	}
	if len(keys) == 0 {
		return ErrAbsent
	}
	r, err := s.get(ctx, keys[0])
	if err != nil {
		return err
	}
	return s.Store.Delete(ctx, r.Key, r.Revision)
}
