// Package certificate is the server's side of TLS: a certificate of its own making, from an
// authority by ACME, or from files, which changes while the server runs.
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
	Folder  string   // where own certificates and those of the authority are kept
	Domains []string // one at least

	Certificate, Key string // files in PEM; both or none

	ACME      bool
	Email     string
	Directory string       // the authority; empty is Let's Encrypt
	Client    *acme.Client // for tests of ACME; nil: one for Directory
}

// A Source gives each handshake the certificate of the moment. Any goroutine may use it.
type Source struct {
	options Options
	now     func() time.Time
	manager *autocert.Manager // of ACME only
	current atomic.Pointer[tls.Certificate]
	look    chan struct{} // has Keep look at once
}

// Open reads or makes the certificate. With ACME it is got when the first client asks for a domain;
// until then, and for clients that name none, there is one of our own.
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
			Prompt:     autocert.AcceptTOS, // tls.acme says so
			Cache:      autocert.DirCache(filepath.Join(o.Folder, "acme")),
			HostPolicy: autocert.HostWhitelist(o.Domains...),
			Email:      o.Email,
			Client:     client,
		}
	}
	_, err := s.Reload()
	return s, err
}

// Reload reads the files again, and renews the own certificate if it is about to end; changed says
// whether another is given from now on. After an error the old one is.
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

// checkEvery is how often Keep looks: a certificate has 30 days left when it is renewed.
const checkEvery = 12 * time.Hour

// Keep renews in time, until ctx ends, and tells said what has come of it.
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

// Fingerprint is the SHA-256 of the certificate in DER, in hex, as clients pin it and openssl x509
// -fingerprint -sha256 prints it (with colons). With ACME it is that of the certificate of our own,
// which is not what clients of the domains see.
func (s *Source) Fingerprint() string { return Fingerprint(s.current.Load().Leaf) }

// Ends is when the certificate does.
func (s *Source) Ends() time.Time { return s.current.Load().Leaf.NotAfter }

// Own says whether clients must pin the fingerprint, because no authority vouches for it.
func (s *Source) Own() bool { return s.manager == nil && s.options.Certificate == "" }

// Fingerprint is what a certificate is known by, a client's too.
func Fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
}

// suites are those of TLS 1.2 that have forward secrecy and authenticated encryption (RFC 9325,
// 4.2); TLS 1.3 has no others.
var suites = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

// Config is for listeners. Clients are asked for a certificate and need none: SASL EXTERNAL knows
// it by its fingerprint, so no authority has to vouch for it; that the client holds its key is
// proved by the handshake.
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
		return c, err // the authority is told the truth
	}
	// who asks for another name, or while the authority is away, may still pin
	return s.ofOurs(), nil
}

// ofOurs is the certificate of the moment. One made by ourselves that is not valid now, because the
// clock was set, is made anew for who comes next.
func (s *Source) ofOurs() *tls.Certificate {
	c, now := s.current.Load(), s.now()
	if s.options.Certificate == "" && (now.After(c.Leaf.NotAfter) || now.Before(c.Leaf.NotBefore)) {
		select {
		case s.look <- struct{}{}:
		default: // Keep is to look already
		}
	}
	return c
}
