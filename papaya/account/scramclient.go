package account

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"strings"
	"sync"
)

// A ScramClient is the client's side of logins by SCRAM-SHA-256 with one password. It keeps what
// PBKDF2 has made of the password, as RFC 5802 (5.1) allows, so only the first login is slow. Any
// goroutine may use it.
type ScramClient struct {
	Password Secret

	mu     sync.Mutex
	salt   string // the salt and the number of passes that key is for
	passes int
	key    []byte
}

// Answer returns the client's last message, which proves that it knows the password. first is its
// first message, and challenge the server's answer to that.
func (c *ScramClient) Answer(first, challenge string) (string, error) {
	header, bare, _ := strings.Cut(first, ",n=")
	bare, header = "n="+bare, header+","
	nonce, salt, passes, err := parseChallenge(challenge)
	if err != nil {
		return "", fmt.Errorf("the challenge %q: %w", challenge, err)
	}
	key, err := c.salted(salt, passes)
	if err != nil {
		return "", fmt.Errorf("the challenge %q: %w", challenge, err)
	}
	rest := "c=" + base.EncodeToString([]byte(header)) + ",r=" + nonce
	client := mac(key, "Client Key")
	stored := sha256.Sum256(client)
	proof := make([]byte, sha256.Size)
	subtle.XORBytes(proof, client, mac(stored[:], bare+","+challenge+","+rest))
	return rest + ",p=" + base.EncodeToString(proof), nil
}

// parseChallenge parses the first message of the server: r=NONCE,s=SALT,i=PASSES. The salt stays in
// base64.
func parseChallenge(challenge string) (nonce, salt string, passes int, err error) {
	if _, err := fmt.Sscanf(strings.ReplaceAll(challenge, ",", " "), "r=%s s=%s i=%d", &nonce,
		&salt, &passes); err != nil {
		return "", "", 0, err
	}
	if passes < 1 || passes > maxScramPasses {
		return "", "", 0, fmt.Errorf("%d passes are out of bounds", passes)
	}
	return nonce, salt, passes, nil
}

// salted returns the salted password. Logins at the same time compute it once.
func (c *ScramClient) salted(encoded string, passes int) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.key != nil && c.salt == encoded && c.passes == passes {
		return c.key, nil
	}
	salt, err := base.DecodeString(encoded)
	if err != nil {
		return nil, err
	}
	key, err := pbkdf2.Key(sha256.New, c.Password.text, salt, passes, sha256.Size)
	if err != nil {
		return nil, err
	}
	c.salt, c.passes, c.key = encoded, passes, key
	return key, nil
}
