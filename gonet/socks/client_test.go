package socks

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// step is what a server expects, and what it answers.
type step struct{ want, answer string }

// scripted returns the Dial of a client whose server follows a script, and then sends back what it
// gets. Its connection ends when the client closes it, which the channel tells.
func scripted(t *testing.T, steps ...step) (func(context.Context, string, string) (net.Conn, error),
	chan struct{}) {
	closed := make(chan struct{})
	return func(_ context.Context, network, address string) (net.Conn, error) {
		near, far := net.Pipe()
		if network == "udp" { // the relay sends back each datagram as it is
			if address != "192.0.2.1:9" {
				t.Errorf("the relay is at %s", address)
			}
			go func() { // ends with the client
				_, _ = io.CopyBuffer(far, far, make([]byte, 65536))
				_ = far.Close()
			}()
			return near, nil
		}
		go func() {
			defer close(closed)
			for _, s := range steps {
				b := make([]byte, len(s.want))
				if _, err := io.ReadFull(far, b); err != nil {
					return // the client has given up
				}
				if string(b) != s.want {
					t.Errorf("the client sends %q, want %q", b, s.want)
				}
				if _, err := io.WriteString(far, s.answer); err != nil {
					return
				}
			}
			_, _ = io.Copy(far, far) // ends with the client
		}()
		return near, nil
	}, closed
}

const (
	greeted  = "\x05\x01\x00"
	accepted = "\x05\x00"
	asked    = "\x05\x01\x00\x03\x09host.test\x01\xbb"
	done     = "\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00"
)

func TestConnect(t *testing.T) {
	for name, steps := range map[string][]step{
		"without a password": {{greeted, accepted}, {asked, done}},
		"with a password": {{"\x05\x02\x00\x02", "\x05\x02"},
			{"\x01\x04user\x06secret", "\x01\x00"}, {asked, done}},
		"that nobody wants": {{"\x05\x02\x00\x02", accepted}, {asked, done}},
	} {
		t.Run(name, func(t *testing.T) {
			d := Dialer{Server: "proxy.test:1080"}
			if name != "without a password" {
				d.User, d.Password = "user", "secret"
			}
			var closed chan struct{}
			d.Dial, closed = scripted(t, steps...)
			c, err := d.DialContext(t.Context(), "tcp", "host.test:443")
			if err != nil {
				t.Fatal(err)
			}
			b := make([]byte, 5)
			if _, err := io.WriteString(c, "hello"); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(c, b); err != nil || string(b) != "hello" {
				t.Errorf("%q, %v", b, err)
			}
			_ = c.Close()
			<-closed
		})
	}
}

// TestCheck asks a server for nothing.
func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		steps []step
		want  string // of the error; empty: there is none
	}{
		"fine": {[]step{{"\x05\x02\x00\x02", "\x05\x02"},
			{"\x01\x04user\x06secret", "\x01\x00"}}, ""},
		"a wrong password": {[]step{{"\x05\x02\x00\x02", "\x05\x02"},
			{"\x01\x04user\x06secret", "\x01\x01"}}, "does not accept the user or the password"},
		"another protocol": {[]step{{"\x05\x02\x00\x02", "HTTP/1.1 400 Bad Request"}},
			"version 72, not 5"},
	} {
		d := Dialer{Server: "proxy.test:1080", User: "user", Password: "secret"}
		var closed chan struct{}
		d.Dial, closed = scripted(t, c.steps...)
		err := d.Check(t.Context())
		if (err == nil) != (c.want == "") || err != nil &&
			(!strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), "proxy.test:1080")) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		<-closed
	}
	synctest.Test(t, func(t *testing.T) { // a server that says nothing
		d := Dialer{}
		var closed chan struct{}
		d.Dial, closed = scripted(t, step{greeted + "and more", ""})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := d.Check(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		<-closed
	})
}

