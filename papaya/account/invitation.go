package account

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"interleave/papaya/hall"
)

// An Invitation lets one person make an account. Its token is shown once.
type Invitation struct {
	ID      string    `json:"id"`
	Role    Role      `json:"role"`
	By      string    `json:"by,omitempty"`
	Expires time.Time `json:"expires"`
}

// Limits of invitations. Both are guesses.
const (
	maxInvitations = 1000
	maxLife        = 90 * 24 * time.Hour
)

// invitations are those in the store.
func (b *Book) invitations() Secrets[Invitation] {
	return Secrets[Invitation]{b.store, "invitation."}
}

// typed returns a token as it was made: people type it in lower case, too.
func typed(token Secret) Secret { return Secret{strings.ToUpper(strings.TrimSpace(token.text))} }

// Invite makes an invitation that expires after life.
func (b *Book) Invite(ctx context.Context, by string, role Role,
	life time.Duration) (Secret, Invitation, error) {
	if _, err := hall.ParseRole(string(role)); err != nil {
		return Secret{}, Invitation{}, err
	}
	if life <= 0 || life > maxLife {
		return Secret{}, Invitation{}, fmt.Errorf("an invitation lives for up to %v, not %v",
			maxLife, life)
	}
	open, err := b.Invitations(ctx)
	if err != nil {
		return Secret{}, Invitation{}, err
	}
	if len(open) >= maxInvitations {
		return Secret{}, Invitation{},
			fmt.Errorf("%d invitations are open, at most %d: take some back", len(open),
				maxInvitations)
	}
	return b.invitations().Add(ctx, func(id string) Invitation {
		return Invitation{ID: id, Role: role, By: by,
			Expires: b.now().Add(life).UTC().Truncate(time.Second)}
	})
}

// Invitations returns the open invitations, the next to expire first. It removes those that have
// expired.
func (b *Book) Invitations(ctx context.Context) ([]Invitation, error) {
	all, err := b.invitations().List(ctx)
	if err != nil {
		return nil, err
	}
	var list []Invitation
	for _, i := range all {
		if b.now().Before(i.Record.Expires) {
			list = append(list, i.Record)
		} else {
			_ = b.store.Delete(ctx, i.Key, i.Revision) // after an error the next call removes it
		}
	}
	slices.SortStableFunc(list, func(a, b Invitation) int { return a.Expires.Compare(b.Expires) })
	return list, nil
}

// TakeBack removes an open invitation.
func (b *Book) TakeBack(ctx context.Context, id string) error {
	err := b.invitations().Remove(ctx, id)
	if errors.Is(err, ErrAbsent) {
		return ErrInvitation
	}
	return err
}

// Redeem makes an account from an invitation, which it uses up. Failures count as failed logins.
func (b *Book) Redeem(ctx context.Context, from netip.Addr, token Secret, name string,
	password Secret) (Account, error) {
	done, err := b.try(ctx, from, "")
	if err != nil {
		return Account{}, err
	}
	a, err := b.redeem(ctx, token, name, password)
	done(err)
	return a, err
}

func (b *Book) redeem(ctx context.Context, token Secret, name string,
	password Secret) (Account, error) {
	if err := CheckName(name); err != nil {
		return Account{}, err
	}
	if err := b.checkPassword(password); err != nil {
		return Account{}, err
	}
	i, err := b.invitations().Find(ctx, typed(token))
	if errors.Is(err, ErrAbsent) || err == nil && !b.now().Before(i.Record.Expires) {
		return Account{}, ErrInvitation
	}
	if err != nil {
		return Account{}, err
	}
	// The invitation is removed first. A crash may so lose an invitation, but cannot make two
	// accounts from one.
	if err := b.store.Delete(ctx, i.Key, i.Revision); errors.Is(err, ErrChanged) {
		return Account{}, ErrInvitation
	} else if err != nil {
		return Account{}, err
	}
	r := record{Account: Account{Name: name, Role: i.Record.Role, Invited: i.Record.By}}
	if err := b.add(ctx, r, password); err != nil {
		// The name was taken. Another name may be tried with the same token.
		_ = b.invitations().put(context.WithoutCancel(ctx), i.Key, i.Record)
		return Account{}, err
	}
	return b.Find(ctx, name)
}
