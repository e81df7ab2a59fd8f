package certificate

import (
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var start = time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)

func at(t time.Time) func() time.Time { return func() time.Time { return t } }

// patience bounds every wait; nothing is expected to be fast.
const patience = 5 * time.Minute

// shake does a handshake, and returns the client's state.
func shake(t *testing.T, server, client *tls.Config) (tls.ConnectionState, error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ended := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			ended <- err
			return
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(patience))
		ended <- tls.Server(c, server).Handshake()
	}()
	raw, err := net.DialTimeout("tcp", l.Addr().String(), patience)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	_ = raw.SetDeadline(time.Now().Add(patience))
	c := tls.Client(raw, client)
	err = c.Handshake()
	raw.Close()
	return c.ConnectionState(), errors.Join(err, <-ended)
}

func TestOwnCertificate(t *testing.T) {
	folder := t.TempDir()
	o := Options{Folder: folder, Domains: []string{"irc.example.org", "192.0.2.1"}}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(s.current.Load().Leaf)
	for _, name := range []string{"irc.example.org", "192.0.2.1"} {
		state, err := shake(t, s.Config(), &tls.Config{ServerName: name, RootCAs: roots})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		leaf := state.PeerCertificates[0]
		if got := Fingerprint(leaf); got != s.Fingerprint() || len(got) != 64 {
			t.Errorf("a client sees the fingerprint %s, we say %s", got, s.Fingerprint())
		}
		if key, ok := leaf.PublicKey.(*ecdsa.PublicKey); !ok || key.Curve.Params().Name != "P-256" {
			t.Errorf("the key is a %T", leaf.PublicKey)
		}
	}
	if _, err := shake(t, s.Config(), &tls.Config{ServerName: "other.example.org",
		RootCAs: roots}); err == nil {
		t.Error("a client took it for another name")
	}
	for _, file := range []string{"key.pem", "certificate.pem"} {
		info, err := os.Stat(filepath.Join(folder, "own", file))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
	again, err := Open(o)
	if err != nil || again.Fingerprint() != s.Fingerprint() {
		t.Errorf("after a restart it is another: %v", err)
	}
	if !s.Own() {
		t.Error("it does not say that it must be pinned")
	}
}

func TestOwnCertificateIsRenewed(t *testing.T) {
	o := Options{Folder: t.TempDir(), Domains: []string{"a.example.org"}}
	first, err := open(o, at(start))
	if err != nil {
		t.Fatal(err)
	}
	early, err := open(o, at(start.Add(life-renew-time.Hour)))
	if err != nil || early.Fingerprint() != first.Fingerprint() {
		t.Errorf("renewed too early: %v", err)
	}
	late, err := open(o, at(start.Add(life-renew+time.Hour)))
	if err != nil || late.Fingerprint() == first.Fingerprint() {
		t.Errorf("not renewed: %v", err)
	}
	if !late.current.Load().Leaf.PublicKey.(*ecdsa.PublicKey).Equal(
		first.current.Load().Leaf.PublicKey) {
		t.Error("the key has changed, and with it what some clients pin")
	}
	o.Domains = append(o.Domains, "b.example.org")
	more, err := open(o, at(start.Add(life-renew+time.Hour)))
	if err != nil || more.current.Load().Leaf.VerifyHostname("b.example.org") != nil {
		t.Errorf("a new domain is not in it: %v", err)
	}
}

// TestKeep: a server that runs for years renews its certificate in time, without a restart.
func TestKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := open(Options{Folder: t.TempDir(), Domains: []string{"a"}}, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		changes := 0
		go func() {
			defer close(ended)
			s.Keep(ctx, func(changed bool, err error) {
				if err != nil {
					t.Error(err)
				}
				changes++
			})
		}()
		for range 3 * 365 {
			time.Sleep(24 * time.Hour)
			synctest.Wait()
			if time.Until(s.Ends()) < renew-24*time.Hour {
				t.Fatalf("it ends in %v", time.Until(s.Ends()))
			}
		}
		cancel()
		<-ended
		if changes != 1 {
			t.Errorf("%d renewals in three years, want 1", changes)
		}
	})
}

// TestCertificateOfAWrongClock: a certificate that was made while the clock was ahead, or in 1970,
// is replaced when a client asks for it.
func TestCertificateOfAWrongClock(t *testing.T) {
	right := time.Date(2026, 11, 22, 7, 30, 0, 0, time.UTC)
	for _, wrong := range []time.Time{right.AddDate(1, 0, 0), right.Add(2 * time.Hour),
		time.Unix(0, 0)} {
		var now atomic.Pointer[time.Time]
		now.Store(&wrong)
		folder := t.TempDir()
		s, err := open(Options{Folder: folder, Domains: []string{"a"}},
			func() time.Time { return *now.Load() })
		if err != nil {
			t.Fatal(err)
		}
		first := s.Fingerprint()
		ctx, cancel := context.WithCancel(t.Context())
		said, ended := make(chan error, 1), make(chan struct{})
		go func() {
			defer close(ended)
			s.Keep(ctx, func(_ bool, err error) { said <- err })
		}()
		now.Store(&right)
		if _, err := s.certificate(&tls.ClientHelloInfo{}); err != nil {
			t.Error(err)
		}
		if err := <-said; err != nil {
			t.Error(err)
		}
		c, err := s.certificate(&tls.ClientHelloInfo{})
		if err != nil || right.Before(c.Leaf.NotBefore) || right.After(c.Leaf.NotAfter) ||
			s.Fingerprint() == first {
			t.Errorf("made at %v, at %v it is from %v to %v, %v", wrong, right, c.Leaf.NotBefore,
				c.Leaf.NotAfter, err)
		}
		cancel()
		<-ended
	}
}

