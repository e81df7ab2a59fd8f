package main

import (
	"net"
	"strconv"
	"testing"

	"interleave/internal/freeport"
	"interleave/papaya/config"
)

// TestListenersAreEarly: a client that connects before the server takes its listener is not
// refused. Each address is opened as often as it is set, and nothing is left open.
func TestListenersAreEarly(t *testing.T) {
	port, err := freeport.Hold()
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	at := net.JoinHostPort("127.0.0.1", strconv.Itoa(port.Port))
	c := config.Default()
	c.Plain, c.TLS, c.Web = []string{"127.0.0.1:0"}, []string{at}, []string{"127.0.0.1:0"}
	e, err := listenEarly(c)
	if err != nil {
		t.Fatal(err)
	}
	client, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatalf("a client that comes early: %v", err)
	}
	defer client.Close()
	l, err := e.take("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.Accept(); err != nil {
		t.Errorf("it is not accepted: %v", err)
	}
	if again, err := e.take("tcp", at); err == nil {
		t.Errorf("the listener is there twice: %v", again.Addr())
	}
	one, err := e.take("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	other := e.open["127.0.0.1:0"]
	if len(other) != 1 || other[0].Addr().String() == one.Addr().String() {
		t.Fatalf("there are %v beside %v", other, one.Addr())
	}
	// A second server is refused, and leaves nothing open.
	c.Plain = nil
	c.Web = nil
	if _, err := listenEarly(c); err == nil {
		t.Error("an address was opened twice")
	}
	if err := e.close(); err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", other[0].Addr().String()); err == nil {
		_ = c.Close()
		t.Error("a listener that nobody has taken is left open")
	}
}
