// Package freeport finds free ports for servers that tests start.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"testing"
)

// first is the lowest port that Find returns: above the well-known ports and those of most daemons.
const first = 10_000

// given are the ports that Find has returned in this process.
var given struct {
	sync.Mutex
	ports map[int]bool
}

// Find returns a port of 127.0.0.1 on which nothing listens, and which it has not returned before.
// The port is below the range from which the kernel gives clients their ports. A port of that range
// might belong to a client by the time the server binds it, or binds it again after a restart.
func Find(t testing.TB) int {
	t.Helper()
	last := 32_768 // the default start of ip_local_port_range
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		_, _ = fmt.Sscan(string(text), &last) // a text that is no number leaves the default
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
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		return port
	}
	t.Fatalf("finding a free port: %v", failed)
	return 0
}
