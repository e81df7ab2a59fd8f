package account

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"interleave/papaya/irc"
)

// A login by SCRAM-SHA-256 (RFC 5802, RFC 7677) proves that the client knows the password, and does
// not send it. It needs keys that were made of the password, beside the hash of argon2id. Whoever
// steals them guesses passwords at the cost of PBKDF2, so they are stored only if the server offers
// SCRAM, and removed at the next login otherwise.

// scramPasses is the number of iterations: that of OWASP's Password Storage Cheat Sheet for
// PBKDF2-HMAC-SHA256.
const scramPasses = 600_000

// maxScramPasses bounds those of stored keys: somebody may have changed them.
const maxScramPasses = 10_000_000

// scramName is the name of the mechanism, which begins stored keys.
const scramName = "SCRAM-SHA-256"

// scramKeys are stored as SCRAM-SHA-256$passes:salt$stored:server (RFC 5803), in base64.
type scramKeys struct {
	passes               int
	salt, stored, server []byte
}

var base = base64.StdEncoding.Strict()

func (k scramKeys) String() string {
	return fmt.Sprintf("%s$%d:%s$%s:%s", scramName, k.passes, base.EncodeToString(k.salt),
		base.EncodeToString(k.stored), base.EncodeToString(k.server))
}

// parseScramKeys accepts only what String returns.
func parseScramKeys(s string) (k scramKeys, err error) {
	part := strings.FieldsFunc(s, func(r rune) bool { return r == '$' || r == ':' })
	if len(part) != 5 || part[0] != scramName {
		return k, errors.New("keys for SCRAM are SCRAM-SHA-256$passes:salt$stored:server")
	}
	var failed [4]error
	k.passes, failed[0] = strconv.Atoi(part[1])
	k.salt, failed[1] = base.DecodeString(part[2])
	k.stored, failed[2] = base.DecodeString(part[3])
	k.server, failed[3] = base.DecodeString(part[4])
	switch err := errors.Join(failed[:]...); {
	case err != nil:
		return k, fmt.Errorf("keys for SCRAM: %w", err)
	case k.passes < 1 || k.passes > maxScramPasses || len(k.salt) < 8 || len(k.salt) > 64 ||
		len(k.stored) != sha256.Size || len(k.server) != sha256.Size || k.String() != s:
		return k, errors.New("malformed keys for SCRAM")
	}
	return k, nil
}

func mac(key []byte, text string) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(text))
	return m.Sum(nil)
}

// newScramKeys derives keys from a password in ASCII. Clients change others before they use them
// (SASLprep), which PLAIN does not.
func newScramKeys(password Secret, salt []byte, passes int) (scramKeys, error) {
	salted, err := pbkdf2.Key(sha256.New, password.text, salt, passes, sha256.Size)
	if err != nil {
		return scramKeys{}, fmt.Errorf("keys for SCRAM: %w", err)
	}
	stored := sha256.Sum256(mac(salted, "Client Key"))
	return scramKeys{passes, salt, stored[:], mac(salted, "Server Key")}, nil
}

