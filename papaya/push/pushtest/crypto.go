package pushtest

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"
)

// Sizes in bytes: of an authentication secret (RFC 8291 section 3.2), of a salt and of the parts of
// the header before the key (RFC 8188 section 2.1), of a point of P-256 and of half a signature.
const (
	authSize   = 16
	saltSize   = 16
	headerSize = saltSize + 4 + 1
	halfSize   = 32
)

// Decrypt decrypts a push of one record (RFC 8291 section 3.4, RFC 8188 section 2).
func Decrypt(private *ecdh.PrivateKey, auth, body []byte) ([]byte, error) {
	if len(body) < headerSize || len(body) < headerSize+int(body[headerSize-1]) {
		return nil, fmt.Errorf("a body of %d bytes has no header", len(body))
	}
	salt, size := body[:saltSize], binary.BigEndian.Uint32(body[saltSize:])
	sender := body[headerSize:][:body[headerSize-1]]
	record := body[headerSize+len(sender):]
	if uint64(len(record)) > uint64(size) {
		return nil, fmt.Errorf("%d bytes are more than a record of %d", len(record), size)
	}
	public, err := ecdh.P256().NewPublicKey(sender)
	if err != nil {
		return nil, fmt.Errorf("the sender's key: %w", err)
	}
	shared, err := private.ECDH(public)
	if err != nil {
		return nil, err
	}
	info := "WebPush: info\x00" + string(private.PublicKey().Bytes()) + string(sender)
	secret, err := hkdf.Key(sha256.New, shared, auth, info, sha256.Size)
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, secret, salt, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, err
	}
	nonce, err := hkdf.Key(sha256.New, secret, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	padded, err := gcm.Open(nil, nonce, record, nil)
	if err != nil {
		return nil, err
	}
	text := strings.TrimRight(string(padded), "\x00")
	if !strings.HasSuffix(text, "\x02") { // the delimiter of the last record
		return nil, errors.New("the padding is wrong")
	}
	return []byte(strings.TrimSuffix(text, "\x02")), nil
}

// Verify checks the header Authorization of a request to an audience at a time, and returns who has
// signed it: the public key and the contact (RFC 8292).
func Verify(header, audience string, now time.Time) (sender, subject string, err error) {
	words, vapid := strings.CutPrefix(header, "vapid ")
	fields := map[string]string{}
	for word := range strings.SplitSeq(words, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(word), "=")
		fields[name] = value
	}
	parts := strings.Split(fields["t"], ".")
	if !vapid || len(parts) != 3 {
		return "", "", fmt.Errorf("not a header of VAPID: %q", header)
	}
	decode := base64.RawURLEncoding.Strict().DecodeString
	point, err := decode(fields["k"])
	if err != nil {
		return "", "", fmt.Errorf("k: %w", err)
	}
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		return "", "", fmt.Errorf("k: %w", err)
	}
	signature, err := decode(parts[2])
	if err == nil && len(signature) != 2*halfSize {
		err = fmt.Errorf("%d bytes", len(signature))
	}
	if err != nil {
		return "", "", fmt.Errorf("the signature: %w", err)
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	r, s := new(big.Int).SetBytes(signature[:halfSize]), new(big.Int).SetBytes(signature[halfSize:])
	if !ecdsa.Verify(key, sum[:], r, s) {
		return "", "", errors.New("the signature is wrong")
	}
	var head struct{ Typ, Alg string }
	var claims struct {
		Aud, Sub string
		Exp      int64
	}
	for i, to := range []any{&head, &claims} {
		data, err := decode(parts[i])
		if err == nil {
			err = json.Unmarshal(data, to)
		}
		if err != nil {
			return "", "", fmt.Errorf("the token: %w", err)
		}
	}
	// RFC 8292 section 2: it must not end more than 24 hours after the request.
	left := time.Unix(claims.Exp, 0).Sub(now)
	if head.Alg != "ES256" || claims.Aud != audience || left <= 0 || left > 24*time.Hour {
		return "", "", fmt.Errorf("the token has alg %s, aud %s and %v left", head.Alg, claims.Aud,
			left)
	}
	return fields["k"], claims.Sub, nil
}
