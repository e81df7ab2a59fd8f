package account

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"time"

	"interleave/papaya/hall"
	"interleave/papaya/irc"
	"interleave/papaya/limit"
)

// record is an account as it is stored.
type record struct {
	Account
	Hash string `json:"hash,omitempty"`
	// Scram are the keys of the password for SCRAM-SHA-256: see scram.go.
	Scram string `json:"scram,omitempty"`
	// Former is the name that the account had, while it is being renamed: see rename.go.
	Former string `json:"former,omitempty"`
	// Tokens log in in the place of the password: see token.go.
	Tokens   []storedToken `json:"tokens,omitempty"`
	revision uint64
}

// Limits of failed logins. An address may fail 10 times at once, and then once a minute. A name may
// fail 50 times, and then once in 10 s, from all addresses together. That limit is higher because
// it also keeps the owner out, who has certificates and open sessions. Both are guesses.
const (
	addressBurst = 10
	addressEvery = time.Minute
	nameBurst    = 50
	nameEvery    = 10 * time.Second
)

// maxAtOnce bounds concurrent hashes, and so their memory: 19 MiB each.
const maxAtOnce = 4

// hashesAtOnce leaves one of the cores to those who have logged in: Go takes a core from a hash
// only after 10 ms, and a message needs one several times until it is acknowledged.
func hashesAtOnce(cores int) int { return max(1, min(cores-1, maxAtOnce)) }

// A Book has the accounts of a Store. Any goroutine may use it.
type Book struct {
	// MinPassword is the least length of a new password in bytes. It may be set before first use.
	MinPassword int
	// Scram says whether logins by SCRAM-SHA-256 are offered, so that keys for them are stored. It
	// may be set before first use.
	Scram bool
	// TokenLimits returns the limits of tokens at present, and Ended is called when tokens of an
	// account have ended, with their IDs; nil: nobody wants to know. Both may be set before first
	// use.
	TokenLimits func() TokenLimits
	Ended       func(account string, ids []string)
	// Barred says whether a name is banned, so that no account gets it. nil: none is. It may be set
	// before first use.
	Barred func(name string) bool

	store   Store
	now     func() time.Time
	hashes  *hasher
	checks  checks
	right   rightPasswords
	address *limit.Rate // for failures
	name    *limit.Rate
	// addresses and names are the logins that count as failures because they are not done yet.
	addresses, names attempts

	dummy hash // compared with the password of an unknown name
	// scramPasses are those of new keys.
	scramPasses int
}

// Open returns a Book for the accounts in s.
func Open(s Store) *Book { return open(s, Standard, time.Now) }

func open(s Store, cost Cost, now func() time.Time) *Book {
	return &Book{
		MinPassword: MinPassword,
		TokenLimits: func() TokenLimits { return TokenLimits{Most: defaultTokens} },
		store:       s,
		now:         now,
		hashes:      newHasher(cost, hashesAtOnce(runtime.GOMAXPROCS(0))),
		address:     limit.NewRate(addressBurst, addressEvery, now),
		name:        limit.NewRate(nameBurst, nameEvery, now),
		dummy:       hash{cost, make([]byte, saltLen), make([]byte, tagLen)},
		scramPasses: scramPasses,
	}
}

// Login returns the account with a name and password.
func (b *Book) Login(ctx context.Context, from netip.Addr, name string,
	password Secret) (Account, error) {
	done, err := b.try(ctx, from, name)
	if err != nil {
		return Account{}, err
	}
	a, err := b.login(ctx, name, password)
	done(err)
	return a, err
}

func (b *Book) login(ctx context.Context, name string, password Secret) (Account, error) {
	r, err := b.get(ctx, name)
	kept := b.dummy
	switch {
	case errors.Is(err, ErrNone):
	case err != nil:
		return Account{}, err
	case r.Hash != "":
		if kept, err = parseHash(r.Hash); err != nil {
			return Account{}, fmt.Errorf("account %s: %w", r.Name, err)
		}
	}
	renew := kept.cost != b.hashes.cost || b.wantsScram(password) != (r.Scram != "")
	ok, computed, err := b.verify(ctx, name, password, kept, renew)
	if err != nil {
		return Account{}, err
	}
	if !ok || r.Hash == "" {
		return Account{}, ErrWrong
	}
	if computed && renew {
		// after an error the old hash stays until the next login
		_ = b.setPassword(ctx, r, password)
	}
	return r.Account, nil
}

