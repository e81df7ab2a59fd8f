package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// An Invitation lets one person make an account. Its token is shown once, and only a hash of it is
// stored.
type Invitation struct {
	// ID is the beginning of the hash. It tells invitations apart, and does not help to guess the
	// token.
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

func invitationKey(token Secret) (k, id string) {
	sum := sha256.Sum256([]byte(strings.ToUpper(strings.TrimSpace(token.text))))
	id = hex.EncodeToString(sum[:])
	return "invitation." + id, id[:12]
}

// Invite makes an invitation that expires after life. The token has 130 bits, and no characters
// that look alike.
func (b *Book) Invite(ctx context.Context, by string, role Role,
	life time.Duration) (Secret, Invitation, error) {
	if _, err := ParseRole(string(role)); err != nil {
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
	token := Secret{rand.Text()}
	k, id := invitationKey(token)
	i := Invitation{ID: id, Role: role, By: by,
		Expires: b.now().Add(life).UTC().Truncate(time.Second)}
	data, err := json.Marshal(i)
	if err == nil {
		err = b.store.Put(ctx, k, data, 0)
	}
	if err != nil {
		return Secret{}, Invitation{}, fmt.Errorf("invitation: %w", err)
	}
	return token, i, nil
}

// Invitations returns the open invitations, the next to expire first. It removes those that have
// expired.
func (b *Book) Invitations(ctx context.Context) ([]Invitation, error) {
	keys, err := b.store.Keys(ctx, "invitation.")
	if err != nil {
		return nil, fmt.Errorf("invitations: %w", err)
	}
	var list []Invitation
	for _, k := range keys {
		i, revision, err := b.invitation(ctx, k)
		switch {
		case errors.Is(err, ErrAbsent): // used in the meantime
		case err != nil:
			return nil, err
		case !b.now().Before(i.Expires):
			_ = b.store.Delete(ctx, k, revision) // after an error the next call removes it
		default:
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(a, b Invitation) int { return a.Expires.Compare(b.Expires) })
	return list, nil
}

func (b *Book) invitation(ctx context.Context,
	k string) (i Invitation, revision uint64, err error) {
	data, revision, err := b.store.Get(ctx, k)
	if err == nil {
		err = json.Unmarshal(data, &i)
	}
	if err != nil {
		return i, 0, fmt.Errorf("%.23s: %w", k, err)
	}
	return i, revision, nil
}

// TakeBack removes an open invitation.
func (b *Book) TakeBack(ctx context.Context, id string) error {
	if len(id) != 12 {
		return ErrInvitation
	}
	keys, err := b.store.Keys(ctx, "invitation."+id)
	if err != nil {
		return fmt.Errorf("invitation %s: %w", id, err)
	}
	if len(keys) == 0 {
		return ErrInvitation
	}
	// two IDs of 48 bits are not expected to be equal
	_, revision, err := b.invitation(ctx, keys[0])
	if err == nil {
		err = b.store.Delete(ctx, keys[0], revision)
	}
	return err
}

// Redeem makes an account from an invitation, which it uses up. Failures count as failed logins.
func (b *Book) Redeem(ctx context.Context, from netip.Addr, token Secret, name string,
	password Secret) (Account, error) {
	done, err := b.try(from, "")
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
	k, _ := invitationKey(token)
	i, revision, err := b.invitation(ctx, k)
	if errors.Is(err, ErrAbsent) || err == nil && !b.now().Before(i.Expires) {
		return Account{}, ErrInvitation
	}
	if err != nil {
		return Account{}, err
	}
	// The invitation is removed first. A crash may so lose an invitation, but cannot make two
	// accounts from one.
	if err := b.store.Delete(ctx, k, revision); errors.Is(err, ErrChanged) {
		return Account{}, ErrInvitation
	} else if err != nil {
		return Account{}, err
	}
	r := record{Account: Account{Name: name, Role: i.Role, Invited: i.By}}
	if err := b.add(ctx, r, password); err != nil {
		if data, e := json.Marshal(i); e == nil {
			// The name was taken. Another name may be tried with the same token.
			_ = b.store.Put(context.WithoutCancel(ctx), k, data, 0)
		}
		return Account{}, err
	}
	return b.Find(ctx, name)
}
