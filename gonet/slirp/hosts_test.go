package slirp

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"interleave/gonet"
)

// hostsOf sets the names of a world, from the text of a file.
func hostsOf(text string) func(*Config) {
	names := parseHosts([]byte(text))
	return func(c *Config) { c.Hosts = func(name string) []netip.Addr { return names[name] } }
}

// lookUp asks the forwarder of a guest, and returns the code and the addresses of the answer.
func lookUp(t *testing.T, guest *gonet.Stack, name string, kind dnsmessage.Type) string {
	t.Helper()
	c := dial(t, guest, "udp", "10.0.2.3:53")
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1000)
	_, err := c.Write(questionOf(t, 99, name, kind))
	if err != nil {
		t.Fatal(err)
	}
	n, err := c.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	var m dnsmessage.Message
	if err := m.Unpack(b[:n]); err != nil || m.ID != 99 || !m.Response || len(m.Questions) != 1 {
		t.Fatalf("%+v, %v", m.Header, err)
	}
	if n > 512 {
		t.Errorf("%s: an answer of %d bytes", name, n)
	}
	text := strings.TrimPrefix(m.RCode.String(), "RCode")
	for _, r := range m.Answers {
		if r.Header.Name.String() != name || r.Header.Type != kind {
			t.Errorf("%s: %+v", name, r.Header)
		}
		switch body := r.Body.(type) {
		case *dnsmessage.AResource:
			text += " " + netip.AddrFrom4(body.A).String()
		case *dnsmessage.AAAAResource:
			text += " " + netip.AddrFrom16(body.AAAA).String()
		}
	}
	return text
}

// TestHostNames asks for names of the host's file, which its DNS server does not have.
func TestHostNames(t *testing.T) {
	file := "127.0.0.1 localhost\n127.0.1.1 here\n::1 here here6\n" +
		"192.0.2.1 Box.Test box # a comment\n" +
		"2001:db8::1 box.test\n192.0.2.2 box.test\n0.0.0.0 blocked.test\nff02::1 all.test\n"
	for i := range 20 {
		file += fmt.Sprintf("2001:db8::%d %stest\n", i+1, strings.Repeat("many.", 40))
	}
	inWorld(t, func(t *testing.T, w *world) {
		serveDNS(t, w.server, nil)
		for _, c := range []struct {
			name string
			kind dnsmessage.Type
			want string
		}{
			{"box.test.", dnsmessage.TypeA, "Success 192.0.2.1 192.0.2.2"},
			{"BOX.test.", dnsmessage.TypeAAAA, "Success 2001:db8::1"},
			{"box.", dnsmessage.TypeAAAA, "Success"}, // the name is there, without such addresses
			{"here.", dnsmessage.TypeA, "Success 10.0.2.2"},
			{"here.", dnsmessage.TypeAAAA, "Success fd00::2"},
			{"here6.", dnsmessage.TypeA, "Success"},
			{"blocked.test.", dnsmessage.TypeA, "Success 0.0.0.0"},
			{strings.Repeat("many.", 40) + "test.", dnsmessage.TypeAAAA, "Success 2001:db8::1 " +
				"2001:db8::2 2001:db8::3 2001:db8::4 2001:db8::5 2001:db8::6 2001:db8::7 " +
				"2001:db8::8"},
			// All else is asked of the server.
			{"5.test.", dnsmessage.TypeA, "Success 192.0.2.5"},
			{"box.test.", dnsmessage.TypeMX, "NameError"},
			{"localhost.", dnsmessage.TypeA, "NameError"},
			{"all.test.", dnsmessage.TypeAAAA, "NameError"},
		} {
			if got := lookUp(t, w.guest, c.name, c.kind); got != c.want {
				t.Errorf("%s %v: %s, want %s", c.name, c.kind, got, c.want)
			}
		}
		stream := dial(t, w.guest, "tcp", "10.0.2.3:53")
		defer stream.Close()
		err := writeMessage(stream, question(t, 3, "box."))
		if err != nil {
			t.Fatal(err)
		}
		b, err := readMessage(stream, maxDatagram)
		if err != nil {
			t.Fatal(err)
		}
		if code, got := address(t, b, 3); got != "192.0.2.1" {
			t.Errorf("over TCP: %v %s", code, got)
		}
	}, resolver, hostsOf(file))
	inWorld(t, func(t *testing.T, w *world) {
		serveDNS(t, w.server, nil)
		if got := lookUp(t, w.guest, "here.", dnsmessage.TypeA); got != "NameError" {
			t.Errorf("the loopback of the host, which is closed: %s", got)
		}
	}, resolver, hostsOf(file), func(c *Config) { c.NoHostLoopback = true })
}

// TestHosts changes the file.
func TestHosts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hosts")
	h := NewHosts(path)
	expect := func(name, want string) {
		t.Helper()
		h.checked = time.Time{} // as if a second had passed
		if got := fmt.Sprint(h.Lookup(name)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	expect("a", "[]") // there is no file
	for _, c := range []struct{ text, name, want string }{
		{"192.0.2.1\ta b.\n::ffff:192.0.2.2 a\n192.0.2.1 a\n", "a", "[192.0.2.1 192.0.2.2]"},
		{"192.0.2.1 a b.\nfe80::1%eth0 b c", "b", "[192.0.2.1 fe80::1]"},
		{"#192.0.2.1 a\nname a\n192.0.2.1\n\nff02::1 a\n", "a", "[]"},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		expect(c.name, c.want)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	expect("b", "[]")
}

func FuzzHosts(f *testing.F) {
	f.Add([]byte("127.0.0.1 localhost # here\n192.0.2.1\ta B.\nfe80::1%eth0 c\nff02::1 all"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for name, all := range parseHosts(text) {
			if len(all) == 0 || len(all) > maxHostAddrs || name != strings.ToLower(name) {
				t.Fatalf("%q: %v", name, all)
			}
			for _, a := range all {
				if a.Zone() != "" || a.IsMulticast() || a.Is4In6() {
					t.Fatalf("%q: %v", name, all)
				}
			}
		}
	})
}
