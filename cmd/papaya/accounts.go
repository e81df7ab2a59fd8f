package main

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"path/filepath"
	"slices"

	"interleave/papaya/account"
	"interleave/papaya/config"
	"interleave/papaya/log"
	"interleave/papaya/server"
)

// accountsTable is the name of the table with the accounts.
const accountsTable = "accounts"

// streamFolder returns the folder of JetStream's files in a data folder.
func streamFolder(data string) string { return filepath.Join(data, "stream") }

// openKeys opens the table with the accounts, and with the tokens of programs.
func openKeys(ctx context.Context, l log.Log) (account.Store, error) {
	keys, err := l.Keys(ctx, accountsTable)
	return keyStore{keys}, err
}

func openBook(keys account.Store, c *config.Config) *account.Book {
	book := account.Open(keys)
	book.MinPassword, book.Scram = c.MinPassword, c.Scram
	book.TokenLimits = func() account.TokenLimits { return tokenLimits(c) }
	return book
}

// barred says whether a name is banned from the whole server, also if its account was removed.
func (d *daemon) barred(name string) bool {
	_, banned := d.admin.Banned(name)
	return banned
}

// A keyStore makes an account.Store of a table of the log. It translates the errors.
type keyStore struct{ keys log.Keys }

func translate(err error) error {
	switch {
	case errors.Is(err, log.ErrNoKey):
		return account.ErrAbsent
	case errors.Is(err, log.ErrRevision):
		return account.ErrChanged
	}
	return err
}

func (s keyStore) Get(ctx context.Context, key string) ([]byte, uint64, error) {
	v, r, err := s.keys.Get(ctx, key)
	return v, r, translate(err)
}

func (s keyStore) Put(ctx context.Context, key string, value []byte, revision uint64) error {
	return translate(s.keys.Put(ctx, key, value, revision))
}

func (s keyStore) Delete(ctx context.Context, key string, revision uint64) error {
	return translate(s.keys.Delete(ctx, key, revision))
}

func (s keyStore) Keys(ctx context.Context, prefix string) ([]string, error) {
	list, err := s.keys.Keys(ctx, prefix)
	slices.Sort(list) // the log returns them in the order of their last change
	return list, translate(err)
}

// addrOf returns the address of a connection. A Unix socket or a pipe has none.
func addrOf(a net.Addr) netip.Addr {
	if t, ok := a.(interface{ AddrPort() netip.AddrPort }); ok {
		return t.AddrPort().Addr()
	}
	p, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Addr{}
	}
	return p.Addr()
}

// An authenticator implements server.Accounts with the book of accounts.
type authenticator struct{ *daemon }

// answer counts the outcome of a login, and translates the error.
func (d authenticator) answer(a account.Account, err error) (server.Person, error) {
	if errors.Is(err, account.ErrWrong) || errors.Is(err, account.ErrInvitation) {
		err = server.ErrNotYours
	}
	d.login(err)
	if errors.Is(err, account.ErrBusy) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) { // the log had no time for it
		err = server.ErrBusy
	}
	if limited, ok := errors.AsType[*account.LimitError](err); ok {
		err = clientError{limited}
	}
	return server.Person{Account: a.Name, Role: a.Role}, err
}

// clientError is an error whose text the client may see.
type clientError struct{ error }

// Is makes clientError count as server.ErrNotYours: a failure of the client, not of the server.
func (clientError) Is(target error) bool { return target == server.ErrNotYours }

// Verify implements server.Accounts.
func (d authenticator) Verify(ctx context.Context, name, password string,
	from net.Addr) (server.Person, error) {
	a, token, err := d.book.Enter(ctx, addrOf(from), name, account.NewSecret(password))
	who, err := d.answer(a, err)
	who.Token = token
	return who, err
}

// Certificate implements server.Accounts.
func (d authenticator) Certificate(ctx context.Context,
	fingerprint, name string) (server.Person, error) {
	return d.answer(d.book.LoginCertificate(ctx, fingerprint, name))
}

var errClosed = errors.New("this server makes no accounts: ask its administrator")

// Register implements server.Accounts.
func (d authenticator) Register(ctx context.Context, name, password, invitation string,
	from net.Addr) (server.Person, error) {
	switch how := d.settings.Load().Registration; {
	case how == config.Closed, how == config.Invitation && invitation == "":
		return server.Person{}, errClosed
	case invitation != "":
		return d.answer(d.book.Redeem(ctx, addrOf(from), account.NewSecret(invitation), name,
			account.NewSecret(password)))
	}
	return d.answer(d.book.Register(ctx, addrOf(from), name, account.NewSecret(password)))
}

// Required implements server.Accounts.
func (d authenticator) Required() bool { return d.settings.Load().Required }

// scram returns what checks logins by SCRAM; nil if they are not offered.
func (d *daemon) scram(c *config.Config) server.Scram {
	if !c.Scram {
		return nil
	}
	return scrambler{authenticator{d}}
}

// A scrambler implements server.Scram with the book of accounts.
type scrambler struct{ authenticator }

// Begin implements server.Scram.
func (d scrambler) Begin(ctx context.Context, message string, from net.Addr) (server.Exchange,
	string, error) {
	x, answer, err := d.book.BeginScram(ctx, addrOf(from), message)
	if err != nil {
		_, err = d.answer(account.Account{}, err)
	}
	return exchange{d.authenticator, x}, answer, err
}

// An exchange implements server.Exchange.
type exchange struct {
	authenticator
	login *account.Scram
}

// Finish implements server.Exchange.
func (x exchange) Finish(message string) (server.Person, string, error) {
	a, answer, err := x.login.Finish(message)
	who, err := x.answer(a, err)
	return who, answer, err
}
