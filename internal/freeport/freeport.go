// Package freeport finds free ports of 127.0.0.1 for servers, and frees a port for the next one.
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

const (
	// first is the lowest port: above the well-known ones and those of most daemons.
	first = 10_000

	// clientsFirst is the first port of clients, unless the kernel tells another.
	clientsFirst = 32_768
)

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
		l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			failed = err
			continue
		}
		return port, Unlisten(l.(*net.TCPListener))
	}
	return 0, fmt.Errorf("finding a free port: %w", failed)
}

// For is Find for a test, which ends if there is none. It never returns a port twice.
func For(t interface {
	Helper()
	Fatal(args ...any)
}) int {
	t.Helper()
	given.Lock()
	defer given.Unlock()
	for {
		port, err := Find()
		if err != nil {
			t.Fatal(err)
		}
		if given.ports[port] {
			continue
		}
		if given.ports == nil {
			given.ports = map[int]bool{}
		}
		given.ports[port] = true
		return port
	}
}

// Any returns one of the ports of which Find tries some. It is for another network namespace, where
// only the server's start shows whether the port is free.
func Any() int {
	end := Clients()
	if end-first < 1000 {
		return 1024 + rand.IntN(1<<16-1024) // a range widened by hand: any port must do
	}
	return first + rand.IntN(end-first)
}

// Clients returns the first port that the kernel gives to clients.
func Clients() int {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return clientsFirst
	}
	var start int
	if _, err := fmt.Sscan(string(text), &start); err != nil {
		return clientsFirst
	}
	return start
}

// Unlisten closes a listener so that its port is free at once. Close alone is not enough while this
// process starts another: until the new process closes what it has inherited, which on a busy
// machine takes milliseconds, it listens, too, and nobody else can. A shutdown ends that for both.
func Unlisten(l *net.TCPListener) error {
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
	return errors.Join(failed, l.Close())
}