// TestConnectFails holds the error of each failure, and that no connection is left.
func TestConnectFails(t *testing.T) {
	for name, c := range map[string]struct {
		steps []step
		want  string
	}{
		"refused": {[]step{{greeted, accepted},
			{asked, "\x05\x05\x00\x01\x00\x00\x00\x00\x00\x00"}}, "connection refused"},
		"an answer of HTTP": {[]step{{greeted, "HTTP/1.1 400 Bad Request"}}, "version 72, not 5"},
		"no method":         {[]step{{greeted, "\x05\xff"}}, errMethod.Error()},
		"a method that was not offered": {[]step{{greeted, "\x05\x02"}},
			errMethod.Error()},
		"a refusal with a bad address": {[]step{{greeted, accepted},
			{asked, "\x05\x08\x00\x00\x00"}}, "address type not supported"},
		"an unknown code": {[]step{{greeted, accepted},
			{asked, "\x05\x63\x00\x01\x00\x00\x00\x00\x00\x00"}}, "reply code 99"},
	} {
		t.Run(name, func(t *testing.T) {
			d := Dialer{Server: "proxy.test:1080"}
			var closed chan struct{}
			d.Dial, closed = scripted(t, c.steps...)
			conn, err := d.DialContext(t.Context(), "tcp", "host.test:443")
			if conn != nil || err == nil || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), "host.test:443 through proxy.test:1080") {
				t.Errorf("%v, %v, want %q", conn, err, c.want)
			}
			<-closed
		})
	}
	d := Dialer{Server: "proxy.test:1080", User: "user", Password: "wrong"}
	var closed chan struct{}
	d.Dial, closed = scripted(t, step{"\x05\x02\x00\x02", "\x05\x02"},
		step{"\x01\x04user\x05wrong", "\x01\x01"})
	if _, err := d.DialContext(t.Context(), "tcp", "host.test:443"); err == nil ||
		!strings.Contains(err.Error(), "does not accept the user") {
		t.Errorf("a wrong password: %v", err)
	}
	<-closed
	var code Code
	d = Dialer{}
	d.Dial, _ = scripted(t, step{greeted, accepted},
		step{asked, "\x05\x04\x00\x01\x00\x00\x00\x00\x00\x00"})
	if _, err := d.DialContext(t.Context(), "tcp", "host.test:443"); !errors.As(err, &code) ||
		code != HostUnreachable {
		t.Errorf("%v has the code %v", err, code)
	}
	d.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, io.EOF }
	if _, err := d.DialContext(t.Context(), "tcp", "host.test:443"); !errors.Is(err, io.EOF) {
		t.Errorf("no server: %v", err)
	}
	if _, err := d.DialContext(t.Context(), "udp", "host.test:443"); err == nil {
		t.Error("udp was dialed")
	}
	if _, err := d.DialContext(t.Context(), "tcp", "host.test"); err == nil {
		t.Error("no port was dialed")
	}
}

// TestConnectEndsWithItsContext has servers that fall silent at each step.
func TestConnectEndsWithItsContext(t *testing.T) {
	for silent := range 2 {
		synctest.Test(t, func(t *testing.T) {
			steps := []step{{greeted, accepted}, {asked, done}}
			steps[silent].answer = ""
			d := Dialer{Server: "proxy.test:1080"}
			var closed chan struct{}
			d.Dial, closed = scripted(t, steps[:silent+1]...)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if _, err := d.DialContext(ctx, "tcp", "host.test:443"); !errors.Is(err,
				context.DeadlineExceeded) {
				t.Errorf("step %d: %v", silent, err)
			}
			<-closed
		})
	}
}

// associated returns an association whose server follows the script, and its control connection.
func associated(t *testing.T) (*Association, chan struct{}) {
	t.Helper()
	d := Dialer{Server: "proxy.test:1080"}
	var closed chan struct{}
	d.Dial, closed = scripted(t, step{greeted, accepted},
		step{"\x05\x03\x00\x01\x00\x00\x00\x00\x00\x00",
			"\x05\x00\x00\x01\xc0\x00\x02\x01\x00\x09"})
	a, err := d.Associate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return a, closed
}

func TestAssociate(t *testing.T) {
	a, closed := associated(t)
	b := make([]byte, 65536)
	for _, to := range []Address{{Name: "host.test", Port: 53},
		AddressOf(netip.MustParseAddrPort("[2001:db8::1]:443"))} {
		for _, size := range []int{0, 5, 60_000} {
			sent := make(chan error, 1)
			go func() { sent <- a.Send(make([]byte, size), to) }()
			data, from, err := a.Receive(b)
			if err != nil || from != to || len(data) != size {
				t.Errorf("%d bytes of %d from %v, %v", len(data), size, from, err)
			}
			if err := <-sent; err != nil {
				t.Error(err)
			}
		}
	}
	if err := a.Send(nil, Address{Name: "a b"}); !errors.Is(err, errName) {
		t.Errorf("to an invalid name: %v", err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	<-closed
	if _, _, err := a.Receive(b); err == nil {
		t.Error("received after Close")
	}
	if err := a.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("closed again: %v", err)
	}
}

// TestAssociationEndsWithItsServer has the server close the connection of an association.
func TestAssociationEndsWithItsServer(t *testing.T) {
	var control atomic.Pointer[net.Conn]
	d := Dialer{Dial: func(_ context.Context, network, _ string) (net.Conn, error) {
		near, far := net.Pipe()
		if network == "tcp" {
			control.Store(&far)
			go func() {
				b := make([]byte, 10)
				_, _ = io.ReadFull(far, b[:3]) // the test fails if it is not there
				_, _ = io.WriteString(far, accepted)
				_, _ = io.ReadFull(far, b)
				_, _ = io.WriteString(far, "\x05\x00\x00\x03\x0arelay.test\x00\x09")
			}()
		}
		return near, nil
	}}
	a, err := d.Associate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() {
		_, _, err := a.Receive(make([]byte, 100))
		failed <- err
	}()
	_ = (*control.Load()).Close()
	if err := <-failed; err == nil {
		t.Error("received after the end")
	}
}
