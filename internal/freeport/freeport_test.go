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
		seen[port] = true
		if from, to := Range(); port < from || port >= to {
			t.Errorf("got port %d, want one from %d to %d", port, from, to-1)
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
}

// TestForKeepsOthersAway: nobody else gets a port of For, although nothing listens there.
func TestForKeepsOthersAway(t *testing.T) {
	port := For(t)
	from, to := Range()
	if port < to-share(from, to) {
		t.Errorf("port %d is one that Find might return, of %d to %d", port, from, to-1)
	}
	for range 1000 {
		if got := Any(); got < from || got >= to-share(from, to) {
			t.Fatalf("Any returns %d, one of those that For returns, up to %d", got, to-1)
		}
	}
	if l, err := net.Listen("unix", fmt.Sprintf("@interleave-port-%d", port)); err == nil {
		l.Close()
		t.Errorf("another process may get port %d", port)
	}
}

// TestHold: a held port is nobody else's until it is closed, whether a server listens there or not.
func TestHold(t *testing.T) {
	held, err := Hold()
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("@interleave-port-%d", held.Port)
	if l, err := net.Listen("unix", name); err == nil {
		l.Close()
		t.Errorf("another process may get port %d", held.Port)
	}
	for range 2 {
		l, err := Listen(held.Port)
		if err != nil {
			t.Fatalf("a server of the holder: %v", err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", name)
	if err != nil {
		t.Fatalf("after Close: %v", err)
	}
	l.Close()
}

// Clients have the ports from the kernel's default on, or nearly all of them.
func TestRange(t *testing.T) {
	for _, c := range []struct{ clients, from, to int }{
		{32_768, 10_000, 32_768}, {11_000, 10_000, 11_000}, {10_999, 1024, 65_536},
		{1024, 1024, 65_536},
	} {
		if from, to := below(c.clients); from != c.from || to != c.to {
			t.Errorf("below %d: got %d to %d, want %d to %d", c.clients, from, to, c.from, c.to)
		}
	}
}

// A process that has just been started holds all that its parent had open, until it executes its
// program. The second descriptor stands for it.
func TestCloseWhileAProcessStarts(t *testing.T) {
	port := For(t)
	l, err := Listen(port)
	if err != nil {
		t.Fatal(err)
	}
	inherited, err := l.(listener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer inherited.Close()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Listen(port)
	if err != nil {
		t.Fatalf("the port is not free again: %v", err)
	}
	again.Close()
}
