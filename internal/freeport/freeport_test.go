package freeport

import (
	"fmt"
	"net"
	"testing"
)

func TestPortsAreFreeAndDiffer(t *testing.T) {
	seen := map[int]bool{}
	for range 50 {
		port := For(t)
		if seen[port] {
			t.Errorf("port %d was returned twice", port)
		}
		if seen[port] = true; port < 1024 || port >= Clients() {
			t.Errorf("got port %d, want one above 1023 and below %d", port, Clients())
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
}

// A process that has just been started holds all that its parent had open, until it executes its
// program. The second descriptor stands for it.
func TestUnlistenWhileAProcessStarts(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	inherited, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer inherited.Close()
	if err := Unlisten(l.(*net.TCPListener)); err != nil {
		t.Fatal(err)
	}
	again, err := net.Listen("tcp4", l.Addr().String())
	if err != nil {
		t.Fatalf("the port is not free again: %v", err)
	}
	again.Close()
}
