// Package push notifies the devices of accounts of what they miss, by Web Push: the push service of
// a browser, or one of UnifiedPush such as ntfy, gets a message that only the device can read (RFC
// 8030, RFC 8291), signed with the server's key (RFC 8292). Or by a topic of ntfy, as plain text.
//
// Package hall decides which account misses a message. Here it is decided which device is told
// when, in the goroutine of Service.Run. Nobody waits for it.
package push

import (
	"context"
	"crypto/ecdh"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	webpush "github.com/SherClockHolmes/webpush-go"

	"interleave/papaya/fence"
	"interleave/papaya/irc"
)

// A Subscription leads to one device of an account.
type Subscription struct {
	Account  string    `json:"account"` // folded
	Endpoint string    `json:"endpoint"`
	P256dh   string    `json:"p256dh"`          // the device's public key, in base64url
	Auth     string    `json:"auth"`            // its authentication secret, in base64url
	Ntfy     bool      `json:"ntfy,omitempty"`  // it is a topic of ntfy, and has no keys
	Token    string    `json:"token,omitempty"` // of the topic, if it needs one
	Made     time.Time `json:"made"`
	Renewed  time.Time `json:"renewed"` // when the device has last registered it
}

// Limits of subscriptions. A line of IRC has room for an endpoint of about 370 bytes. All are
// guesses.
const (
	maxEach  = 20      // of one account
	maxAll   = 100_000 // of all accounts
	lifetime = 180 * 24 * time.Hour
)

// A Mistake is an error of whoever asks. Its text may be shown.
type Mistake struct{ text string }

func (m Mistake) Error() string { return m.text }

// ErrMany reports that there are too many subscriptions.
var ErrMany = errors.New("there are too many subscriptions: remove some")

// idLen is how many digits of a subscription's hash are shown, as those of tokens.
const idLen = 12

// ID names a subscription to its account. It does not disclose the endpoint, which is a secret.
func (s Subscription) ID() string { return hashOf(s.Endpoint)[:idLen] }

func hashOf(endpoint string) string {
	sum := sha256.Sum256([]byte(endpoint))
	return hex.EncodeToString(sum[:])
}

// parse parses the parameters of WEBPUSH REGISTER: an endpoint, and its keys in the form of message
// tags.
func parse(account, endpoint, keys string, f fence.Fence) (Subscription, error) {
	if err := check(endpoint, f); err != nil {
		return Subscription{}, err
	}
	tags := irc.ParseTags(keys)
	public, auth := decoded(tags["p256dh"]), decoded(tags["auth"])
	if _, err := ecdh.P256().NewPublicKey(public); err != nil || len(auth) != authSize {
		return Subscription{}, Mistake{"expected the keys p256dh (a point of P-256) and auth " +
			"(16 bytes), in base64url"}
	}
	return Subscription{Account: irc.Lower(account), Endpoint: endpoint,
		P256dh: base64.RawURLEncoding.EncodeToString(public),
		Auth:   base64.RawURLEncoding.EncodeToString(auth)}, nil
}

// authSize is the size of an authentication secret in bytes (RFC 8291 section 3.2).
const authSize = 16

// decoded decodes base64url, which some clients pad. It is nil if it is something else.
func decoded(text string) []byte {
	data, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		return nil
	}
	return data
}

// target returns the subscription for the library.
func (s Subscription) target() *webpush.Subscription {
	return &webpush.Subscription{Endpoint: s.Endpoint,
		Keys: webpush.Keys{Auth: s.Auth, P256dh: s.P256dh}}
}

// Register subscribes a device of an account, or renews its subscription. A device belongs to the
// account that has registered it last. The error may be a Mistake, as ErrTaken, or ErrMany.
func (s *Service) Register(ctx context.Context, account, endpoint, keys string) error {
	one, err := parse(account, endpoint, keys, s.fence)
	if err != nil {
		return err
	}
	_, err = s.book.put(ctx, one, false)
	return err
}

// Unregister ends a subscription of an account. It is no error if there is none.
func (s *Service) Unregister(ctx context.Context, account, endpoint string) error {
	return s.book.removeOwn(ctx, account, func(one Subscription) bool {
		return one.Endpoint == endpoint
	})
}

// ErrUnknown reports an ID of no subscription of the account.
var ErrUnknown = Mistake{"there is no such device"}

// Remove ends a subscription of an account by its ID.
func (s *Service) Remove(ctx context.Context, account, id string) error {
	found := false
	err := s.book.removeOwn(ctx, account, func(one Subscription) bool {
		found = found || one.ID() == id
		return one.ID() == id
	})
	if err == nil && !found {
		return ErrUnknown
	}
	return err
}

// List returns the subscriptions of an account, the oldest first.
func (s *Service) List(account string) []Subscription { return s.book.list(account) }

// Rename gives the subscriptions of an account to its new name. A second call changes nothing.
func (s *Service) Rename(ctx context.Context, old, name string) error {
	return s.book.rename(ctx, old, name)
}

// Forget ends all subscriptions of an account.
func (s *Service) Forget(ctx context.Context, account string) error {
	if err := s.book.load(ctx); err != nil {
		return err
	}
	return s.book.removeOwn(ctx, account, func(Subscription) bool { return true })
}
