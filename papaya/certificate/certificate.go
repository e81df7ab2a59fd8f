// Package certificate is the server's side of TLS. The certificate is self-signed, from an
// authority by ACME, or from files. It may change while the server runs.
package certificate

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// Options say where the certificate comes from.
type Options struct {
	Folder  string   // for self-signed certificates and those of the authority
	Domains []string // at least one

	Certificate, Key string // files in PEM; both or neither

	ACME      bool
	Email     string
	Directory string       // URL of the authority; empty: Let's Encrypt
	Client    *acme.Client // for tests of ACME; nil: a client for Directory
}

// A Source has the certificate for each handshake. Any goroutine may use it.
type Source struct {
	options Options
	now     func() time.Time
	manager *autocert.Manager // only with ACME
	current atomic.Pointer[tls.Certificate]
	look    chan struct{} // makes Keep check at once
}

// Open reads or makes the certificate. With ACME it is requested when the first client asks for a
// domain. Until then, and for clients that name no domain, a self-signed one is used.
func Open(o Options) (*Source, error) { return open(o, time.Now) }

func open(o Options, now func() time.Time) (*Source, error) {
	if len(o.Domains) == 0 {
		return nil, errors.New("certificate: no domain is named")
	}
	s := &Source{options: o, now: now, look: make(chan struct{}, 1)}
	if o.ACME {
		client := o.Client
		if client == nil {
			client = &acme.Client{DirectoryURL: o.Directory}
			if o.Directory == "" {
				client.DirectoryURL = acme.LetsEncryptURL
			}
		}
		s.manager = &autocert.Manager{
			Prompt:     autocert.AcceptTOS, // tls.acme in the settings implies it
			Cache:      autocert.DirCache(filepath.Join(o.Folder, "acme")),
			HostPolicy: autocert.HostWhitelist(o.Domains...),
			Email:      o.Email,
			Client:     client,
		}
	}
	_, err := s.Reload()
	return s, err
}

// Reload reads the files again, and renews a self-signed certificate that is about to expire.
// changed says whether another certificate is used from now on. After an error the old one is still
// used.
func (s *Source) Reload() (changed bool, err error) {
	fresh, err := s.read()
	if err != nil {
		return false, fmt.Errorf("certificate: %w", err)
	}
	old := s.current.Swap(fresh)
	return old == nil || !old.Leaf.Equal(fresh.Leaf), nil
}

func (s *Source) read() (*tls.Certificate, error) {
	o := s.options
	if o.Certificate == "" {
		return own(filepath.Join(o.Folder, "own"), o.Domains, s.now())
	}
	c, err := tls.LoadX509KeyPair(o.Certificate, o.Key)
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %w", o.Certificate, o.Key, err)
	}
	if c.Leaf, err = x509.ParseCertificate(c.Certificate[0]); err != nil {
		return nil, fmt.Errorf("%s: %w", o.Certificate, err)
	}
	if s.now().After(c.Leaf.NotAfter) {
		return nil, fmt.Errorf("%s: ended at %s", o.Certificate,
			c.Leaf.NotAfter.Format(time.RFC3339))
	}
	return &c, nil
}

// checkEvery is how often Keep checks. A certificate is renewed when it has 30 days left.
const checkEvery = 12 * time.Hour

// Keep renews the certificate in time until ctx ends, and reports each result to said.
func (s *Source) Keep(ctx context.Context, said func(changed bool, err error)) {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-s.look:
		}
		if changed, err := s.Reload(); changed || err != nil {
			said(changed, err)
		}
	}
}

// Fingerprint returns the SHA-256 of the certificate in DER form, in hex. Clients pin it, and
// openssl x509 -fingerprint -sha256 prints it (with colons). With ACME it is the fingerprint of the
// self-signed certificate, which clients of the domains do not see.
func (s *Source) Fingerprint() string { return Fingerprint(s.current.Load().Leaf) }

// Ends returns when the certificate expires.
func (s *Source) Ends() time.Time { return s.current.Load().Leaf.NotAfter }

// Own says whether the certificate is self-signed, so that clients must pin its fingerprint.
func (s *Source) Own() bool { return s.manager == nil && s.options.Certificate == "" }

// Fingerprint returns the SHA-256 of a server's or client's certificate in DER form, in hex.
func Fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
}

// suites are the cipher suites of TLS 1.2 with forward secrecy and authenticated encryption (RFC
// 9325, 4.2). TLS 1.3 has no others.
var suites = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

// Config returns the configuration of a listener. It requests a client certificate but does not
// require one. SASL EXTERNAL knows the certificate by its fingerprint, so no authority needs to
// sign it. The handshake proves that the client holds the key.
func (s *Source) Config() *tls.Config {
	c := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		CipherSuites:   suites,
		ClientAuth:     tls.RequestClientCert,
		GetCertificate: s.certificate,
	}
	if s.manager != nil {
		c.NextProtos = append(c.NextProtos, acme.ALPNProto)
	}
	return c
}

func (s *Source) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if s.manager == nil || hello.ServerName == "" {
		return s.ofOurs(), nil
	}
	c, err := s.manager.GetCertificate(hello)
	if err == nil || len(hello.SupportedProtos) == 1 && hello.SupportedProtos[0] == acme.ALPNProto {
		return c, err // the authority must get the real answer
	}
	// A client that asks for another name, or while the authority cannot be reached, may pin the
	// self-signed certificate.
	return s.ofOurs(), nil
}

// ofOurs returns the current certificate. If it is self-signed and not valid at present, because
// the clock was set, the next client gets a new one.
func (s *Source) ofOurs() *tls.Certificate {
	c, now := s.current.Load(), s.now()
	if s.options.Certificate == "" && (now.After(c.Leaf.NotAfter) || now.Before(c.Leaf.NotBefore)) {
		select {
		case s.look <- struct{}{}:
		default: // Keep is going to check already
		}
	}
	return c
}
