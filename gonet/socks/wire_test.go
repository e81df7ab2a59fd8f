package socks

import (
	"bytes"
	"errors"
	"io"
	"net/netip"
	"reflect"
	"strings"
	"testing"
)

var addresses = map[string]Address{
	"\x01\x7f\x00\x00\x01\x00\x50": {IP: netip.MustParseAddr("127.0.0.1"), Port: 80},
	"\x03\x09host.test\x01\xbb":    {Name: "host.test", Port: 443},
	"\x04\x20\x01" + strings.Repeat("\x00", 13) + "\x01\x00\x35": {
		IP: netip.MustParseAddr("2001::1"), Port: 53},
}

// TestAddresses has each type of address, in a request, in a reply and before a datagram.
func TestAddresses(t *testing.T) {
	for text, want := range addresses {
		q, err := ReadRequest(strings.NewReader("\x05\x01\x00" + text))
		if err != nil || q != (Request{Connect, want}) {
			t.Errorf("request %q: %+v, %v", text, q, err)
		}
		b, err := q.Append(nil)
		if err != nil || string(b) != "\x05\x01\x00"+text {
			t.Errorf("request %+v: %q, %v", q, b, err)
		}
		r := strings.NewReader("\x05\x00\x00" + text + "rest")
		p, err := ReadReply(r)
		if err != nil || p != (Reply{Succeeded, want}) || r.Len() != 4 {
			t.Errorf("reply %q: %+v, %v, %d bytes left", text, p, err, r.Len())
		}
		b, err = p.Append(nil)
		if err != nil || string(b) != "\x05\x00\x00"+text {
			t.Errorf("reply %+v: %q, %v", p, b, err)
		}
		a, data, err := ParseDatagram([]byte("\x00\x00\x00" + text + "data"))
		if err != nil || a != want || string(data) != "data" {
			t.Errorf("datagram %q: %+v, %q, %v", text, a, data, err)
		}
		b, err = AppendDatagram(nil, want)
		if err != nil || string(b) != "\x00\x00\x00"+text || len(b) > MaxDatagramHeader {
			t.Errorf("datagram to %v: %q, %v", want, b, err)
		}
		if got, err := ParseAddress(want.String()); err != nil || got != want {
			t.Errorf("%v is read as %v, %v", want, got, err)
		}
	}
	mapped := Address{IP: netip.MustParseAddr("::ffff:1.2.3.4"), Port: 7}
	if b, err := AppendDatagram(nil, mapped); err != nil ||
		string(b[3:]) != "\x01\x01\x02\x03\x04\x00\x07" {
		t.Errorf("%q, %v", b, err)
	}
	if b, err := (Reply{Code: Refused}).Append(nil); err != nil ||
		string(b) != "\x05\x05\x00\x01\x00\x00\x00\x00\x00\x00" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestBadMessages holds the errors of each reader, with the code for a server's answer.
func TestBadMessages(t *testing.T) {
	request := func(r io.Reader) error { _, err := ReadRequest(r); return err }
	greeting := func(r io.Reader) error { _, err := ReadGreeting(r); return err }
	method := func(r io.Reader) error { _, err := ReadMethod(r); return err }
	password := func(r io.Reader) error { _, _, err := ReadPassword(r); return err }
	verdict := func(r io.Reader) error { _, err := ReadPasswordReply(r); return err }
	datagram := func(r io.Reader) error {
		b, _ := io.ReadAll(r) // a reader of a string does not fail
		_, _, err := ParseDatagram(b)
		return err
	}
	for _, c := range []struct {
		read func(io.Reader) error
		text string
		want error
	}{
		{greeting, "", io.EOF},
		{greeting, "\x05", io.ErrUnexpectedEOF},
		{greeting, "\x05\x02\x00", io.ErrUnexpectedEOF},
		{greeting, "\x04\x01\x00\x50", GeneralFailure},
		{method, "\x05", io.ErrUnexpectedEOF},
		{method, "HT", GeneralFailure},
		{password, "\x05\x01a\x01b", GeneralFailure},
		{password, "\x01\x05user", io.ErrUnexpectedEOF},
		{password, "\x01\x04user\x05pass", io.ErrUnexpectedEOF},
		{verdict, "\x00\x00", GeneralFailure},
		{request, "", io.EOF},
		{request, "\x05\x01\x00", io.ErrUnexpectedEOF},
		{request, "\x05\x01\x00\x01\x7f\x00", io.ErrUnexpectedEOF},
		{request, "\x04\x01\x00\x50\x7f\x00\x00\x01", GeneralFailure},
		{request, "\x05\x01\x00\x02\x7f\x00\x00\x01\x00\x50", AddressNotSupported},
		{request, "\x05\x01\x00\x03\x00\x00\x50", GeneralFailure},
		{request, "\x05\x01\x00\x03\x04a b\n\x00\x50", GeneralFailure},
		{request, "\x05\x01\x00\x03\x02\xc3\xa4\x00\x50", GeneralFailure},
		{datagram, "\x00\x00", errShort},
		{datagram, "\x00\x00\x00", errShort},
		{datagram, "\x00\x00\x00\x01\x7f\x00\x00\x01\x00", errShort},
		{datagram, "\x00\x00\x00\x05\x7f\x00\x00\x01\x00\x50", AddressNotSupported},
		{datagram, "\x00\x00\x00\x03\x00\x00\x50", errName},
	} {
		if err := c.read(strings.NewReader(c.text)); !errors.Is(err, c.want) {
			t.Errorf("%q: %v, want %v", c.text, err, c.want)
		}
	}
	if _, _, err := ParseDatagram([]byte("\x00\x00\x01\x01\x7f\x00\x00\x01\x00\x50")); err == nil {
		t.Error("a fragment was taken")
	}
	for _, name := range []string{strings.Repeat("a", 256), "a b", "\x7f"} {
		if b, err := AppendDatagram(nil, Address{Name: name}); err == nil {
			t.Errorf("%q was written as %q", name, b)
		}
	}
	for _, bad := range []string{"host", "host:x", "host:65536", "ho st:80", ":80"} {
		if a, err := ParseAddress(bad); err == nil {
			t.Errorf("%q is %v", bad, a)
		}
	}
	for _, bad := range [][2]string{{"", "b"}, {"a", ""}, {strings.Repeat("a", 256), "b"}} {
		if _, err := AppendPassword(nil, bad[0], bad[1]); err == nil {
			t.Errorf("user %q and password %q", bad[0], bad[1])
		}
	}
}

// TestAuthentication reads what is written of the messages before a request.
func TestAuthentication(t *testing.T) {
	b := AppendGreeting(nil, MethodNone, MethodPassword)
	m, err := ReadGreeting(bytes.NewReader(b))
	if err != nil || !reflect.DeepEqual(m, []Method{MethodNone, MethodPassword}) {
		t.Errorf("%q: %v, %v", b, m, err)
	}
	if m, err := ReadGreeting(strings.NewReader("\x05\x00")); err != nil || len(m) != 0 {
		t.Errorf("no method: %v, %v", m, err)
	}
	b = AppendMethod(nil, MethodRefused)
	if m, err := ReadMethod(bytes.NewReader(b)); err != nil || m != MethodRefused {
		t.Errorf("%q: %v, %v", b, m, err)
	}
	for _, want := range [][2]string{{"user", "a password"}, {"u", "p"},
		{strings.Repeat("u", 255), strings.Repeat("p", 255)}} {
		b, err := AppendPassword(nil, want[0], want[1])
		if err != nil {
			t.Fatal(err)
		}
		r := bytes.NewReader(append(b, "rest"...))
		user, password, err := ReadPassword(r)
		if err != nil || user != want[0] || password != want[1] || r.Len() != 4 {
			t.Errorf("%q and %q, %v", user, password, err)
		}
	}
	if u, p, err := ReadPassword(strings.NewReader("\x01\x00\x00")); u+p != "" || err != nil {
		t.Errorf("%q and %q, %v", u, p, err)
	}
	for _, want := range []bool{true, false} {
		b := AppendPasswordReply(nil, want)
		if ok, err := ReadPasswordReply(bytes.NewReader(b)); err != nil || ok != want {
			t.Errorf("%q: %v, %v", b, ok, err)
		}
	}
	if s := Code(8).Error() + ", " + Code(9).Error(); s !=
		"address type not supported, reply code 9" {
		t.Error(s)
	}
}

// FuzzWire holds that what is read, and written again, is read as the same, and that no reader
// takes more than its message.
func FuzzWire(f *testing.F) {
	for text := range addresses {
		f.Add([]byte("\x05\x01\x00" + text + "rest"))
		f.Add([]byte("\x00\x00\x00" + text + "rest"))
	}
	f.Add([]byte("\x05\x02\x00\x02"))
	f.Add([]byte("\x01\x04user\x04pass"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		if q, err := ReadRequest(r); err == nil {
			again, err := q.Append(nil)
			q2, err2 := ReadRequest(bytes.NewReader(again))
			if err != nil || err2 != nil || q != q2 {
				t.Errorf("%+v, %v and %+v, %v", q, err, q2, err2)
			}
			used := len(b) - r.Len()
			if used > 3+maxAddress || !q.Address.IP.Is4() && !bytes.Equal(b[4:used], again[4:]) {
				t.Errorf("%d bytes of %q were read, %q is written", used, b, again)
			}
		}
		if a, data, err := ParseDatagram(b); err == nil {
			again, err := AppendDatagram(nil, a)
			a2, rest, err2 := ParseDatagram(append(again, data...))
			if err != nil || err2 != nil || a != a2 || !bytes.Equal(data, rest) {
				t.Errorf("%+v, %v and %+v, %v", a, err, a2, err2)
			}
		}
		if m, err := ReadGreeting(bytes.NewReader(b)); err == nil &&
			!bytes.HasPrefix(b, AppendGreeting(nil, m...)) {
			t.Errorf("%q is read as %v", b, m)
		}
		if user, password, err := ReadPassword(bytes.NewReader(b)); err == nil && user != "" &&
			password != "" {
			again, err := AppendPassword(nil, user, password)
			if err != nil || !bytes.HasPrefix(b, again) {
				t.Errorf("%q is read as %q and %q, %v", b, user, password, err)
			}
		}
	})
}

// FuzzAddress parses addresses as they are written, and again as they are printed.
func FuzzAddress(f *testing.F) {
	for _, text := range []string{"127.0.0.1:80", "[::1]:80", "[fe80::1%eth0]:80",
		"[::ffff:1.2.3.4]:7", "host.example:65535", "host", ":80", "[]:80", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAddress(text)
		if err != nil {
			return
		}
		if again, err := ParseAddress(a.String()); err != nil || again != a {
			t.Errorf("%q is %v, which is read as %v, %v", text, a, again, err)
		}
	})
}
