package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"interleave/papaya/irc"
)

// A Token logs in to one account in the place of the password: a browser that stays signed in, or a
// client of IRC. Its secret is shown once. A hash of it is stored in the account's record, so what
// changes the record changes its tokens in the same write: a new password ends them, and a rename
// keeps them.
type Token struct {
	ID   string    `json:"id"`   // the first digits of the hash
	Name string    `json:"name"` // of the device or program
	Made time.Time `json:"made"`
	Used time.Time `json:"used"` // to within useEvery
}

// A storedToken has the SHA-256 of its secret, in hex. A secret of 260 bits cannot be guessed from
// it, so it needs neither salt nor a slow hash.
type storedToken struct {
	Token
	Hash string `json:"hash"`
}

// TokenLimits bound the tokens of an account.
type TokenLimits struct {
	Most int           // tokens of one account; 0: there are none, and none is accepted
	Life time.Duration // without use; 0: for ever
}

// A secret is tokenPrefix and tokenLen characters of base32. The prefix tells people, and programs
// that look for secrets, what it is.
const (
	tokenPrefix = "papaya-"
	tokenLen    = 52
	base32      = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
)

// defaultTokens is how many tokens an account may have, unless TokenLimits says otherwise. A guess.
const defaultTokens = 20

// maxDevice is in bytes: a name fits into a line of IRC with the rest of a token.
const maxDevice = 60

// useEvery is how exact Used is. Each change of it writes the account's record.
const useEvery = time.Hour

// changeTries is how often a change of a record is tried that others change at the same time.
const changeTries = 10

// IsToken says whether a secret has the form of a token. A password may have it, too.
func IsToken(s Secret) bool {
	body, ok := strings.CutPrefix(s.text, tokenPrefix)
	return ok && len(body) == tokenLen && strings.Trim(body, base32) == ""
}

// HashOf is the hash by which a token is known.
func HashOf(s Secret) string {
	sum := sha256.Sum256([]byte(s.text))
	return hex.EncodeToString(sum[:])
}

// TokenID is the ID of the token with a hash.
func TokenID(hash string) string { return cut(hash, idLen) }

