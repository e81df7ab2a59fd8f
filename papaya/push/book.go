package push

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"interleave/papaya/account"
	"interleave/papaya/irc"
)

// prefix is that of a subscription's key in the store. The rest is the SHA-256 of the endpoint, so
// an endpoint has one subscription.
const prefix = "push."

// A book has the subscriptions of a store, and a copy of them in memory. Any goroutine may use it.
// Only reading waits for nothing but mu.
type book struct {
	store  account.Store
	now    func() time.Time
	logger *slog.Logger

	writing sync.Mutex // held while the store and then the copy are changed
	mu      sync.RWMutex
	all     map[string]account.Stored[Subscription] // by key
	of      map[string]int                          // how many each folded account has
}

// errDamaged is the error of a record that cannot be read.
var errDamaged = errors.New("damaged")

// load reads the subscriptions from the store. Those that are damaged are logged and left out.
func (b *book) load(ctx context.Context) error {
	b.writing.Lock()
	defer b.writing.Unlock()
	keys, err := b.store.Keys(ctx, prefix)
	if err != nil {
		return fmt.Errorf("subscriptions: %w", err)
	}
	all := map[string]account.Stored[Subscription]{}
	for _, key := range keys {
		one, err := b.get(ctx, key)
		switch {
		case errors.Is(err, account.ErrAbsent): // it was removed meanwhile
		case errors.Is(err, errDamaged):
			b.logger.Warn("a device is not notified any more", "reason", err)
		case err != nil:
			return err
		default:
			all[key] = one
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all, b.of = all, map[string]int{}
	for _, one := range all {
		b.of[one.Record.Account]++
	}
	return nil
}

func (b *book) get(ctx context.Context, key string) (one account.Stored[Subscription], err error) {
	one.Key = key
	data, revision, err := b.store.Get(ctx, key)
	if err == nil {
		one.Revision = revision
		if err = json.Unmarshal(data, &one.Record); err != nil {
			err = fmt.Errorf("%w: %w", errDamaged, err)
		}
	}
	if err != nil {
		return one, fmt.Errorf("subscription %s: %w", key[:min(len(key), len(prefix)+idLen)], err)
	}
	return one, nil
}

// wants says whether an account has subscriptions.
func (b *book) wants(folded string) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.of[folded] > 0
}

// list returns the subscriptions of an account, the oldest first.
func (b *book) list(name string) []Subscription {
	var out []Subscription
	for _, one := range b.stored(irc.Lower(name)) {
		out = append(out, one.Record)
	}
	return out
}

// device returns the subscription of an endpoint.
func (b *book) device(endpoint string) (Subscription, bool) {
	one, there := b.copyOf(prefix + hashOf(endpoint))
	return one.Record, there
}

func (b *book) stored(folded string) []account.Stored[Subscription] {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.of[folded] == 0 {
		return nil
	}
	var out []account.Stored[Subscription]
	for _, one := range b.all {
		if one.Record.Account == folded {
			out = append(out, one)
		}
	}
	slices.SortFunc(out, func(x, y account.Stored[Subscription]) int {
		return cmp.Or(x.Record.Made.Compare(y.Record.Made), cmp.Compare(x.Key, y.Key))
	})
	return out
}

// put stores a subscription in the place of one with the same endpoint, and returns it as it is
// stored. With again, the account must have one there.
func (b *book) put(ctx context.Context, one Subscription, again bool) (Subscription, error) {
	b.writing.Lock()
	defer b.writing.Unlock()
	before, err := b.before(ctx, one)
	if err == nil && again && before.Record.Account == "" {
		err = ErrUnknown
	}
	if err != nil {
		return one, err
	}
	one.Renewed = b.now().UTC().Truncate(time.Second)
	if one.Made = before.Record.Made; before.Record.Account != one.Account {
		one.Made = one.Renewed
	}
	before.Record = one
	return one, b.write(ctx, before)
}

// before returns the record in whose place a subscription is stored; without an account if there is
// none. The error says why it may not be. A device may change its account, since its endpoint is a
// secret. The name of a topic is easier to guess, so nobody takes one from another account.
func (b *book) before(ctx context.Context, one Subscription) (account.Stored[Subscription], error) {
	was, err := b.get(ctx, prefix+hashOf(one.Endpoint)) // another server may have changed it
	there := err == nil
	switch {
	case errors.Is(err, account.ErrAbsent), errors.Is(err, errDamaged):
		was.Record = Subscription{}
	case err != nil:
		return was, err
	}
	switch other := was.Record.Account != one.Account; {
	case there && other && (one.Ntfy || was.Record.Ntfy):
		return was, ErrTaken
	case other && b.count(one.Account) >= maxEach, !there && b.count("") >= maxAll:
		return was, ErrMany
	}
	return was, nil
}

// write stores a record. Another server may have changed it meanwhile: then the last one counts.
// The caller holds writing.
func (b *book) write(ctx context.Context, one account.Stored[Subscription]) error {
	data, err := json.Marshal(one.Record)
	if err == nil {
		err = b.store.Put(ctx, one.Key, data, one.Revision)
	}
	if errors.Is(err, account.ErrChanged) {
		switch _, revision, again := b.store.Get(ctx, one.Key); {
		case errors.Is(again, account.ErrAbsent):
			err = b.store.Put(ctx, one.Key, data, 0)
		case again != nil:
			err = again
		default:
			err = b.store.Put(ctx, one.Key, data, revision)
		}
	}
	if err == nil { // its revision now
		_, one.Revision, err = b.store.Get(ctx, one.Key)
	}
	if err != nil {
		return fmt.Errorf("subscription %s: %w", one.Record.ID(), err)
	}
	b.change(one.Key, &one)
	return nil
}

// removeOwn removes the subscriptions of an account that are chosen.
func (b *book) removeOwn(ctx context.Context, name string, chosen func(Subscription) bool) error {
	b.writing.Lock()
	defer b.writing.Unlock()
	for _, one := range b.stored(irc.Lower(name)) {
		if !chosen(one.Record) {
			continue
		}
		if err := b.remove(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

// drop removes a subscription that its push service does not know any more, unless the device has
// renewed it meanwhile.
func (b *book) drop(ctx context.Context, one Subscription) error {
	return b.removeOwn(ctx, one.Account, func(now Subscription) bool { return now == one })
}

// remove removes a record, also one that another server has renewed. The caller holds writing.
func (b *book) remove(ctx context.Context, one account.Stored[Subscription]) error {
	err := b.store.Delete(ctx, one.Key, one.Revision)
	if errors.Is(err, account.ErrChanged) {
		var now account.Stored[Subscription]
		if now, err = b.get(ctx, one.Key); err == nil && now.Record.Account == one.Record.Account {
			err = b.store.Delete(ctx, one.Key, now.Revision)
		}
	}
	if err != nil && !errors.Is(err, account.ErrAbsent) {
		return fmt.Errorf("subscription %s: %w", one.Record.ID(), err)
	}
	b.change(one.Key, nil)
	return nil
}

// rename gives the subscriptions of an account to another name.
func (b *book) rename(ctx context.Context, old, name string) error {
	if err := b.load(ctx); err != nil { // another server may have added some
		return err
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	for _, one := range b.stored(irc.Lower(old)) {
		one.Record.Account = irc.Lower(name)
		if err := b.write(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

// expire removes the subscriptions that were not renewed for long: their devices are gone. Nobody
// renews a topic, so topics stay.
func (b *book) expire(ctx context.Context) error {
	b.writing.Lock()
	defer b.writing.Unlock()
	b.mu.RLock()
	var old []account.Stored[Subscription]
	for _, one := range b.all {
		if !one.Record.Ntfy && b.now().Sub(one.Record.Renewed) > lifetime {
			old = append(old, one)
		}
	}
	b.mu.RUnlock()
	for _, one := range old {
		if err := b.remove(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

func (b *book) copyOf(key string) (one account.Stored[Subscription], there bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	one, there = b.all[key]
	return one, there
}

// count counts the subscriptions of a folded account, or of all accounts.
func (b *book) count(folded string) int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if folded == "" {
		return len(b.all)
	}
	return b.of[folded]
}

// change changes the copy of a record; nil removes it.
func (b *book) change(key string, one *account.Stored[Subscription]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if before, there := b.all[key]; there {
		if b.of[before.Record.Account]--; b.of[before.Record.Account] == 0 {
			delete(b.of, before.Record.Account)
		}
		delete(b.all, key)
	}
	if one != nil {
		b.all[key] = *one
		b.of[one.Record.Account]++
	}
}