// LoginCertificate returns the account of a certificate. name is the authorization identity of SASL
// EXTERNAL, or empty. There is no limit, because the client has proved that it holds the key.
func (b *Book) LoginCertificate(ctx context.Context, fingerprint, name string) (Account, error) {
	fingerprint, err := ParseFingerprint(fingerprint)
	if err != nil {
		return Account{}, ErrWrong
	}
	owner, _, err := b.store.Get(ctx, key("certificate", fingerprint))
	if errors.Is(err, ErrAbsent) {
		return Account{}, ErrWrong
	}
	if err != nil {
		return Account{}, fmt.Errorf("certificate %s: %w", fingerprint, err)
	}
	r, err := b.get(ctx, string(owner))
	if errors.Is(err, ErrNone) {
		return Account{}, ErrWrong
	}
	if err != nil {
		return Account{}, err
	}
	if !slices.Contains(r.Certificates, fingerprint) ||
		name != "" && irc.Lower(name) != irc.Lower(r.Name) {
		return Account{}, ErrWrong
	}
	return r.Account, nil
}

// Register makes an account. Each call counts as a failed login, so one address cannot make many.
func (b *Book) Register(ctx context.Context, from netip.Addr, name string,
	password Secret) (Account, error) {
	if wait, ok := b.address.Take(limit.Key(from)); !ok {
		return Account{}, &LimitError{wait}
	}
	if err := b.checkPassword(password); err != nil {
		return Account{}, err
	}
	if err := b.Add(ctx, name, Member, password); err != nil {
		return Account{}, err
	}
	return b.Find(ctx, name)
}

// try counts a login as a failure before it is checked, so that concurrent logins cannot exceed the
// limit. done takes this back if the login has succeeded, or has failed for a reason other than the
// client. Its further calls have no effect.
func (b *Book) try(ctx context.Context, from netip.Addr, name string) (done func(error),
	err error) {
	address, who := limit.Key(from), irc.Lower(name[:min(len(name), irc.MaxNick+1)])
	if err := b.addresses.enter(ctx, b.address, address); err != nil {
		return nil, err
	}
	if who != "" {
		if err := b.names.enter(ctx, b.name, who); err != nil {
			b.addresses.leave(b.address, address, true)
			return nil, err
		}
	}
	var once sync.Once
	return func(err error) {
		once.Do(func() {
			back := !errors.Is(err, ErrWrong) && !errors.Is(err, ErrInvitation)
			b.addresses.leave(b.address, address, back)
			if who != "" {
				b.names.leave(b.name, who, back)
			}
		})
	}, nil
}

// Find returns the account of a name.
func (b *Book) Find(ctx context.Context, name string) (Account, error) {
	r, err := b.get(ctx, name)
	return r.Account, err
}

// List returns all accounts, by name.
func (b *Book) List(ctx context.Context) ([]Account, error) {
	keys, err := b.store.Keys(ctx, "account.")
	if err != nil {
		return nil, fmt.Errorf("accounts: %w", err)
	}
	var list []Account
	for _, k := range keys {
		r, err := b.getKey(ctx, k, k)
		if errors.Is(err, ErrNone) {
			continue // removed in the meantime
		}
		if err != nil {
			return nil, err
		}
		list = append(list, r.Account)
	}
	return list, nil
}

// Add makes an account. Without a password it can log in only by certificate.
func (b *Book) Add(ctx context.Context, name string, role Role, password Secret) error {
	return b.add(ctx, record{Account: Account{Name: name, Role: role}}, password)
}

func (b *Book) add(ctx context.Context, r record, password Secret) error {
	if err := CheckName(r.Name); err != nil {
		return err
	}
	if _, err := hall.ParseRole(string(r.Role)); err != nil {
		return err
	}
	if err := b.notBarred(r.Name); err != nil {
		return err
	}
	if err := b.free(ctx, r.Name); err != nil {
		return err
	}
	r.Created = b.now().UTC().Truncate(time.Second)
	if password.text == "" {
		return b.put(ctx, r)
	}
	return b.setPassword(ctx, r, password)
}

// notBarred returns an error if no account may get a name.
func (b *Book) notBarred(name string) error {
	if b.Barred != nil && b.Barred(name) {
		return mistakef("account %s: the name is banned; an operator can end that", name)
	}
	return nil
}