// DeviceName makes the name of a device one line without control characters.
func DeviceName(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	for len(name) > maxDevice {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	if name = strings.TrimSpace(name); name == "" {
		return "a device"
	}
	return name
}

// ended says whether a token was not used for too long.
func (b *Book) ended(t Token, limits TokenLimits) bool {
	return limits.Most == 0 || limits.Life > 0 && b.now().Sub(t.Used) > limits.Life
}

// Enter is Login by the password or by a token. It also returns the hash of the token that was
// used; it is empty if that was the password.
func (b *Book) Enter(ctx context.Context, from netip.Addr, name string,
	secret Secret) (a Account, token string, err error) {
	if name != "" && IsToken(secret) {
		// Nobody guesses a token, so those who guess the password of the name keep no token out.
		done, err := b.try(ctx, from, "")
		if err != nil {
			return Account{}, "", err
		}
		hash := HashOf(secret)
		a, err := b.useToken(ctx, hash, name)
		if !errors.Is(err, ErrWrong) {
			done(err)
			return a, hash, err
		}
		done(nil) // Login counts it
	}
	// A wrong token costs as much time as a wrong password, and a password may look like a token.
	a, err = b.Login(ctx, from, name, secret)
	return a, "", err
}

// EnterToken is Enter by a token alone. name is the account that the client asks for, or empty.
func (b *Book) EnterToken(ctx context.Context, from netip.Addr, secret Secret,
	name string) (a Account, token string, err error) {
	done, err := b.try(ctx, from, "")
	if err != nil {
		return Account{}, "", err
	}
	err = ErrWrong
	if IsToken(secret) {
		token = HashOf(secret)
		a, err = b.useToken(ctx, token, name)
	}
	done(err)
	return a, token, err
}

// UseToken notes that a session is open that has logged in by a token with a hash. It returns
// ErrWrong if the token has ended.
func (b *Book) UseToken(ctx context.Context, hash string) error {
	_, err := b.useToken(ctx, hash, "")
	return err
}

func (b *Book) useToken(ctx context.Context, hash, name string) (Account, error) {
	r, i, err := b.byToken(ctx, hash)
	if err != nil {
		return Account{}, err
	}
	limits := b.TokenLimits()
	if b.ended(r.Tokens[i].Token, limits) || name != "" && irc.Lower(name) != irc.Lower(r.Name) {
		return Account{}, ErrWrong
	}
	every := useEvery
	if limits.Life > 0 {
		every = min(every, limits.Life/4)
	}
	if now := b.now(); now.Sub(r.Tokens[i].Used) >= every {
		r.Tokens = slices.Clone(r.Tokens)
		r.Tokens[i].Used = now.UTC().Truncate(time.Second)
		_ = b.put(ctx, r) // after an error, the next use notes it
	}
	return r.Account, nil
}

// byToken finds the record that has the token with a hash, and the token in it.
func (b *Book) byToken(ctx context.Context, hash string) (record, int, error) {
	owner, _, err := b.store.Get(ctx, tokenKey(hash))
	if errors.Is(err, ErrAbsent) {
		return record{}, 0, ErrWrong
	}
	if err != nil {
		return record{}, 0, fmt.Errorf("token %s: %w", TokenID(hash), err)
	}
	r, err := b.get(ctx, string(owner))
	if errors.Is(err, ErrNone) {
		return record{}, 0, ErrWrong
	}
	if err != nil {
		return record{}, 0, err
	}
	for i, t := range r.Tokens {
		if subtle.ConstantTimeCompare([]byte(t.Hash), []byte(hash)) == 1 {
			return r, i, nil
		}
	}
	return record{}, 0, ErrWrong
}

// tokenKey is the key under which the owner of a token is stored.
func tokenKey(hash string) string { return key("signin", hash) }

// errOther reports that the account has another password than a moment ago.
var errOther = fmt.Errorf("the password was changed: %w", ErrChanged)

// NewToken makes a token of an account for a device. prove checks the password. If that is changed
// meanwhile, which ends all tokens, it is checked again: nobody gets a token by an old one. former
// is the token that the device had before, or is empty. If it is one of the account, it ends in the
// same write, so that the device never has two or none.
func (b *Book) NewToken(ctx context.Context, name, device string, former Secret,
	prove func() error) (Secret, Token, error) {
	for try := 1; ; try++ {
		before, err := b.get(ctx, name)
		if err != nil && !errors.Is(err, ErrNone) {
			return Secret{}, Token{}, err
		}
		if err := prove(); err != nil { // always if there is no such account
			return Secret{}, Token{}, err
		}
		// prove may have renewed the hash, which is the reason for a second try.
		secret, t, err := b.addToken(ctx, name, device, before.Hash, former)
		if try == 2 || !errors.Is(err, errOther) {
			return secret, t, err
		}
	}
}

// addToken makes a token in the place of a former one, if the account has a password of this hash.
func (b *Book) addToken(ctx context.Context, name, device, hash string, former Secret) (Secret,
	Token, error) {
	limits := b.TokenLimits()
	if limits.Most == 0 {
		return Secret{}, Token{}, mistakef("this server keeps nobody signed in")
	}
	secret := Secret{tokenPrefix + rand.Text() + rand.Text()}
	now := b.now().UTC().Truncate(time.Second)
	t := storedToken{Token{Name: DeviceName(device), Made: now, Used: now}, HashOf(secret)}
	t.ID = TokenID(t.Hash)
	stored, formerID := false, TokenID(HashOf(former))
	gone, err := b.changeTokens(ctx, name, func(r *record) ([]storedToken, error) {
		if r.Hash != hash {
			return nil, errOther
		}
		left, old := part(r.Tokens, func(t Token) bool {
			return b.ended(t, limits) || t.ID == formerID
		})
		if len(left) >= limits.Most {
			return nil, mistakef("account %s: has %d tokens, which is the limit: end some", r.Name,
				len(left))
		}
		// The key is stored first, as that of a certificate is: after a crash it opens nothing.
		if !stored {
			if err := b.store.Put(ctx, tokenKey(t.Hash), []byte(r.Name), 0); err != nil {
				return nil, fmt.Errorf("token %s: %w", t.ID, err)
			}
			stored = true
		}
		r.Tokens = append(left, t)
		return old, nil
	})
	if err != nil {
		if stored {
			_ = b.dropLead(context.WithoutCancel(ctx), tokenKey(t.Hash)) // it opens nothing
		}
		return Secret{}, Token{}, err
	}
	b.tokensEnded(ctx, name, gone)
	return secret, t.Token, nil
}

// TokensOf lists the tokens of an account that have not ended, the oldest first.
func (b *Book) TokensOf(ctx context.Context, name string) ([]Token, error) {
	r, err := b.get(ctx, name)
	if err != nil {
		return nil, err
	}
	var list []Token
	limits := b.TokenLimits()
	for _, t := range r.Tokens {
		if !b.ended(t.Token, limits) {
			list = append(list, t.Token)
		}
	}
	return list, nil
}

// EndTokens ends those tokens of an account that are chosen, and returns how many these were.
func (b *Book) EndTokens(ctx context.Context, name string, chosen func(Token) bool) (int, error) {
	gone, err := b.changeTokens(ctx, name, func(r *record) (gone []storedToken, _ error) {
		r.Tokens, gone = part(r.Tokens, chosen)
		return gone, nil
	})
	if err == nil {
		b.tokensEnded(ctx, name, gone)
	}
	return len(gone), err
}

// AllTokens is the ID that stands for all tokens of an account.
const AllTokens = "all"

// EndToken ends the token of an account with an ID, or AllTokens.
func (b *Book) EndToken(ctx context.Context, name, id string) error {
	n, err := b.EndTokens(ctx, name, func(t Token) bool { return id == AllTokens || t.ID == id })
	if err == nil && n == 0 && id != AllTokens {
		return mistakef("account %s: has no token %.40q", name, id)
	}
	return err
}

// EndSecret ends the token with a secret. It is no error if there is none, but counts as a failed
// login of the address.
func (b *Book) EndSecret(ctx context.Context, from netip.Addr, secret Secret) error {
	if !IsToken(secret) {
		return nil
	}
	done, err := b.try(ctx, from, "")
	if err != nil {
		return err
	}
	there, err := b.endSecret(ctx, secret)
	if err == nil && !there {
		done(ErrWrong)
	}
	done(err)
	return err
}

// EndFormer ends the token with a secret, if there is one. It counts nothing: the user has proved
// to be somebody, and the device may have a token that has ended already.
func (b *Book) EndFormer(ctx context.Context, secret Secret) error {
	if !IsToken(secret) {
		return nil
	}
	_, err := b.endSecret(ctx, secret)
	return err
}

// endSecret ends the token with a secret, and says whether there was one.
func (b *Book) endSecret(ctx context.Context, secret Secret) (there bool, err error) {
	r, i, err := b.byToken(ctx, HashOf(secret))
	if errors.Is(err, ErrWrong) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	id := r.Tokens[i].ID
	_, err = b.EndTokens(ctx, r.Name, func(t Token) bool { return t.ID == id })
	return true, err
}

// part parts tokens into those that are left and those that are chosen.
func part(all []storedToken, chosen func(Token) bool) (left, gone []storedToken) {
	for _, t := range all {
		if chosen(t.Token) {
			gone = append(gone, t)
		} else {
			left = append(left, t)
		}
	}
	return left, gone
}

// changeTokens changes the tokens of an account by change, which returns those that end. It is
// called again if the record was changed meanwhile.
func (b *Book) changeTokens(ctx context.Context, name string,
	change func(*record) (gone []storedToken, err error)) ([]storedToken, error) {
	for try := 1; ; try++ {
		r, err := b.get(ctx, name)
		if err != nil {
			return nil, err
		}
		before := len(r.Tokens)
		gone, err := change(&r)
		if err != nil || len(gone) == 0 && len(r.Tokens) == before {
			return nil, err
		}
		if err = b.put(ctx, r); err == nil || try == changeTries || !errors.Is(err, ErrChanged) {
			return gone, err
		}
	}
}

// tokensEnded removes what leads to tokens that have ended in the store, and tells Ended.
func (b *Book) tokensEnded(ctx context.Context, name string, gone []storedToken) {
	if len(gone) == 0 {
		return
	}
	ctx = context.WithoutCancel(ctx)
	var ids []string
	for _, t := range gone {
		_ = b.dropLead(ctx, tokenKey(t.Hash)) // it opens nothing any more
		ids = append(ids, t.ID)
	}
	if b.Ended != nil {
		b.Ended(name, ids)
	}
}

// Prove checks the password of an account's owner again, for what a token alone may not do. An
// account without a password has none to know, but its token is no proof either.
func (b *Book) Prove(ctx context.Context, from netip.Addr, name string, password Secret,
	byToken bool) error {
	a, err := b.Find(ctx, name)
	switch {
	case err != nil:
		return err
	case a.HasPassword && password.text == "":
		return ErrWrong // none was guessed
	case a.HasPassword:
		_, err = b.Login(ctx, from, name, password)
		return err
	case byToken:
		return mistakef("account %s: has no password: log in by its certificate for that", a.Name)
	}
	return nil
}
