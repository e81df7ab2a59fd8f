// Package freeport finds free ports of 127.0.0.1 for servers, and listens at ports that are free
// again as soon as the listener is closed.
package freeport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
)

// first is the lowest port: above the well-known ones and those of most daemons.
const first = 10_000

// reserved is how many ports at the end of the range only Hold and For return. A guess.
const reserved = 4096

// given keeps what For has held, until this process ends.
var given struct {
	sync.Mutex
	held []*Held
}

// Find returns a port on which nothing listens. The port is below the range from which the kernel
// gives clients their ports. A port of that range might belong to a client by the time the server
// binds it, or binds it again after a restart. Another process may still take the port before the
// server does.
func Find() (int, error) { return find(Any) }

func find(pick func() int) (int, error) {
	var failed error
	for range 100 {
		port := pick()
		l, err := Listen(port)
		if err != nil {
			failed = err
			continue
		}
		return port, l.Close()
	}
	return 0, fmt.Errorf("finding a free port: %w", failed)
}

// A Held port is one that Find never returns, and that no other call of Hold or For does before it
// is closed, in any process. A server may bind it late, and again after a restart.
type Held struct {
	Port        int
	reservation net.Listener
}

// Hold finds a free port and holds it. It does not listen there.
func Hold() (*Held, error) {
	from, to := Range()
	for {
		port, err := find(func() int { return to - 1 - rand.IntN(share(from, to)) })
		if err != nil {
			return nil, err
		}
		// The kernel knows who has it: a name for a socket in no folder, which is free again when
		// the process has ended in any way.
		l, err := net.Listen("unix", fmt.Sprintf("@interleave-port-%d", port))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("holding port %d: %w", port, err)
		}
		return &Held{port, l}, nil
	}
}

// Close gives the port back.
func (h *Held) Close() error { return h.reservation.Close() }

// For is Hold for a test, which ends if there is none. The port is held until this process ends. A
// *testing.T is what it takes; package testing itself stays out of the programs that find ports.
func For(t interface {
	Helper()
	Fatal(args ...any)
}) int {
	t.Helper()
	held, err := Hold()
	if err != nil {
		t.Fatal(err)
	}
	given.Lock()
	defer given.Unlock()
	given.held = append(given.held, held)
	return held.Port
}

// share is how many ports of a range only Hold and For return.
func share(from, to int) int { return min(reserved, (to-from)/4) }

// Any returns a port that Find might try, and does not look whether it is free. It is for a server
// in another network namespace, where only the server's start can show that.
func Any() int {
	from, to := Range()
	return from + rand.IntN(to-from-share(from, to))
}

// Range is that of all ports that may be found or held: the first one, and the one after the last.
func Range() (from, to int) {
	clients := 32_768 // the kernel's default
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		_, _ = fmt.Sscan(string(text), &clients) // a text that is no number leaves the default
	}
	return below(clients)
}

// below is Range where the kernel gives clients the ports from this one on.
func below(clients int) (from, to int) {
	if clients-first < 1000 {
		return 1024, 1 << 16 // clients have nearly all ports, as `doctor` may advise: any must do
	}
	return first, clients
}

// A listener frees its port as soon as it is closed. Its own Close is not enough while this process
// starts another: the new process inherits the listener and holds it until it executes its program,
// which takes milliseconds on a busy machine. Until then nobody else can listen at the port. A
// shutdown ends the listening in both processes.
type listener struct{ *net.TCPListener }

// Listen listens at a port of 127.0.0.1. Close frees the port at once.
func Listen(port int) (net.Listener, error) {
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	return listener{l.(*net.TCPListener)}, nil
}

func (l listener) Close() error {
	raw, err := l.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) {
		failed = os.NewSyscallError("shutdown", syscall.Shutdown(int(fd), syscall.SHUT_RD))
	}); err != nil {
		return err
	}
	return errors.Join(failed, l.TCPListener.Close())
}
