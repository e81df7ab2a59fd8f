package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"

	"interleave/papaya/account"
	"interleave/papaya/config"
	"interleave/papaya/irc"
)

// cloakName is the place of the key of cloaks in the store, and cloakLen its length in bytes. All
// servers of a log have the same key, so that a ban holds on all of them, and after a restart.
const (
	cloakName = "cloak"
	cloakLen  = 32
)

// openCloak returns what makes the cloaks of addresses, or nil if the settings have none.
func openCloak(ctx context.Context, store account.Store,
	c *config.Config) (func(netip.Addr) string, error) {
	if !c.Cloak {
		return nil, nil
	}
	key, _, err := store.Get(ctx, cloakName)
	if errors.Is(err, account.ErrAbsent) { // the first start
		key = make([]byte, cloakLen)
		_, _ = rand.Read(key) // never fails
		err = store.Put(ctx, cloakName, key, 0)
		if errors.Is(err, account.ErrChanged) { // another server was faster
			key, _, err = store.Get(ctx, cloakName)
		}
	}
	if err == nil && len(key) != cloakLen {
		err = fmt.Errorf("it has %d bytes, not %d", len(key), cloakLen)
	}
	if err != nil {
		return nil, fmt.Errorf("the key of cloaks: %w", err)
	}
	return func(address netip.Addr) string { return irc.Cloak(key, address) }, nil
}
