package gonet

import (
	"net"
	"sync/atomic"
	"syscall"
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

// connOptions are the options of the connections of a listener or of a Dialer.
type connOptions struct {
	tcp      *tcp.Config
	configs  *sharedConfigs // made of tcp
	ttl, tos uint8
}

// connOptions returns the options of connections. A nil cfg is the stack's, and nil are those of a
// connection for which nothing is set.
func (s *Stack) connOptions(cfg *tcp.Config, ttl, tos uint8) *connOptions {
	if cfg == nil && ttl == 0 && tos == 0 {
		return nil
	}
	o := &connOptions{&s.cfg.TCP, &s.tcp.configs, ttl, tos &^ 3}
	if cfg != nil {
		own := withKeepAlive(*cfg)
		o.tcp, o.configs = &own, new(sharedConfigs)
	}
	return o
}

// setOptions sets the options of a connection that has no machine yet.
func (c *Conn) setOptions(o *connOptions) {
	if o != nil {
		c.configure(o.tcp, o.configs)
		c.ttl, c.tos = o.ttl, o.tos
	}
}

// setOptions sets the options of a socket that is not bound yet. A readBuffer of 0 is the stack's.
func (p *PacketConn) setOptions(ttl, tos uint8, readBuffer int) {
	p.ttl.Store(uint32(ttl))
	p.tos.Store(uint32(tos))
	if readBuffer > 0 {
		p.in.setLimit(readBuffer)
	}
}

// orElse returns value, or otherwise if it is 0.
func orElse(value, otherwise uint8) uint8 {
	if value == 0 {
		return otherwise
	}
	return value
}

// sharedConfigs has the configurations that connections with the same options share, one for each
// kind of path: of each family, to others and to the stack itself. Most connections never set an
// option, and so have none of their own.
type sharedConfigs [4]sharedConfig

type sharedConfig struct{ last atomic.Pointer[tcp.Config] }

// get returns a configuration that is equal to want, and that nobody changes. Any goroutine.
func (s *sharedConfig) get(want *tcp.Config) *tcp.Config {
	if c := s.last.Load(); c != nil && *c == *want {
		return c
	}
	c := new(tcp.Config)
	*c = *want
	s.last.Store(c)
	return c
}

// reconfigure changes the configuration of this connection alone. The caller holds mu, or nobody
// else has the connection yet.
func (c *Conn) reconfigure(change func(cfg *tcp.Config)) {
	if !c.ownsConfig {
		own := *c.cfg
		c.cfg, c.ownsConfig = &own, true
	}
	change(c.cfg)
	if c.machine != nil {
		c.machine.SetConfig(c.cfg)
	}
}

// set changes options of the connection. The change runs while mu is held.
func (c *Conn) set(change func()) error {
	return c.fail("set", c.call(func(tcp.Time) { change() }))
}

// setConfig changes options of the machine.
func (c *Conn) setConfig(change func(cfg *tcp.Config)) error {
	return c.set(func() { c.reconfigure(change) })
}

// SetKeepAlive switches keep-alive on, with the stack's times, or off, as of *net.TCPConn.
func (c *Conn) SetKeepAlive(on bool) error {
	return c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: on})
}

// SetKeepAlivePeriod sets the silence before the first probe and the time between probes.
func (c *Conn) SetKeepAlivePeriod(d time.Duration) error {
	return c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: d, Interval: d, Count: -1})
}

// SetKeepAliveConfig sets keep-alive as of *net.TCPConn: a field that is 0 has the default of
// package net (15 s, 15 s, 9 probes), and a negative one stays as it is.
func (c *Conn) SetKeepAliveConfig(k net.KeepAliveConfig) error {
	return c.setConfig(func(cfg *tcp.Config) {
		if !k.Enable {
			cfg.KeepAlive = 0
			return
		}
		if k.Idle > 0 {
			cfg.KeepAlive = k.Idle
		} else if k.Idle == 0 || cfg.KeepAlive == 0 {
			cfg.KeepAlive = keepAlive
		}
		if k.Interval > 0 {
			cfg.KeepInterval = k.Interval
		} else if k.Interval == 0 {
			cfg.KeepInterval = keepAlive
		}
		if k.Count >= 0 {
			cfg.KeepCount = k.Count // 0: nine
		}
	})
}

// SetNoDelay switches Nagle's algorithm off, as of *net.TCPConn. It is off at first.
func (c *Conn) SetNoDelay(on bool) error {
	return c.setConfig(func(cfg *tcp.Config) { cfg.Delay = !on })
}

// SetReadBuffer sets the bound on received bytes that are not read. The window that the peer may
// have used is kept.
func (c *Conn) SetReadBuffer(bytes int) error {
	if bytes <= 0 {
		return c.fail("set", syscall.EINVAL)
	}
	return c.setConfig(func(cfg *tcp.Config) { cfg.ReceiveBuffer = bytes })
}

// SetWriteBuffer sets the bound on written bytes that are not acknowledged.
func (c *Conn) SetWriteBuffer(bytes int) error {
	if bytes <= 0 {
		return c.fail("set", syscall.EINVAL)
	}
	return c.setConfig(func(cfg *tcp.Config) { cfg.SendBuffer = bytes })
}

// SetUserTimeout sets how long written bytes may wait for an acknowledgement before the connection
// fails with ETIMEDOUT: TCP_USER_TIMEOUT of Linux. 0 is the default, 15 minutes. Dialer.TCP has one
// that bounds the handshake, too.
func (c *Conn) SetUserTimeout(d time.Duration) error {
	if d < 0 {
		return c.fail("set", syscall.EINVAL)
	}
	return c.setConfig(func(cfg *tcp.Config) { cfg.UserTimeout = d })
}

// SetLinger sets what Close does with bytes that are not acknowledged, as of *net.TCPConn: with 0
// it resets the connection, with more the connection is reset after so many seconds, and with a
// negative number, the default, after the user timeout.
func (c *Conn) SetLinger(seconds int) error {
	return c.set(func() { c.linger = time.Duration(seconds) * time.Second })
}

// resetAfter resets the connection after a while, unless its peer has acknowledged all by then. The
// caller holds mu.
func (c *Conn) resetAfter(d time.Duration) {
	s := c.stack
	time.AfterFunc(d, func() {
		_ = s.post(func() { // a stack that has ended has no connections
			if c.busy() {
				s.abortConn(c)
			}
		})
	})
}

// SetTTL sets the TTL, or the hop limit of IPv6, of the packets. 0 is the stack's.
func (c *Conn) SetTTL(ttl uint8) error { return c.set(func() { c.ttl = ttl }) }

// SetTOS sets the TOS, or the traffic class of IPv6, of the packets. Its two lowest bits are those
// of ECN, which belong to the stack, and are ignored.
func (c *Conn) SetTOS(tos uint8) error { return c.set(func() { c.tos = tos &^ 3 }) }
