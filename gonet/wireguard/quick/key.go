package quick

import (
	"crypto/ecdh"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// keyLen is the length of every key in bytes.
const keyLen = 32

// Secret is a private key or a preshared key. Package fmt does not print it, with no verb.
type Secret [keyLen]byte

// Format implements fmt.Formatter.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "(secret)") }

// Public returns the public key of a private key.
func (s Secret) Public() PublicKey {
	private, err := ecdh.X25519().NewPrivateKey(s[:])
	if err != nil {
		return PublicKey{} // it takes all of this length
	}
	return PublicKey(private.PublicKey().Bytes())
}

// PublicKey is a peer's key.
type PublicKey [keyLen]byte

// String returns the key in base64, as wg shows it.
func (k PublicKey) String() string { return base64.StdEncoding.EncodeToString(k[:]) }

// hexadecimal is the form of the configuration protocol.
func hexadecimal(k [keyLen]byte) string { return hex.EncodeToString(k[:]) }

// parseKey parses a key in base64. Its errors do not contain the text: it may be a secret, even if
// it is in the place of a public key.
func parseKey(text string) (k [keyLen]byte, err error) {
	const length = (keyLen + 2) / 3 * 4
	b, err := base64.StdEncoding.Strict().DecodeString(text)
	switch {
	case err == nil && len(b) == keyLen:
	case len(text) != length:
		return k, fmt.Errorf("a key has %d characters of base64, this has %d", length, len(text))
	default:
		return k, errors.New("a key has 44 characters of base64, the last of which is \"=\"")
	}
	k = [keyLen]byte(b)
	if k == [keyLen]byte{} {
		return k, errors.New("a key of zeros only")
	}
	return k, nil
}
