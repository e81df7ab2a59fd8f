package gonet

import (
	"time"

	"interleave/gonet/tcp"
)

// keepAlive is the silence before the first probe, and the time between probes, that package net
// sets for each connection. Without them a connection to a peer that has gone lives for ever.
const keepAlive = 15 * time.Second

// withKeepAlive returns the configuration with the defaults of package net for keep-alive.
func withKeepAlive(c tcp.Config) tcp.Config {
	switch {
	case c.KeepAlive < 0:
		c.KeepAlive = 0
	case c.KeepAlive == 0:
		c.KeepAlive = keepAlive
		if c.KeepInterval == 0 {
			c.KeepInterval = keepAlive
		}
	}
	return c
}
