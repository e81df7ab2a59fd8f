package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"interleave/internal/command"
	"interleave/papaya/account"
	"interleave/papaya/client"
)

// A token on record keeps the user of `papaya chat` signed in on this device.

// kept returns the token that is on record for an address and the account of --account, or the only
// one there if the user has named nobody. It is empty if there is none, or if the user wants to log
// in by a password.
func (o chatOptions) kept(addr string) (client.Kept, error) {
	if o.stay || o.invited || o.passwordFile != "" || o.account == "" && o.nick != "" {
		return client.Kept{}, nil
	}
	path, err := onRecord("tokens", o.tokens)
	if err != nil {
		return client.Kept{}, nil //nolint:nilerr // no folder of settings, so no token
	}
	one, _, err := client.TokenFile{Path: path}.Find(addr, o.account)
	if err != nil {
		return one, fmt.Errorf("chat: %w", err)
	}
	return one, nil
}

// keeping returns what stores a token, and the ID of the one on record that it replaces.
func (o chatOptions) keeping(addr string) (keep func(token string) error, former string,
	err error) {
	path, err := onRecord("tokens", o.tokens)
	if err != nil {
		return nil, "", err
	}
	file := client.TokenFile{Path: path}
	before, ok, err := file.Find(addr, o.account)
	if err != nil {
		return nil, "", fmt.Errorf("chat: %w", err)
	}
	if ok {
		former = account.TokenID(account.HashOf(account.NewSecret(before.Token)))
	}
	return func(token string) error {
		return file.Put(client.Kept{Addr: addr, Account: o.account, Token: token})
	}, former, nil
}

// thisDevice names this device in the list of tokens.
func thisDevice() string {
	host, err := os.Hostname()
	if err != nil {
		return "papaya chat"
	}
	return account.DeviceName("papaya chat on " + host)
}

// signOut ends the token on record for an address, at the server and here.
func signOut(cmd *cobra.Command, o chatOptions, host string) error {
	name, addr, err := address(host, o.plain)
	if err != nil {
		return err
	}
	path, err := onRecord("tokens", o.tokens)
	if err != nil {
		return err
	}
	file := client.TokenFile{Path: path}
	one, ok, err := file.Find(addr, o.account)
	if err != nil {
		return fmt.Errorf("chat: %w", err)
	}
	if !ok {
		return command.Usagef("chat: no token is on record for %s, or several are: name the "+
			"account with --account", addr)
	}
	dial := client.Plain(addr)
	if !o.plain {
		dial, _, err = encrypted(cmd.Context(), o, name, addr, os.Stdin)
	}
	if err == nil {
		err = client.SignOut(cmd.Context(), dial, one.Account, one.Token)
	}
	if cmd.Context().Err() != nil {
		return err
	}
	if failed := file.Remove(one); failed != nil {
		return fmt.Errorf("chat: %w", failed)
	}
	if err != nil {
		return fmt.Errorf("chat: the token is forgotten here, but the server has not ended it: "+
			"%w; look at it there by NS TOKEN LIST", err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "signed out of %s at %s\n", one.Account, addr)
	return nil
}
