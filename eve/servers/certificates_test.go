package servers_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// An authority issues certificates, as files in a folder.
type authority struct {
	t    *testing.T
	dir  string
	own  *x509.Certificate
	key  *ecdsa.PrivateKey
	last int64 // serial number given out
}

// newAuthority makes one, whose own certificate is in ca.pem.
func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	a.key = a.newKey()
	form := &x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour)}
	a.own = a.sign(form, form, a.key)
	a.write("ca.pem", "CERTIFICATE", a.own.Raw)
	return a
}

func (a *authority) newKey() *ecdsa.PrivateKey {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	return key
}

func (a *authority) sign(form, issuer *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	a.t.Helper()
	a.last++
	form.SerialNumber = big.NewInt(a.last)
	der, err := x509.CreateCertificate(rand.Reader, form, issuer, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return made
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

func (a *authority) write(name, kind string, der []byte) {
	a.t.Helper()
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(a.file(name), text, 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// issue makes a certificate for hosts, valid from one time to another, counted from now. It is in
// NAME.pem, and its key in NAME.key.
func (a *authority) issue(name string, from, to time.Duration, hosts ...string) tls.Certificate {
	a.t.Helper()
	form := &x509.Certificate{Subject: pkix.Name{CommonName: name},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		NotBefore:   time.Now().Add(from), NotAfter: time.Now().Add(to)}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			form.IPAddresses = append(form.IPAddresses, ip)
		} else {
			form.DNSNames = append(form.DNSNames, h)
		}
	}
	key := a.newKey()
	made := a.sign(form, a.own, key)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	a.write(name+".pem", "CERTIFICATE", made.Raw)
	a.write(name+".key", "PRIVATE KEY", der)
	return tls.Certificate{Certificate: [][]byte{made.Raw}, PrivateKey: key, Leaf: made}
}

// good issues a certificate that is valid now.
func (a *authority) good(name string, hosts ...string) tls.Certificate {
	a.t.Helper()
	return a.issue(name, -time.Hour, time.Hour, hosts...)
}

func (a *authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.own)
	return p
}
