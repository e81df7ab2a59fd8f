package account

import (
	"context"
	"fmt"
	"net/netip"

	"interleave/papaya/limit"
)

// ChangePassword replaces the password of an account by the wish of its owner, who must know the
// old one, and ends all tokens. A wrong one counts as a failed login. An account that logs in by
// certificate only has no old password to know.
func (b *Book) ChangePassword(ctx context.Context, from netip.Addr, name string,
	old, password Secret) error {
	r, err := b.get(ctx, name)
	if err != nil {
		return err
	}
	if err := b.checkPassword(password); err != nil {
		return err
	}
	if r.Hash != "" {
		if _, err := b.Login(ctx, from, name, old); err != nil {
			return err
		}
		if r, err = b.get(ctx, name); err != nil { // the login may have renewed the hash
			return err
		}
	}
	return b.replacePassword(ctx, r, password)
}

// RenameOwn is Rename by the wish of the account's owner. Each call counts as a failed login of the
// address, so nobody goes through many names.
func (b *Book) RenameOwn(ctx context.Context, from netip.Addr, old, name string) error {
	if wait, ok := b.address.Take(limit.Key(from)); !ok {
		return fmt.Errorf("account %s: %w", old, &LimitError{wait})
	}
	return b.Rename(ctx, old, name)
}
