package push

import (
	"context"
	"crypto/ecdh"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	webpush "github.com/SherClockHolmes/webpush-go"

	"interleave/papaya/account"
)

// A key is the server's pair of keys (VAPID, RFC 8292), each in base64url.
type key struct {
	Private string `json:"private"`
	Public  string `json:"public"`
}

// keyName is the place of the key in the store, beside the hashes of passwords. All servers of a
// log have the same key, since a subscription holds for one key only.
const keyName = "vapid"

// openKey returns the server's key. The first start makes it.
func openKey(ctx context.Context, store account.Store) (k key, err error) {
	if k, err = readKey(ctx, store); !errors.Is(err, account.ErrAbsent) {
		return k, err
	}
	if k.Private, k.Public, err = webpush.GenerateVAPIDKeys(); err != nil {
		return k, fmt.Errorf("making the key of notifications: %w", err)
	}
	data, err := json.Marshal(k)
	if err == nil {
		err = store.Put(ctx, keyName, data, 0)
	}
	switch {
	case errors.Is(err, account.ErrChanged): // another server was faster
		return readKey(ctx, store)
	case err != nil:
		return k, fmt.Errorf("storing the key of notifications: %w", err)
	}
	return k, nil
}

func readKey(ctx context.Context, store account.Store) (k key, err error) {
	data, _, err := store.Get(ctx, keyName)
	if err == nil {
		err = json.Unmarshal(data, &k)
	}
	if err == nil {
		err = k.check()
	}
	if err != nil {
		return k, fmt.Errorf("the key of notifications: %w", err)
	}
	return k, nil
}

// check returns an error if the two are no pair.
func (k key) check() error {
	private, err := ecdh.P256().NewPrivateKey(decoded(k.Private))
	if err != nil {
		return err
	}
	if base64.RawURLEncoding.EncodeToString(private.PublicKey().Bytes()) != k.Public {
		return errors.New("the public key is of another one")
	}
	return nil
}
