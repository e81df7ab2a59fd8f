package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"interleave/papaya/log"
)

// A self-signed certificate is valid for 825 days, the most that Apple's systems accept, and is
// renewed 30 days before its end. The key stays, so a client that pins the key is not affected. The
// fingerprint of the certificate changes, and is logged.
const (
	life  = 825 * 24 * time.Hour
	renew = 30 * 24 * time.Hour
)

// own reads the certificate and key in folder. It makes what is missing, and replaces a certificate
// that is about to expire, is not valid yet (the clock was ahead when it was made) or lacks a
// domain.
func own(folder string, domains []string, now time.Time) (*tls.Certificate, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	key, err := ownKey(filepath.Join(folder, "key.pem"))
	if err != nil {
		return nil, err
	}
	file := filepath.Join(folder, "certificate.pem")
	der, err := readPEM(file, "CERTIFICATE")
	if errors.Is(err, os.ErrNotExist) {
		return makeOwn(file, key, domains, now)
	}
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	public, ok := leaf.PublicKey.(*ecdsa.PublicKey)
	names := func(d string) bool { return leaf.VerifyHostname(d) != nil }
	if !ok || !public.Equal(key.Public()) || now.After(leaf.NotAfter.Add(-renew)) ||
		now.Before(leaf.NotBefore) || slices.ContainsFunc(domains, names) {
		return makeOwn(file, key, domains, now)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}

func ownKey(file string) (*ecdsa.PrivateKey, error) {
	der, err := readPEM(file, "PRIVATE KEY")
	if errors.Is(err, os.ErrNotExist) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		if der, err = x509.MarshalPKCS8PrivateKey(key); err != nil {
			return nil, err
		}
		return key, writePEM(file, "PRIVATE KEY", der)
	}
	if err != nil {
		return nil, err
	}
	any, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	key, ok := any.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s: expected a key of ECDSA, got %T", file, any)
	}
	return key, nil
}

func makeOwn(file string, key *ecdsa.PrivateKey, domains []string,
	now time.Time) (*tls.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: domains[0]},
		NotBefore:             now.Add(-time.Hour), // clients' clocks differ
		NotAfter:              now.Add(life),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	for _, d := range domains {
		if ip := net.ParseIP(d); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, d)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("making a certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("making a certificate: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf},
		writePEM(file, "CERTIFICATE", der)
}

func readPEM(file, kind string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil || block.Type != kind {
		return nil, fmt.Errorf("%s: expected a %s in PEM", file, kind)
	}
	return block.Bytes, nil
}

// writePEM writes a file atomically, also if a crash comes.
func writePEM(file, kind string, der []byte) error {
	return log.Replace(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}
