package account

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"golang.org/x/crypto/argon2"
)

// A Secret is a password or a token. It is printed and logged as "(secret)", so that it is not
// revealed by accident.
type Secret struct{ text string }

// NewSecret makes a Secret.
func NewSecret(text string) Secret { return Secret{text} }

// Reveal returns the text, to hash it or to hand it out.
func (s Secret) Reveal() string { return s.text }

// String hides the text. The methods below hide it from fmt (also with %#v), slog and JSON.
func (s Secret) String() string { return "(secret)" }

// Format implements fmt.Formatter. After a failed write nothing is shown.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("(secret)")) }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue("(secret)") }

// MarshalText implements encoding.TextMarshaler, for JSON.
func (s Secret) MarshalText() ([]byte, error) { return []byte("(secret)"), nil }

// Cost is the cost of one hash. OWASP's Password Storage Cheat Sheet asks for at least 19 MiB, 2
// passes and 1 lane of argon2id. RFC 9106 recommends 64 MiB and 3 passes if memory is no limit, but
// Papaya should run on one core and 1 GB.
type Cost struct {
	MemoryKiB uint32
	Passes    uint32
	Lanes     uint8
}

// Standard is the cost of new passwords. A login renews a hash of another cost.
var Standard = Cost{MemoryKiB: 19 * 1024, Passes: 2, Lanes: 1}

// Sizes in bytes (RFC 9106, 3.1 and 4: 16 for salts, 32 for tags).
const (
	saltLen = 16
	tagLen  = 32
)

// Limits of a stored hash: one that somebody has changed must not take all memory.
const (
	maxMemoryKiB = 256 * 1024
	maxPasses    = 16
	maxLanes     = 16
)

// Limits of passwords in bytes. MinPassword is the default of the least length, and our choice: SP
// 800-63B of NIST asks for 15 if the password is the only factor, and for 8 with a second one.
// MaxPassword keeps SASL PLAIN within one piece of 400 bytes of base64.
const (
	MinPassword = 12
	MaxPassword = 256
)

// hash is a stored password in the PHC string format: $argon2id$v=19$m=19456,t=2,p=1$salt$tag.
type hash struct {
	cost Cost
	salt []byte
	tag  []byte
}

var phc = base64.RawStdEncoding.Strict()

func (h hash) String() string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.cost.MemoryKiB,
		h.cost.Passes, h.cost.Lanes,
		phc.EncodeToString(h.salt), phc.EncodeToString(h.tag))
}

// parseHash accepts only what String returns.
func parseHash(s string) (hash, error) {
	var h hash
	var version int
	part := strings.Split(s, "$")
	if len(part) != 6 || part[0] != "" || part[1] != "argon2id" {
		return h, errors.New("a hash of a password is $argon2id$v=…$m=…,t=…,p=…$salt$tag")
	}
	if _, err := fmt.Sscanf(part[2]+"$"+part[3], "v=%d$m=%d,t=%d,p=%d", &version, &h.cost.MemoryKiB,
		&h.cost.Passes, &h.cost.Lanes); err != nil {
		return h, fmt.Errorf("the parameters of a hash: %w", err)
	}
	var err error
	if h.salt, err = phc.DecodeString(part[4]); err != nil {
		return h, fmt.Errorf("the salt of a hash: %w", err)
	}
	if h.tag, err = phc.DecodeString(part[5]); err != nil {
		return h, fmt.Errorf("the tag of a hash: %w", err)
	}
	c := h.cost
	switch {
	case version != argon2.Version:
		return h, fmt.Errorf("a hash of argon2 version %d, expected %d", version, argon2.Version)
	case c.MemoryKiB < 8*uint32(c.Lanes) || c.MemoryKiB > maxMemoryKiB || c.Passes < 1 ||
		c.Passes > maxPasses || c.Lanes < 1 || c.Lanes > maxLanes:
		return h, fmt.Errorf("a hash that costs m=%d,t=%d,p=%d is out of bounds", c.MemoryKiB,
			c.Passes, c.Lanes)
	case len(h.salt) < 8 || len(h.salt) > 64 || len(h.tag) < 16 || len(h.tag) > 64:
		return h, errors.New("the salt or the tag of a hash has a wrong length")
	case h.String() != s:
		return h, errors.New("a malformed password hash")
	}
	return h, nil
}

// A hasher bounds how many hashes are computed at once, and how many logins wait. With 2 at once, a
// flood of logins takes 38 MiB.
type hasher struct {
	cost    Cost
	running chan struct{} // holds those that compute
	waiting chan struct{} // holds those that compute or wait
}

// maxWaiting is how many logins may wait. With 25 ms for a hash and 2 at once, the last would wait
// for 13 s. WeeChat gives up a login after 15 s.
const maxWaiting = 1024

// ErrBusy reports that too many logins are waiting, or that one has waited for as long as it may.
var ErrBusy = errors.New("too many logins are under way, try again later")

func newHasher(cost Cost, atOnce int) *hasher {
	return &hasher{cost, make(chan struct{}, atOnce), make(chan struct{}, maxWaiting)}
}

// enter waits for its turn to hash.
func (h *hasher) enter(ctx context.Context) (leave func(), err error) {
	select {
	case h.waiting <- struct{}{}:
	default:
		return nil, ErrBusy
	}
	select {
	case h.running <- struct{}{}:
		return func() { <-h.running; <-h.waiting }, nil
	case <-ctx.Done():
		<-h.waiting
		return nil, ErrBusy
	}
}

// make hashes a new password.
func (h *hasher) make(ctx context.Context, password Secret) (hash, error) {
	leave, err := h.enter(ctx)
	if err != nil {
		return hash{}, err
	}
	defer leave()
	salt := make([]byte, saltLen)
	_, _ = rand.Read(salt) // crypto/rand never returns an error
	return hash{h.cost, salt, derive(password, salt, h.cost, tagLen)}, nil
}

// verify compares in constant time.
func (h *hasher) verify(ctx context.Context, password Secret, kept hash) (bool, error) {
	leave, err := h.enter(ctx)
	if err != nil {
		return false, err
	}
	defer leave()
	return subtle.ConstantTimeCompare(derive(password, kept.salt, kept.cost, len(kept.tag)),
		kept.tag) == 1, nil
}

func derive(password Secret, salt []byte, c Cost, length int) []byte {
	return argon2.IDKey([]byte(password.text), salt, c.Passes, c.MemoryKiB, c.Lanes, uint32(length))
}

// checkPassword returns what is wrong with a new password. The error does not contain the password.
func (b *Book) checkPassword(password Secret) error {
	switch n := len(password.text); {
	case n < b.MinPassword:
		return mistakef("a password has at least %d bytes, this one has %d", b.MinPassword, n)
	case n > MaxPassword:
		return mistakef("a password has at most %d bytes, this one has %d", MaxPassword, n)
	case strings.ContainsRune(password.text, 0):
		return mistakef("a password must not contain NUL: SASL PLAIN cannot send it")
	}
	return nil
}
