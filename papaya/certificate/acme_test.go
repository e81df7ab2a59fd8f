package certificate

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
	"github.com/miekg/dns"
	"golang.org/x/crypto/acme"
)

// names starts a DNS server for which every name is this machine, and returns its address.
func names(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &dns.Server{Listener: l, Handler: dns.HandlerFunc(func(w dns.ResponseWriter,
		q *dns.Msg) {
		answer := new(dns.Msg).SetReply(q)
		if q.Question[0].Qtype == dns.TypeA {
			answer.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: q.Question[0].Name,
				Rrtype: dns.TypeA, Class: dns.ClassINET}, A: net.IPv4(127, 0, 0, 1)}}
		}
		_ = w.WriteMsg(answer) // the authority asks again
	})}
	go func() { _ = server.ActivateAndServe() }()
	t.Cleanup(func() { _ = server.Shutdown() })
	return l.Addr().String()
}

// authority starts Pebble, the test server of Let's Encrypt. It checks domains by TLS at port, as
// the real one does at 443.
func authority(t *testing.T,
	port int) (directory string, client *acme.Client, root *x509.CertPool) {
	t.Setenv("PEBBLE_VA_NOSLEEP", "1")
	t.Setenv("PEBBLE_WFE_NONCEREJECT", "0")
	quiet := log.New(io.Discard, "", 0)
	store := db.NewMemoryStore()
	signer := ca.New(quiet, store, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {}})
	front := wfe.New(quiet, store, va.New(quiet, 0, port, false, names(t), store), signer,
		[]string{"authority.test"}, false, false, 1, 1)
	server := httptest.NewTLSServer(front.Handler())
	t.Cleanup(server.Close)
	directory = server.URL + wfe.DirectoryPath
	root = x509.NewCertPool()
	root.AddCert(signer.GetRootCert(0).Cert)
	return directory, &acme.Client{DirectoryURL: directory, HTTPClient: server.Client()}, root
}

// TestACME gets a certificate from an authority that checks the domain (tls-alpn-01), and uses it
// again after a restart.
func TestACME(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	directory, client, root := authority(t, l.Addr().(*net.TCPAddr).Port)
	o := Options{Folder: t.TempDir(), Domains: []string{"irc.example.org"}, ACME: true,
		Email: "ann@example.org", Directory: directory, Client: client}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if s.Own() {
		t.Error("it says that its certificate must be pinned")
	}
	go serve(l, s.Config())

	visit := func(name string, roots *x509.CertPool) (*x509.Certificate, error) {
		d := tls.Dialer{NetDialer: &net.Dialer{Timeout: patience},
			Config: &tls.Config{ServerName: name, RootCAs: roots, InsecureSkipVerify: roots == nil}}
		c, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			return nil, err
		}
		defer c.Close()
		return c.(*tls.Conn).ConnectionState().PeerCertificates[0], nil
	}
	got, err := visit("irc.example.org", root)
	if err != nil {
		t.Fatal(err)
	}
	if Fingerprint(got) == s.Fingerprint() {
		t.Error("clients of the domain see our own certificate")
	}
	if other, err := visit("other.example.org", nil); err != nil ||
		Fingerprint(other) != s.Fingerprint() {
		t.Errorf("a name that is not ours: %v", err)
	}

	o.Client = &acme.Client{DirectoryURL: "https://127.0.0.1:1/"} // nothing listens there
	again, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	state, err := shake(t, again.Config(), &tls.Config{ServerName: "irc.example.org",
		RootCAs: root})
	if err != nil || !bytes.Equal(state.PeerCertificates[0].Raw, got.Raw) {
		t.Errorf("after a restart, without the authority: %v", err)
	}
	o.Folder = t.TempDir()
	fresh, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	state, err = shake(t, fresh.Config(), &tls.Config{ServerName: "irc.example.org",
		InsecureSkipVerify: true})
	if err != nil || Fingerprint(state.PeerCertificates[0]) != fresh.Fingerprint() {
		t.Errorf("without the authority and its certificate there is our own: %v", err)
	}
}

// serve does TLS handshakes until l is closed.
func serve(l net.Listener, config *tls.Config) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(patience))
			_ = tls.Server(c, config).Handshake() // the client reports the error
			_, _ = c.Read(make([]byte, 1))
		}()
	}
}
