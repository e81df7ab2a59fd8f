package limit

import (
	"fmt"
	"net/netip"
	"sync"
)

// Connections counts open connections, in all and by address. Any goroutine may use it.
type Connections struct {
	mu      sync.Mutex
	total   int
	each    int
	open    int
	counted map[string]int
}

// NewConnections sets the limits for all connections and for those of one address; 0 is no limit.
func NewConnections(total, each int) *Connections {
	return &Connections{total: total, each: each, counted: map[string]int{}}
}

// Set changes the limits. Open connections stay.
func (c *Connections) Set(total, each int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total, c.each = total, each
}

// Open returns the number of open connections.
func (c *Connections) Open() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
}

// Enter counts a connection, or returns why it is refused. The caller calls leave when the
// connection has ended; further calls have no effect.
func (c *Connections) Enter(a netip.Addr) (leave func(), err error) {
	key := Key(a)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.total > 0 && c.open >= c.total {
		return nil, fmt.Errorf("too many connections: %d are open", c.open)
	}
	if c.each > 0 && c.counted[key] >= c.each {
		return nil, fmt.Errorf("too many connections from %s: %d are open", key, c.counted[key])
	}
	c.open++
	c.counted[key]++
	return sync.OnceFunc(func() { c.leave(key) }), nil
}

func (c *Connections) leave(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	if c.counted[key]--; c.counted[key] == 0 {
		delete(c.counted, key)
	}
}
