package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"interleave/internal/irctest"
	"interleave/papaya/certificate"
	"interleave/papaya/hall"
)

// secure starts a server for TLS with a self-signed certificate.
func secure(t *testing.T, change func(*Config)) (*instance, *certificate.Source) {
	t.Helper()
	source, err := certificate.Open(certificate.Options{Folder: t.TempDir(),
		Domains: []string{"tea.example"}})
	if err != nil {
		t.Fatal(err)
	}
	return open(t, t.TempDir(), func(c *Config) {
		c.Plain, c.TLS, c.TLSConfig = nil, []string{"127.0.0.1:0"}, source.Config()
		if change != nil {
			change(c)
		}
	}), source
}

// hello builds a ClientHello (RFC 5246, 7.4.1.2) of any version with any cipher suites, including
// those that no current client offers.
func hello(version uint16, ciphers ...uint16) []byte {
	put := binary.BigEndian.AppendUint16
	// The random bytes do not matter.
	body := append(put(nil, version), make([]byte, 32)...)
	body = put(append(body, 0), uint16(2*len(ciphers)))
	for _, c := range ciphers {
		body = put(body, c)
	}
	body = append(body, 1, 0)
	// supported_groups: P-256. ec_point_formats: uncompressed. signature_algorithms: ECDSA and
	// RSA with SHA-256.
	more := []byte{0, 10, 0, 4, 0, 2, 0, 23, 0, 11, 0, 2, 1, 0, 0, 13, 0, 6, 0, 4, 4, 3, 4, 1}
	body = append(put(body, uint16(len(more))), more...)
	message := append([]byte{1, 0, byte(len(body) >> 8), byte(len(body))}, body...)
	return append(put(put([]byte{22}, min(version, 0x0301)), uint16(len(message))), message...)
}

// TestVersionsAndCiphers sends handshakes of clients of all times, and reads the first record of
// the answer.
func TestVersionsAndCiphers(t *testing.T) {
	srv, source := secure(t, nil)
	good := []uint16{0xc02b, 0xc02f, 0xc02c, 0xcca9} // ECDHE with AES-GCM or ChaCha20
	const handshake, alert = 22, 21
	for _, test := range []struct {
		name    string
		version uint16
		ciphers []uint16
		record  byte
		// The code of the alert: 70 protocol_version, 40 handshake_failure (RFC 5246, 7.2).
		code byte
	}{
		{"SSL 3", 0x0300, []uint16{0x002f, 0x0005}, alert, 70},
		{"TLS 1.0", 0x0301, append(good, 0xc009, 0xc013, 0x002f), alert, 70},
		{"TLS 1.1", 0x0302, append(good, 0xc009, 0xc013, 0x002f), alert, 70},
		{"RC4", 0x0303, []uint16{0xc007, 0xc011, 0x0005}, alert, 40},
		{"3DES", 0x0303, []uint16{0xc012, 0x000a}, alert, 40},
		{"CBC", 0x0303, []uint16{0xc009, 0xc023, 0xc013, 0xc027, 0x002f, 0x003c}, alert, 40},
		{"RSA key exchange", 0x0303, []uint16{0x009c, 0x009d}, alert, 40},
		{"no encryption, nobody's name", 0x0303, []uint16{0x0000, 0x0001, 0xc018, 0xc006}, alert,
			40},
		{"TLS 1.2", 0x0303, good, handshake, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := net.Dial("tcp", srv.at[0])
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(patience))
			if _, err := c.Write(hello(test.version, test.ciphers...)); err != nil {
				t.Fatal(err)
			}
			head := make([]byte, 5)
			if _, err := io.ReadFull(c, head); err != nil {
				t.Fatal(err)
			}
			body := make([]byte, binary.BigEndian.Uint16(head[3:]))
			if _, err := io.ReadFull(c, body); err != nil {
				t.Fatal(err)
			}
			switch {
			case head[0] != test.record:
				t.Errorf("the answer is a record %d, want %d: % x", head[0], test.record, body)
			case test.record == alert && (body[0] != 2 || body[1] != test.code):
				t.Errorf("alert % d, want the fatal one %d", body, test.code)
			case test.record == handshake && (body[0] != 2 ||
				binary.BigEndian.Uint16(body[4:]) != 0x0303):
				t.Errorf("not a ServerHello of TLS 1.2: % x", body)
			}
		})
	}

	// IRC without TLS is refused on this port. After all that, a client with TLS 1.3 is served.
	plain := irctest.Dial(t, srv.at[0])
	plain.Send("NICK ann\r\nUSER ann 0 * :Ann")
	for _, l := range plain.ExpectEnd() {
		if strings.Contains(l, "001") {
			t.Errorf("a client without TLS hears %q", l)
		}
	}
	roots := x509.NewCertPool()
	leaf, err := x509.ParseCertificate(certificateOf(t, source))
	if err != nil {
		t.Fatal(err)
	}
	roots.AddCert(leaf)
	ann := srv.connectTLS(&tls.Config{ServerName: "tea.example", RootCAs: roots,
		MinVersion: tls.VersionTLS13})
	ann.Register("ann")
	ann.Send("WHOIS ann")
	ann.Expect(" 671 ann ann :is using a secure connection")
}

