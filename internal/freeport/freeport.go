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

// given are the ports that For has returned in this process.
var given struct {
	sync.Mutex
	ports map[int]bool
}

// Find returns a port on which nothing listens. The port is below the range from which the kernel
// gives clients their ports. A port of that range might belong to a client by the time the server
// binds it, or binds it again after a restart. Another process may still take the port before the
// server does.
func Find() (int, error) {
	var failed error
	for range 100 {
		port := Any()
		l, err := Listen(port)
		if err != nil {
			failed = err
			continue
		}
		return port, l.Close()
	}
	return 0, fmt.Errorf("finding a free port: %w", failed)
}

// For is Find for a test, which ends if there is none. It never returns a port twice. A *testing.T
// is what it takes; package testing itself stays out of the programs that find ports.
func For(t interface {
	Helper()
	Fatal(args ...any)
}) int {
	t.Helper()
	given.Lock()
	defer given.Unlock()
	if given.ports == nil {
		given.ports = map[int]bool{}
	}
	for {
		port, err := Find()
		if err != nil {
			t.Fatal(err)
		}
		if !given.ports[port] {
			given.ports[port] = true
			return port
		}
	}
}

// Any returns a port that Find might try, and does not look whether it is free. It is for a server
// in another network namespace, where only the server's start can show that.
func Any() int {
	from, to := Range()
	return from + rand.IntN(to-from)
}

// Range is that of all ports that Find might try: the first one, and the one after the last.
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
