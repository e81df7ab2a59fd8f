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
	"interleave/papaya/hall"
	"interleave/papaya/log"
	"interleave/papaya/server"
)

// accountsTable is the table of keys that the accounts are in.
const accountsTable = "accounts"

// streamFolder is where a data folder has the files of JetStream.
func streamFolder(data string) string { return filepath.Join(data, "stream") }

func openBook(ctx context.Context, l log.Log) (*account.Book, error) {
	keys, err := l.Keys(ctx, accountsTable)
	if err != nil {
		return nil, err
	}
	return account.Open(shelf{keys}), nil
}

// A shelf is a table of the log as a Store of accounts; their errors have other names.
type shelf struct{ keys log.Keys }

func translate(err error) error {
	switch {
	case errors.Is(err, log.ErrNoKey):
		return account.ErrAbsent
	case errors.Is(err, log.ErrRevision):
		return account.ErrChanged
	}
	return err
}

func (s shelf) Get(ctx context.Context, key string) ([]byte, uint64, error) {
	v, r, err := s.keys.Get(ctx, key)
	return v, r, translate(err)
}

func (s shelf) Put(ctx context.Context, key string, value []byte, revision uint64) error {
	return translate(s.keys.Put(ctx, key, value, revision))
}

func (s shelf) Delete(ctx context.Context, key string, revision uint64) error {
	return translate(s.keys.Delete(ctx, key, revision))
}

func (s shelf) Keys(ctx context.Context, prefix string) ([]string, error) {
	list, err := s.keys.Keys(ctx, prefix)
	slices.Sort(list) // the log has them in the order of their last change
	return list, translate(err)
}

// addrOf is the address of a connection; that of a Unix socket or a pipe is none.
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

// A doorkeeper answers the server's questions about accounts from the book.
type doorkeeper struct{ *house }

// answer counts and names the outcome as the server knows it.
func (d doorkeeper) answer(a account.Account, err error) (server.Person, error) {
	if errors.Is(err, account.ErrWrong) || errors.Is(err, account.ErrInvitation) {
		err = server.ErrNotYours
	}
	d.login(err)
	if limited, ok := errors.AsType[*account.LimitError](err); ok {
		err = told{limited}
	}
	return server.Person{Account: a.Name, Role: roles[a.Role]}, err
}

// roles are those of accounts, as the hall has them.
var roles = map[account.Role]hall.Role{account.Admin: hall.Admin, account.Operator: hall.Operator,
	account.Member: hall.Member, account.Guest: hall.Guest}

// told is an error that the server tells the client as it is.
type told struct{ error }

// Is makes it one of the client's, not of the server's.
func (told) Is(target error) bool { return target == server.ErrNotYours }

// Verify implements server.Accounts.
func (d doorkeeper) Verify(ctx context.Context, name, password string,
	from net.Addr) (server.Person, error) {
	return d.answer(d.book.Login(ctx, addrOf(from), name, account.NewSecret(password)))
}

// Certificate implements server.Accounts.
func (d doorkeeper) Certificate(ctx context.Context,
	fingerprint, name string) (server.Person, error) {
	return d.answer(d.book.LoginCertificate(ctx, fingerprint, name))
}

var errClosed = errors.New("this server makes no accounts: ask its administrator")

// Register implements server.Accounts.
func (d doorkeeper) Register(ctx context.Context, name, password, invitation string,
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
func (d doorkeeper) Required() bool { return d.settings.Load().Required }
