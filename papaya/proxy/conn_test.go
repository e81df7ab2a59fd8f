package proxy

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// patience bounds every wait; nothing is expected to be fast.
const patience = time.Minute

// version2 writes a header of version 2: the command and version, the protocol, and the rest.
func version2(command, protocol byte, rest string) string {
	b := []byte("\r\n\r\n\x00\r\nQUIT\n")
	b = append(b, command, protocol)
	return string(binary.BigEndian.AppendUint16(b, uint16(len(rest)))) + rest
}

const (
	local     = 0x20
	proxied   = 0x21
	tcp4      = 0x11
	addresses = "\xc0\x00\x02\x07" + "\x7f\x00\x00\x01" + "\x12\x67" + "\x1a\x0b" // 192.0.2.7:4711
	overSSL   = "\x20\x00\x0f" + "\x01" + "\x00\x00\x00\x00" + "\x21\x00\x07TLSv1.3"
	overPlain = "\x20\x00\x05" + "\x00" + "\x00\x00\x00\x00"
)

// unwrap sends some bytes to Unwrap.
func unwrap(t testing.TB, sent string) (*Conn, error) {
	t.Helper()
	near, far := net.Pipe()
	t.Cleanup(func() { _ = near.Close(); _ = far.Close() })
	_ = near.SetDeadline(time.Now().Add(patience))
	go func() {
		_, _ = io.WriteString(far, sent) // an error shows at the other end
		_ = far.Close()
	}()
	return Unwrap(near)
}

func TestUnwrap(t *testing.T) {
	for _, test := range []struct {
		name, sent string
		from       string
		secure     bool
		tls        bool
	}{
		{"version 1", "PROXY TCP4 192.0.2.7 127.0.0.1 4711 6667\r\nNICK a\r\n", "192.0.2.7:4711",
			false, false},
		{"version 1, IPv6", "PROXY TCP6 2001:db8::7 ::1 4711 6667\r\nNICK a\r\n",
			"[2001:db8::7]:4711", false, false},
		{"version 1, unknown", "PROXY UNKNOWN\r\nNICK a\r\n", "pipe", false, false},
		{"version 2", version2(proxied, tcp4, addresses) + "NICK a\r\n", "192.0.2.7:4711", false,
			false},
		{"version 2 after TLS", version2(proxied, tcp4, addresses+overSSL) + "NICK a\r\n",
			"192.0.2.7:4711", true, false},
		{"version 2 without TLS", version2(proxied, tcp4, addresses+overPlain) + "NICK a\r\n",
			"192.0.2.7:4711", false, false},
		{"a health check", version2(local, 0, "") + "NICK a\r\n", "pipe", false, false},
		{"TLS inside", version2(proxied, tcp4, addresses) + "\x16\x03\x01", "192.0.2.7:4711",
			false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := unwrap(t, test.sent)
			if err != nil {
				t.Fatal(err)
			}
			if c.RemoteAddr().String() != test.from || c.Secure() != test.secure ||
				c.TLS() != test.tls {
				t.Errorf("from %s, secure %v, TLS %v", c.RemoteAddr(), c.Secure(), c.TLS())
			}
			rest, err := io.ReadAll(c)
			if err != nil || !strings.HasSuffix(test.sent, string(rest)) || len(rest) < 3 ||
				rest[0] != 'N' && rest[0] != 0x16 {
				t.Errorf("the rest is %q, %v", rest, err)
			}
		})
	}
}

func TestWrongHeaders(t *testing.T) {
	for name, sent := range map[string]string{
		"none":                  "NICK a\r\nUSER a 0 * :a\r\n",
		"nothing":               "",
		"TLS":                   "\x16\x03\x01\x00\x05hello",
		"half of version 1":     "PROXY TCP4 192.0.2.7",
		"no address":            "PROXY TCP4 a b 1 2\r\nNICK a\r\n",
		"a wrong port":          "PROXY TCP4 192.0.2.7 127.0.0.1 70000 1\r\nNICK a\r\n",
		"no end":                "PROXY TCP4 " + strings.Repeat("1", 4000),
		"half of version 2":     version2(proxied, tcp4, addresses)[:20],
		"short addresses":       version2(proxied, tcp4, addresses[:6]) + "NICK a\r\n",
		"an unknown command":    version2(0x2f, tcp4, addresses) + "NICK a\r\n",
		"a client without data": "PROXY TCP4 192.0.2.7 127.0.0.1 4711 6667\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			if c, err := unwrap(t, sent); err == nil {
				t.Errorf("taken, from %s", c.RemoteAddr())
			} else if errors.Is(err, io.ErrNoProgress) {
				t.Error(err)
			}
		})
	}
}

func FuzzUnwrap(f *testing.F) {
	f.Add("PROXY TCP4 192.0.2.7 127.0.0.1 4711 6667\r\nNICK a\r\n")
	f.Add(version2(proxied, tcp4, addresses+overSSL) + "NICK a\r\n")
	f.Add(version2(local, 0, "") + "x")
	f.Fuzz(func(t *testing.T, sent string) {
		c, err := unwrap(t, sent)
		if err != nil {
			return
		}
		if c.RemoteAddr() == nil {
			t.Error("a client without an address")
		}
		if rest, err := io.ReadAll(c); err != nil || !strings.HasSuffix(sent, string(rest)) {
			t.Errorf("of %q the rest is %q, %v", sent, rest, err)
		}
	})
}
