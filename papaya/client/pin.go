package client

import (
	"bufio"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Pins are the certificates of servers whose certificates the system does not trust: a file with
// lines "address fingerprint", like ssh's known_hosts. The user is asked about the first
// certificate. From then on the server must have the same.
type Pins struct {
	File string
	// Ask asks the user whether a certificate is right, if none is on record for the address. nil:
	// it is not.
	Ask func(addr, fingerprint string) bool

	mu sync.Mutex // guards the file
}

// A PinError means that a server's certificate is not the one on record.
type PinError struct {
	Addr, File, Got string
	Want            string // empty: none is on record, and the user has not accepted it
}

func (e *PinError) Error() string {
	if e.Want == "" {
		return fmt.Sprintf("the certificate of %s (%s) was not accepted", e.Addr, e.Got)
	}
	return fmt.Sprintf("the certificate of %s is not the one on record: somebody may be "+
		"listening in. On record is %s, shown was %s. "+
		"If the server has a new certificate, remove the line of %s from %s", e.Addr, e.Want, e.Got,
		e.Addr, e.File)
}

// Fingerprint returns the SHA-256 of a certificate in hex, as people compare it.
func Fingerprint(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.Raw)
	return hex.EncodeToString(sum[:])
}

// config checks the certificate itself. A pin comes first. Without a pin, the system may trust the
// certificate.
func (p *Pins) config(addr, host string) *tls.Config {
	return &tls.Config{
		ServerName:         host,
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // VerifyConnection verifies
		VerifyConnection:   func(cs tls.ConnectionState) error { return p.verify(addr, host, cs) },
	}
}

// https checks the certificate of a page of the server at addr: the one on record for the server is
// right, and so is one that the system trusts for the page's host.
func (p *Pins) https(addr, host string) *tls.Config {
	return &tls.Config{
		ServerName:         host,
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // VerifyConnection verifies
		VerifyConnection: func(cs tls.ConnectionState) error {
			p.mu.Lock()
			want, err := p.find(addr)
			p.mu.Unlock()
			got := Fingerprint(cs.PeerCertificates[0])
			if err != nil || want == got || trusted(cs, host) {
				return err
			}
			return &PinError{Addr: host, File: p.File, Got: got, Want: want}
		},
	}
}

// trusted says whether the system trusts a certificate for a host.
func trusted(cs tls.ConnectionState, host string) bool {
	chain := x509.VerifyOptions{DNSName: host, Intermediates: x509.NewCertPool()}
	for _, c := range cs.PeerCertificates[1:] {
		chain.Intermediates.AddCert(c)
	}
	_, err := cs.PeerCertificates[0].Verify(chain)
	return err == nil
}

func (p *Pins) verify(addr, host string, cs tls.ConnectionState) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	got := Fingerprint(cs.PeerCertificates[0])
	want, err := p.find(addr)
	switch {
	case err != nil:
		return err
	case want == got:
		return nil
	case want != "":
		return &PinError{Addr: addr, File: p.File, Got: got, Want: want}
	}
	if trusted(cs, host) {
		return nil
	}
	if p.Ask == nil || !p.Ask(addr, got) {
		return &PinError{Addr: addr, File: p.File, Got: got}
	}
	return p.record(addr, got)
}

func (p *Pins) find(addr string) (string, error) {
	f, err := os.Open(p.File)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the certificates on record: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if words := strings.Fields(lines.Text()); len(words) == 2 && words[0] == addr {
			return words[1], nil
		}
	}
	if err := lines.Err(); err != nil {
		return "", fmt.Errorf("reading the certificates on record: %w", err)
	}
	return "", nil
}

func (p *Pins) record(addr, fingerprint string) error {
	if err := os.MkdirAll(filepath.Dir(p.File), 0o700); err != nil {
		return fmt.Errorf("recording the certificate: %w", err)
	}
	f, err := os.OpenFile(p.File, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("recording the certificate: %w", err)
	}
	_, err = fmt.Fprintf(f, "%s %s\n", addr, fingerprint)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("recording the certificate in %s: %w", p.File, err)
	}
	return nil
}