func TestBrokenFiles(t *testing.T) {
	for _, file := range []string{"key.pem", "certificate.pem"} {
		o := Options{Folder: t.TempDir(), Domains: []string{"a"}}
		if _, err := Open(o); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(o.Folder, "own", file), []byte("-----BEGIN"),
			0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(o); err == nil || !strings.Contains(err.Error(), file+": expected a ") {
			t.Errorf("%s: %v", file, err)
		}
	}
	if _, err := Open(Options{Folder: t.TempDir()}); err == nil {
		t.Error("no domain was taken")
	}
}

// TestFiles: a reload uses changed files; a wrong file changes nothing.
func TestFiles(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	made := func(domain string) {
		t.Helper()
		if err := os.RemoveAll(filepath.Join(from, "own")); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(Options{Folder: from, Domains: []string{domain}}); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"certificate.pem", "key.pem"} {
			data, err := os.ReadFile(filepath.Join(from, "own", file))
			if err == nil {
				err = os.WriteFile(filepath.Join(to, file), data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	made("a.example.org")
	s, err := Open(Options{Folder: t.TempDir(), Domains: []string{"a.example.org"},
		Certificate: filepath.Join(to, "certificate.pem"), Key: filepath.Join(to, "key.pem")})
	if err != nil {
		t.Fatal(err)
	}
	first := s.Fingerprint()
	if changed, err := s.Reload(); changed || err != nil {
		t.Errorf("a reload of the same: %v, %v", changed, err)
	}
	made("b.example.org")
	if changed, err := s.Reload(); !changed || err != nil || s.Fingerprint() == first {
		t.Errorf("a reload of another: %v, %v", changed, err)
	}
	second := s.Fingerprint()
	if err := os.Remove(filepath.Join(to, "key.pem")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Reload(); !errors.Is(err, os.ErrNotExist) || s.Fingerprint() != second {
		t.Errorf("a reload of what is not there: %v", err)
	}
	if state, err := shake(t, s.Config(), &tls.Config{InsecureSkipVerify: true}); err != nil ||
		Fingerprint(state.PeerCertificates[0]) != second {
		t.Errorf("clients see another: %v", err)
	}
	if s.Own() {
		t.Error("it says that it must be pinned")
	}
}

// TestWhatIsRefused: old versions of TLS, and cipher suites without forward secrecy or
// authentication.
func TestWhatIsRefused(t *testing.T) {
	s, err := Open(Options{Folder: t.TempDir(), Domains: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, client := range map[string]*tls.Config{
		"TLS 1.0": {MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS10},
		"TLS 1.1": {MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11},
		"RC4": {MaxVersion: tls.VersionTLS12,
			CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_RC4_128_SHA,
				tls.TLS_RSA_WITH_RC4_128_SHA}},
		"CBC": {MaxVersion: tls.VersionTLS12,
			CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256,
				tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA,
				tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA}},
		"RSA": {MaxVersion: tls.VersionTLS12,
			CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256}},
		"3DES": {MaxVersion: tls.VersionTLS12,
			CipherSuites: []uint16{tls.TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA}},
	} {
		client.InsecureSkipVerify = true
		if state, err := shake(t, s.Config(), client); err == nil {
			t.Errorf("%s: agreed on version %x, cipher %x", name, state.Version, state.CipherSuite)
		}
	}
	for name, client := range map[string]*tls.Config{"TLS 1.2": {MaxVersion: tls.VersionTLS12},
		"TLS 1.3": {}} {
		client.InsecureSkipVerify = true
		state, err := shake(t, s.Config(), client)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, weak := range tls.InsecureCipherSuites() {
			if weak.ID == state.CipherSuite {
				t.Errorf("%s: %s", name, weak.Name)
			}
		}
	}
}

// TestClientCertificates: they are requested, accepted from every client, and not required.
func TestClientCertificates(t *testing.T) {
	s, err := Open(Options{Folder: t.TempDir(), Domains: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	client, err := Open(Options{Folder: t.TempDir(), Domains: []string{"ann"}})
	if err != nil {
		t.Fatal(err)
	}
	seen := ""
	config := s.Config()
	config.VerifyConnection = func(state tls.ConnectionState) error {
		for _, c := range state.PeerCertificates {
			seen = Fingerprint(c)
		}
		return nil
	}
	if _, err := shake(t, config, &tls.Config{InsecureSkipVerify: true}); err != nil || seen != "" {
		t.Errorf("without: %v, %q", err, seen)
	}
	if _, err := shake(t, config, &tls.Config{InsecureSkipVerify: true,
		Certificates: []tls.Certificate{*client.current.Load()}}); err != nil ||
		seen != client.Fingerprint() {
		t.Errorf("with one: %v, %q", err, seen)
	}
}