func certificateOf(t *testing.T, source *certificate.Source) []byte {
	t.Helper()
	c, err := source.Config().GetCertificate(&tls.ClientHelloInfo{ServerName: "tea.example"})
	if err != nil {
		t.Fatal(err)
	}
	return c.Certificate[0]
}

// noPassword is too long for a password. The server refuses it without checking.
var noPassword = strings.Repeat("x", 257)

// people has one account, ann, with a password or a certificate.
type people struct{ print string }

func (p people) Verify(_ context.Context, name, password string, _ net.Addr) (Person, error) {
	if name == "ann" && (password == "the kettle is on" || password == noPassword) {
		return Person{Account: "Ann"}, nil
	}
	return Person{}, ErrNotYours
}

func (p people) Certificate(_ context.Context, print, name string) (Person, error) {
	if print == p.print && (name == "" || name == "ann") {
		return Person{Account: "Ann"}, nil
	}
	return Person{}, ErrNotYours
}

func (p people) Register(context.Context, string, string, string, net.Addr) (Person, error) {
	return Person{}, ErrNotYours
}

func (p people) Required() bool { return true }

func plainWord(name, password string) string {
	return base64.StdEncoding.EncodeToString([]byte("\x00" + name + "\x00" + password))
}

// TestLogins tests SASL PLAIN and EXTERNAL over TLS, with right and wrong credentials.
func TestLogins(t *testing.T) {
	// A client's certificate.
	own, err := certificate.Open(certificate.Options{Folder: t.TempDir(), Domains: []string{"ann"}})
	if err != nil {
		t.Fatal(err)
	}
	srv, _ := secure(t, func(c *Config) { c.Accounts = people{own.Fingerprint()} })
	mine, err := own.Config().GetCertificate(&tls.ClientHelloInfo{ServerName: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	// Other tests check the server's certificate.
	other := &tls.Config{InsecureSkipVerify: true}
	with := &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{*mine}}
	for _, test := range []struct {
		name   string
		config *tls.Config
		words  []string
		want   string
	}{
		{"PLAIN", other, []string{"PLAIN", plainWord("ann", "the kettle is on")}, " 903 "},
		{"a wrong password", other, []string{"PLAIN", plainWord("ann", "the kettle is off")},
			" 904 "},
		{"too long a password", other, []string{"PLAIN", plainWord("ann", noPassword)}, " 904 "},
		{"another's name", other,
			[]string{"PLAIN",
				base64.StdEncoding.EncodeToString([]byte("bob\x00ann\x00the kettle is on"))},
			" 904 "},
		{"not base64", other, []string{"PLAIN", "!!!"}, " 904 "},
		{"too long", other, []string{"PLAIN", strings.Repeat("QUFB", 100),
			strings.Repeat("QUFB", 100), strings.Repeat("QUFB", 100), strings.Repeat("QUFB", 100),
			"QUFB"}, " 90"},
		{"EXTERNAL", with, []string{"EXTERNAL", "+"}, " 903 "},
		{"EXTERNAL by name", with,
			[]string{"EXTERNAL", base64.StdEncoding.EncodeToString([]byte("ann"))}, " 903 "},
		{"EXTERNAL as another", with,
			[]string{"EXTERNAL", base64.StdEncoding.EncodeToString([]byte("bob"))}, " 904 "},
		{"EXTERNAL, not base64", with, []string{"EXTERNAL", "!!!"}, " 904 "},
		{"EXTERNAL without a certificate", other, []string{"EXTERNAL", "+"}, " 904 "},
		{"another mechanism", other, []string{"SCRAM-SHA-256"}, " 904 "},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := srv.connectTLS(test.config)
			g.Send("CAP REQ :sasl\r\nNICK ann\r\nUSER ann 0 * :Ann")
			g.Expect("ACK")
			for _, w := range test.words {
				g.Send("AUTHENTICATE %s", w)
			}
			g.Expect(test.want)
			g.Send("CAP END")
			if test.want == " 903 " {
				g.Expect(" 422 ")
				g.Send("WHOIS ann")
				g.Expect(" 330 ann ann Ann ")
				g.Send("QUIT")
			}
			all := g.ExpectEnd()
			if test.want != " 903 " &&
				!strings.Contains(strings.Join(all, "\n"), "ACCOUNT_REQUIRED") {
				t.Errorf("a client without a login receives %q", all)
			}
		})
	}
}