// Remove removes an account with its certificates and tokens. Removed lists its name until
// Forgotten is called.
func (b *Book) Remove(ctx context.Context, name string) error {
	r, err := b.get(ctx, name)
	if err != nil {
		return err
	}
	if r.Former != "" {
		return fmt.Errorf("account %s: %w", name, ErrRenaming)
	}
	if err := b.store.Put(ctx, key("removed", name), []byte(r.Name), 0); err != nil &&
		!errors.Is(err, ErrChanged) {
		return fmt.Errorf("account %s: %w", name, err)
	}
	if err := b.store.Delete(ctx, key("account", name), r.revision); err != nil {
		_ = b.Forgotten(context.WithoutCancel(ctx), name) // the account still exists
		return fmt.Errorf("account %s: %w", name, err)
	}
	for _, k := range r.leads() {
		if err := b.dropLead(ctx, k); err != nil {
			return err
		}
	}
	return nil
}

// Removed lists removed accounts that may still have rights in rooms.
func (b *Book) Removed(ctx context.Context) ([]string, error) {
	keys, err := b.store.Keys(ctx, "removed.")
	if err != nil {
		return nil, fmt.Errorf("accounts: %w", err)
	}
	var names []string
	for _, k := range keys {
		name, _, err := b.store.Get(ctx, k)
		if errors.Is(err, ErrAbsent) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("accounts: %w", err)
		}
		names = append(names, string(name))
	}
	return names, nil
}

// Forgotten says that a removed account has no rights any more.
func (b *Book) Forgotten(ctx context.Context, name string) error {
	_, revision, err := b.store.Get(ctx, key("removed", name))
	if err == nil {
		err = b.store.Delete(ctx, key("removed", name), revision)
	}
	if errors.Is(err, ErrAbsent) || errors.Is(err, ErrChanged) {
		return nil // another server has called it
	}
	return err
}

// SetPassword replaces the password, and ends all tokens. An empty one leaves only certificates.
func (b *Book) SetPassword(ctx context.Context, name string, password Secret) error {
	r, err := b.get(ctx, name)
	if err != nil {
		return err
	}
	return b.replacePassword(ctx, r, password)
}

// replacePassword ends the tokens in the same write.
func (b *Book) replacePassword(ctx context.Context, r record, password Secret) (err error) {
	gone := r.Tokens
	r.Tokens = nil
	if password.text == "" {
		r.Hash, r.Scram = "", ""
		err = b.put(ctx, r)
	} else {
		err = b.setPassword(ctx, r, password)
	}
	if err == nil {
		b.tokensEnded(ctx, r.Name, gone)
	}
	return err
}

func (b *Book) setPassword(ctx context.Context, r record, password Secret) error {
	if err := b.checkPassword(password); err != nil {
		return err
	}
	h, err := b.hashes.make(ctx, password)
	if err != nil {
		return err
	}
	r.Hash = h.String()
	if r.Scram, err = b.scramKeys(ctx, password); err != nil {
		return err
	}
	return b.put(ctx, r)
}

// SetRole changes the role of an account.
func (b *Book) SetRole(ctx context.Context, name string, role Role) error {
	if _, err := hall.ParseRole(string(role)); err != nil {
		return err
	}
	r, err := b.get(ctx, name)
	if err != nil {
		return err
	}
	r.Role = role
	return b.put(ctx, r)
}

func (b *Book) get(ctx context.Context, name string) (record, error) {
	if CheckName(name) != nil {
		// The store may not allow such a key.
		return record{}, fmt.Errorf("account %.40q: %w", name, ErrNone)
	}
	return b.getKey(ctx, key("account", name), name)
}

func (b *Book) getKey(ctx context.Context, key, name string) (record, error) {
	data, revision, err := b.store.Get(ctx, key)
	if errors.Is(err, ErrAbsent) {
		return record{}, fmt.Errorf("account %s: %w", name, ErrNone)
	}
	r := record{revision: revision}
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		return record{}, fmt.Errorf("account %s: %w", name, err)
	}
	r.HasPassword = r.Hash != ""
	return r, nil
}

// put stores a changed record. It fails if the stored one has changed in the meantime.
func (b *Book) put(ctx context.Context, r record) error {
	r.HasPassword = r.Hash != ""
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("account %s: %w", r.Name, err)
	}
	err = b.store.Put(ctx, key("account", r.Name), data, r.revision)
	if errors.Is(err, ErrChanged) && r.revision == 0 {
		err = ErrExists
	}
	if err != nil {
		return fmt.Errorf("account %s: %w", r.Name, err)
	}
	return nil
}