// wantsScram says whether keys for a password are stored.
func (b *Book) wantsScram(password Secret) bool {
	return b.Scram && strings.IndexFunc(password.text,
		func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// scramKeys makes keys for a new password; the text is empty if there are to be none.
func (b *Book) scramKeys(ctx context.Context, password Secret) (string, error) {
	if !b.wantsScram(password) {
		return "", nil
	}
	leave, err := b.hashes.enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	salt := make([]byte, saltLen)
	_, _ = rand.Read(salt) // crypto/rand never returns an error
	k, err := newScramKeys(password, salt, b.scramPasses)
	return k.String(), err
}

// A Scram is a login that has begun. Finish must be called, also if the client does not go on: then
// with an empty message. Only the first call counts.
type Scram struct {
	account Account
	keys    scramKeys
	known   bool // there is such an account, and it has keys
	header  string
	nonce   string
	said    string // the two first messages, as the proof is about them
	done    func(error)
}

// BeginScram takes the first message of a client, and returns that of the server. A name that does
// not exist, or has no keys, gets an answer like any other, always with the same salt.
func (b *Book) BeginScram(ctx context.Context, from netip.Addr, message string) (*Scram, string,
	error) {
	first, err := parseScramFirst(message)
	if err != nil || !b.Scram {
		return nil, "", ErrWrong
	}
	done, err := b.try(ctx, from, first.name)
	if err != nil {
		return nil, "", err
	}
	s := &Scram{header: first.header, done: done}
	r, err := b.get(ctx, first.name)
	switch {
	case err == nil && r.Scram != "":
		s.account, s.known = r.Account, true
		s.keys, err = parseScramKeys(r.Scram)
	case err == nil || errors.Is(err, ErrNone):
		s.keys, err = b.falseKeys(ctx, first.name)
	}
	if err != nil {
		done(err)
		return nil, "", fmt.Errorf("account %.40s: %w", first.name, err)
	}
	s.nonce = first.nonce + rand.Text()
	answer := fmt.Sprintf("r=%s,s=%s,i=%d", s.nonce, base.EncodeToString(s.keys.salt),
		s.keys.passes)
	s.said = first.bare + "," + answer + ","
	return s, answer, nil
}

// falseKeys are those of a name without keys. Their salt is made from a secret of the book, so that
// it is the same each time, as that of an account is.
func (b *Book) falseKeys(ctx context.Context, name string) (scramKeys, error) {
	const where = "scram.secret"
	secret, _, err := b.store.Get(ctx, where)
	if errors.Is(err, ErrAbsent) {
		secret = []byte(rand.Text())
		if err = b.store.Put(ctx, where, secret, 0); errors.Is(err, ErrChanged) {
			secret, _, err = b.store.Get(ctx, where) // another server was first
		}
	}
	if err != nil {
		return scramKeys{}, err
	}
	none := make([]byte, sha256.Size)
	return scramKeys{b.scramPasses, mac(secret, irc.Lower(name))[:saltLen], none, none}, nil
}

// Finish takes the last message of the client, and returns the account, and the proof of the server
// for the client.
func (s *Scram) Finish(message string) (Account, string, error) {
	a, proof, err := s.finish(message)
	s.done(err)
	return a, proof, err
}

func (s *Scram) finish(message string) (Account, string, error) {
	i := strings.LastIndex(message, ",p=")
	if i < 0 {
		return Account{}, "", ErrWrong
	}
	rest := message[:i]
	proof, err := base.DecodeString(message[i+len(",p="):])
	want := "c=" + base.EncodeToString([]byte(s.header)) + ",r=" + s.nonce
	if err != nil || len(proof) != sha256.Size || rest != want {
		return Account{}, "", ErrWrong
	}
	subtle.XORBytes(proof, proof, mac(s.keys.stored, s.said+rest))
	stored := sha256.Sum256(proof)
	if subtle.ConstantTimeCompare(stored[:], s.keys.stored) != 1 || !s.known {
		return Account{}, "", ErrWrong
	}
	return s.account, "v=" + base.EncodeToString(mac(s.keys.server, s.said+rest)), nil
}

// scramFirst is the first message of a client.
type scramFirst struct{ header, bare, name, nonce string }

// parseScramFirst parses GS2-HEADER n=NAME,r=NONCE (RFC 5802, 7). Channels are not bound, nobody
// acts for another, and extensions are refused.
func parseScramFirst(message string) (f scramFirst, err error) {
	part := strings.SplitN(message, ",", 5)
	if len(part) != 4 || part[0] != "n" && part[0] != "y" {
		return f, ErrWrong
	}
	name, named := strings.CutPrefix(part[2], "n=")
	nonce, once := strings.CutPrefix(part[3], "r=")
	f = scramFirst{part[0] + "," + part[1] + ",", part[2] + "," + part[3], "", nonce}
	other, acts := strings.CutPrefix(part[1], "a=")
	if !named || !once || !isNonce(nonce) || part[1] != "" && !acts {
		return f, ErrWrong
	}
	if f.name, err = scramText(name); err == nil && acts {
		if other, err = scramText(other); irc.Lower(other) != irc.Lower(f.name) {
			err = ErrWrong
		}
	}
	return f, err
}

// maxNonce is in bytes. A guess: clients send 18 to 40.
const maxNonce = 200

// isNonce says whether a text is one of printable ASCII without commas.
func isNonce(s string) bool {
	return s != "" && len(s) <= maxNonce &&
		strings.IndexFunc(s, func(r rune) bool { return r < '!' || r > '~' || r == ',' }) < 0
}

// scramText decodes a name, in which =2C is a comma and =3D an equals sign.
func scramText(s string) (string, error) {
	var b strings.Builder
	for s != "" {
		text, rest, found := strings.Cut(s, "=")
		b.WriteString(text)
		if !found {
			break
		}
		switch {
		case strings.HasPrefix(rest, "2C"):
			b.WriteByte(',')
		case strings.HasPrefix(rest, "3D"):
			b.WriteByte('=')
		default:
			return "", ErrWrong
		}
		s = rest[2:]
	}
	if b.Len() == 0 {
		return "", ErrWrong
	}
	return b.String(), nil
}
