package account

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"interleave/papaya/irc"
)

// A rename takes several steps in the store, and one in the chat, where rooms know the account by
// its name. The key renamed.OLD holds the new name from the first step to the last, so that what a
// crash has interrupted is finished at the next start:
//
//  1. renamed.OLD is stored.
//  2. The record is stored under the new name, with Former = OLD: whoever finds renamed.OLD knows
//     by it whether this step was taken, and not by another account of that name.
//  3. The certificates and the tokens lead to the new name.
//  4. The record under the old name is removed.
//  5. The chat has given everything to the new name: Renamed removes Former, and then renamed.OLD.

// A Renaming is an account whose new name the chat may not know yet.
type Renaming struct {
	Old, New string
	At       time.Time
}

// resumeAfter is how old a rename must be before another than its own call goes on with it, or
// gives it up. A call has far less time.
const resumeAfter = time.Minute

// ErrRenaming reports that a name is still known to the chat as that of a renamed account.
var ErrRenaming = errors.New("an account is just being renamed, try again in a moment")

// ErrRemoving reports that the chat has not yet forgotten a removed account of that name. Who got
// the name now would lose its sessions and rights when the chat forgets the other account.
var ErrRemoving = errors.New("the removed account of that name is just being forgotten, " +
	"try again in a moment")

// Rename gives an account another name, or the same one in other letters. Renames lists it until
// Renamed is called.
func (b *Book) Rename(ctx context.Context, old, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	r, err := b.get(ctx, old)
	if err != nil {
		return err
	}
	if r.Former != "" {
		return fmt.Errorf("account %s: %w", old, ErrRenaming)
	}
	if r.Name == name {
		return nil
	}
	if irc.Lower(old) != irc.Lower(name) {
		if err := b.notBarred(name); err != nil {
			return err
		}
	}
	if err := b.free(ctx, name); err != nil {
		return err
	}
	if err := b.plan(ctx, r.Name, name); err != nil {
		return err
	}
	if irc.Lower(old) == irc.Lower(name) {
		r.Name = name
		if err := b.put(ctx, r); err != nil {
			return errors.Join(err, b.forgetPlan(ctx, old))
		}
		return nil
	}
	moved := r
	moved.Name, moved.Former, moved.revision = name, r.Name, 0
	if err := b.put(ctx, moved); err != nil {
		return errors.Join(err, b.forgetPlan(ctx, old))
	}
	if err := b.finish(ctx, moved, r.revision); err != nil {
		if errors.Is(err, ErrChanged) { // the password, for example: the old record counts
			err = errors.Join(err, b.drop(ctx, name), b.forgetPlan(ctx, old))
		}
		return err
	}
	return nil
}

// free returns an error if the chat may still know a name as that of another account.
func (b *Book) free(ctx context.Context, name string) error {
	for kind, held := range map[string]error{"renamed": ErrRenaming, "removed": ErrRemoving} {
		_, _, err := b.store.Get(ctx, key(kind, name))
		switch {
		case err == nil:
			return fmt.Errorf("account %s: %w", name, held)
		case !errors.Is(err, ErrAbsent):
			return fmt.Errorf("account %s: %w", name, err)
		}
	}
	return nil
}

// plan is the first step.
func (b *Book) plan(ctx context.Context, old, name string) error {
	data, err := json.Marshal(Renaming{old, name, b.now().UTC()})
	if err == nil {
		err = b.store.Put(ctx, key("renamed", old), data, 0)
	}
	if errors.Is(err, ErrChanged) {
		err = ErrRenaming
	}
	if err != nil {
		return fmt.Errorf("account %s: %w", old, err)
	}
	return nil
}

// forgetPlan undoes the first step. It is no error if there is none.
func (b *Book) forgetPlan(ctx context.Context, old string) error {
	ctx = context.WithoutCancel(ctx)
	k := key("renamed", old)
	_, revision, err := b.store.Get(ctx, k)
	if err == nil {
		err = b.store.Delete(ctx, k, revision)
	}
	if errors.Is(err, ErrAbsent) || errors.Is(err, ErrChanged) {
		return nil
	}
	return err
}

// finish is the third and the fourth step. The old record must have the revision, so that no change
// of it is lost.
func (b *Book) finish(ctx context.Context, moved record, revision uint64) error {
	for _, k := range moved.leads() {
		_, of, err := b.store.Get(ctx, k)
		if err == nil {
			err = b.store.Put(ctx, k, []byte(moved.Name), of)
		}
		if err != nil && !errors.Is(err, ErrAbsent) {
			return fmt.Errorf("%s: %w", k, err)
		}
	}
	if err := b.store.Delete(ctx, key("account", moved.Former), revision); err != nil {
		return fmt.Errorf("account %s: %w", moved.Former, err)
	}
	return nil
}

// drop removes the record of a rename that was not finished, and leads back what leads to it.
func (b *Book) drop(ctx context.Context, name string) error {
	ctx = context.WithoutCancel(ctx)
	r, err := b.get(ctx, name)
	if err != nil {
		return err
	}
	if err := b.store.Delete(ctx, key("account", name), r.revision); err != nil {
		return err
	}
	for _, k := range r.leads() {
		if _, of, err := b.store.Get(ctx, k); err == nil {
			err = b.store.Put(ctx, k, []byte(r.Former), of)
			if err != nil {
				return fmt.Errorf("%s: %w", k, err)
			}
		}
	}
	return nil
}

// Renames lists renamed accounts whose new name the chat may not know yet. It finishes what a crash
// has interrupted in the store.
func (b *Book) Renames(ctx context.Context) ([]Renaming, error) {
	keys, err := b.store.Keys(ctx, "renamed.")
	if err != nil {
		return nil, fmt.Errorf("accounts: %w", err)
	}
	var list []Renaming
	for _, k := range keys {
		var n Renaming
		data, _, err := b.store.Get(ctx, k)
		if errors.Is(err, ErrAbsent) {
			continue // another server has finished it
		}
		if err == nil {
			err = json.Unmarshal(data, &n)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k, err)
		}
		done, err := b.resume(ctx, n)
		if err != nil {
			return nil, err
		}
		if done {
			list = append(list, n)
		}
	}
	return list, nil
}

// resume says whether the chat must rename an account. If the second step was not taken, the rename
// is given up.
func (b *Book) resume(ctx context.Context, n Renaming) (bool, error) {
	old := b.now().Sub(n.At) > resumeAfter
	r, err := b.get(ctx, n.New)
	if err != nil && !errors.Is(err, ErrNone) {
		return false, err
	}
	same := irc.Lower(n.Old) == irc.Lower(n.New)
	if err != nil || same && r.Name != n.New || !same && irc.Lower(r.Former) != irc.Lower(n.Old) {
		if !old {
			return false, nil
		}
		return false, b.forgetPlan(ctx, n.Old)
	}
	if same {
		return true, nil
	}
	before, err := b.get(ctx, n.Old)
	switch {
	case errors.Is(err, ErrNone):
		return true, nil
	case err != nil || !old:
		return false, err
	}
	return true, b.finish(ctx, r, before.revision)
}

// Renamed says that the chat knows the new name of an account.
func (b *Book) Renamed(ctx context.Context, n Renaming) error {
	r, err := b.get(ctx, n.New)
	if err == nil && r.Former != "" {
		r.Former = ""
		err = b.put(ctx, r)
	}
	if err != nil && !errors.Is(err, ErrNone) {
		return err // the next call does it
	}
	return b.forgetPlan(ctx, n.Old)
}
