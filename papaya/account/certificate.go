package account

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"interleave/papaya/irc"
)

// maxCertificates is for one account: a phone, a laptop, a few bots.
const maxCertificates = 16

// AddCertificate lets the holder of a certificate's key log in to an account by SASL EXTERNAL. A
// certificate belongs to one account.
func (b *Book) AddCertificate(ctx context.Context, name, fingerprint string) error {
	fingerprint, err := ParseFingerprint(fingerprint)
	if err != nil {
		return err
	}
	r, err := b.get(ctx, name)
	if err != nil {
		return err
	}
	if slices.Contains(r.Certificates, fingerprint) {
		return nil
	}
	if len(r.Certificates) >= maxCertificates {
		return mistakef("account %s: has %d certificates, at most %d", r.Name,
			len(r.Certificates), maxCertificates)
	}
	// The key of the certificate is stored first. If a crash follows, the certificate opens
	// nothing, and the same call finishes the work.
	k := key("certificate", fingerprint)
	owner, revision, err := b.store.Get(ctx, k)
	if err != nil && !errors.Is(err, ErrAbsent) {
		return fmt.Errorf("certificate %s: %w", fingerprint, err)
	}
	if err == nil && irc.Lower(string(owner)) != irc.Lower(r.Name) {
		other, err := b.get(ctx, string(owner))
		if err != nil && !errors.Is(err, ErrNone) {
			return err
		}
		if slices.Contains(other.Certificates, fingerprint) {
			return mistakef("certificate %s: is another account's", fingerprint)
		}
	}
	if err := b.store.Put(ctx, k, []byte(r.Name), revision); err != nil {
		return fmt.Errorf("certificate %s: %w", fingerprint, err)
	}
	r.Certificates = append(r.Certificates, fingerprint)
	return b.put(ctx, r)
}

// RemoveCertificate removes a certificate from an account.
func (b *Book) RemoveCertificate(ctx context.Context, name, fingerprint string) error {
	fingerprint, err := ParseFingerprint(fingerprint)
	if err != nil {
		return err
	}
	r, err := b.get(ctx, name)
	if err != nil {
		return err
	}
	at := slices.Index(r.Certificates, fingerprint)
	if at < 0 {
		return mistakef("account %s: has no certificate %s", r.Name, fingerprint)
	}
	r.Certificates = slices.Delete(r.Certificates, at, at+1)
	if err := b.put(ctx, r); err != nil {
		return err
	}
	return b.dropLead(ctx, key("certificate", fingerprint))
}

// leads are the keys in the store that lead to an account by what it has: certificates and tokens.
func (r *record) leads() []string {
	var keys []string
	for _, f := range r.Certificates {
		keys = append(keys, key("certificate", f))
	}
	for _, t := range r.Tokens {
		keys = append(keys, tokenKey(t.Hash))
	}
	return keys
}

// dropLead removes a key that leads to nothing any more.
func (b *Book) dropLead(ctx context.Context, k string) error {
	_, revision, err := b.store.Get(ctx, k)
	if err == nil {
		err = b.store.Delete(ctx, k, revision)
	}
	if err != nil && !errors.Is(err, ErrAbsent) {
		return fmt.Errorf("%s: %w", k, err)
	}
	return nil
}
