package main

import (
	"context"
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
	key, err := openSecret(ctx, store, cloakName, cloakLen)
	if err != nil {
		return nil, fmt.Errorf("the key of cloaks: %w", err)
	}
	return func(address netip.Addr) string { return irc.Cloak(key, address) }, nil
}
