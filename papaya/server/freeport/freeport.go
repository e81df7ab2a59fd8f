// Package freeport finds ports for servers of tests. The laboratory has the like in internal/probe:
// Papaya stands alone and imports nothing of it.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
)

// first is where ports are looked for: above the well-known ones and most daemons'.
const first = 10_000

var given struct {
	sync.Mutex
	ports map[int]bool
}

// Find returns a port of 127.0.0.1 that nobody listens at and that it has not returned before. It
// is below those that the kernel gives to clients: one of these may be some client's by the time
// the server wants it, or wants it again after a restart.
func Find() (int, error) {
	last := 32_768 // ip_local_port_range, if nobody has changed it
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		_, _ = fmt.Sscan(string(text), &last) // what is not a number leaves it
	}
	given.Lock()
	defer given.Unlock()
	if given.ports == nil {
		given.ports = map[int]bool{}
	}
	var failed error
	for range 100 {
		port := first + rand.IntN(max(1000, last-first))
		if given.ports[port] {
			continue
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			failed = err
			continue
		}
		given.ports[port] = true
		return port, l.Close()
	}
	return 0, fmt.Errorf("finding a free port: %w", failed)
}