// A remoteListener gives clients the address of another machine.
type remoteListener struct{ net.Listener }

type remoteConn struct{ net.Conn }

func (l remoteListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return remoteConn{c}, err
}

func (remoteConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1} }

// TestNoPasswordsWithoutTLS: over a network, a plain connection is neither offered nor granted a
// login by password.
func TestNoPasswordsWithoutTLS(t *testing.T) {
	srv := open(t, t.TempDir(), func(c *Config) {
		c.Accounts = people{}
		listen := c.Listen
		c.Listen = func(network, address string) (net.Listener, error) {
			l, err := listen(network, address)
			return remoteListener{l}, err
		}
	})
	g := srv.connect()
	g.Send("CAP LS 302\r\nCAP REQ :sasl\r\nAUTHENTICATE PLAIN\r\nAUTHENTICATE %s\r\nREGISTER ann "+
		"* secret-word\r\nNICK ann\r\nUSER ann 0 * :Ann\r\nCAP END",
		plainWord("ann", "the kettle is on"))
	said := strings.Join(g.ExpectEnd(), "\n")
	for _, want := range []string{"CAP * NAK :sasl",
		"904 * :SASL authentication failed: passwords need TLS",
		"FAIL REGISTER TEMPORARILY_UNAVAILABLE ann :Passwords need TLS", "ACCOUNT_REQUIRED"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	if strings.Contains(said, "LS :") && strings.Contains(said, "sasl=") ||
		strings.Contains(said, " 900 ") {
		t.Errorf("a login is offered or granted:\n%s", said)
	}
}

// TestSTSByConnection: clients are told the port where they have no TLS, and the duration.
func TestSTSByConnection(t *testing.T) {
	srv, _ := secure(t, func(c *Config) {
		c.Plain = []string{"127.0.0.1:0"}
		c.STS = &hall.STS{Port: 6697, Duration: time.Hour}
	})
	plain, safe := srv.connect(), irctest.DialTLS(t, srv.at[1],
		&tls.Config{InsecureSkipVerify: true})
	for c, want := range map[*irctest.Client]string{plain: "sts=port=6697,duration=3600",
		safe: "sts=duration=3600"} {
		c.Send("CAP LS 302\r\nCAP END\r\nPING done")
		if lines := strings.Join(c.Expect("PONG chat :done"), "\n"); !strings.Contains(lines+"\n",
			want+"\n") {
			t.Errorf("want %s in\n%s", want, lines)
		}
	}
}
