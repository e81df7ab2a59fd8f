package socks

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxDatagram = 65535 // bytes
	// The names of datagrams: how long an address is remembered, of how many names, how long a
	// lookup may take, and how many are in progress for one client. Guesses.
	nameTime    = time.Minute
	maxNames    = 256
	lookupTime  = 10 * time.Second
	mostLookups = 8
)

// association is the UDP ASSOCIATE of one client (RFC 1928 section 7).
type association struct {
	*service
	near   *net.UDPConn                   // to the client
	far    net.PacketConn                 // to the destinations
	client atomic.Pointer[netip.AddrPort] // where the client sends from; nil: it has sent nothing
	names  names
	wait   sync.WaitGroup
}

// associate serves UDP ASSOCIATE. The association ends with the client's connection. The socket for
// the client's datagrams has the address to which the client has connected.
func (v *service) associate(ctx context.Context, c net.Conn, from Address) error {
	local, peer := addrPort(c.LocalAddr()), addrPort(c.RemoteAddr())
	near, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(
		netip.AddrPortFrom(local.Addr().Unmap(), 0)))
	if err != nil {
		refuse(c, GeneralFailure)
		return err
	}
	far, err := v.ListenPacket()
	if err != nil {
		_ = near.Close()
		refuse(c, codeOf(err))
		return err
	}
	a := &association{service: v, near: near, far: far}
	a.names.known = map[string]known{}
	ctx, cancel := context.WithCancel(ctx)
	defer a.wait.Wait()
	closeAll := func() { _, _, _ = near.Close(), far.Close(), c.Close() } // each ends a goroutine
	defer closeAll()
	defer cancel()
	defer context.AfterFunc(ctx, closeAll)()
	if from.Port != 0 {
		// The client has said where it will send from. Its address is that of its connection, which
		// a translator of addresses on the way may have changed.
		source := netip.AddrPortFrom(peer.Addr().Unmap(), from.Port)
		a.client.Store(&source)
	}
	if err := succeed(c, near.LocalAddr()); err != nil {
		return err
	}
	v.log("%v: datagrams by way of %v", c.RemoteAddr(), near.LocalAddr())
	a.wait.Go(func() {
		defer cancel()
		a.outgoing(ctx, peer.Addr().Unmap())
	})
	a.wait.Go(func() {
		defer cancel()
		a.incoming()
	})
	_, _ = io.Copy(io.Discard, c) // the client sends nothing more; how it ends does not matter
	return nil
}

// outgoing is the goroutine that reads the client's datagrams. Those of other hosts are dropped
// (RFC 1928 section 7), and those of other ports: another user of the client's host may not join.
func (a *association) outgoing(ctx context.Context, host netip.Addr) {
	lookups := make(chan struct{}, mostLookups)
	b := make([]byte, MaxDatagramHeader+maxDatagram)
	for {
		n, from, err := a.near.ReadFromUDPAddrPort(b)
		if err != nil {
			return
		}
		from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
		if from.Addr() != host {
			continue
		}
		to, data, err := ParseDatagram(b[:n])
		if err != nil {
			continue
		}
		if client := a.client.Load(); client == nil {
			a.client.Store(&from)
		} else if *client != from {
			continue
		}
		if to.Name == "" {
			a.send(to.AddrPort(), data)
		} else if ip, ok := a.names.get(to.Name); ok {
			a.send(netip.AddrPortFrom(ip, to.Port), data)
		} else if a.Lookup != nil {
			select {
			case lookups <- struct{}{}:
			default:
				continue // UDP may lose datagrams
			}
			data := bytes.Clone(data)
			a.wait.Go(func() {
				defer func() { <-lookups }()
				a.lookUp(ctx, to, data)
			})
		}
	}
}

// send sends a datagram to its destination. One that cannot be sent is lost.
func (a *association) send(to netip.AddrPort, data []byte) {
	_, _ = a.far.WriteTo(data, net.UDPAddrFromAddrPort(to))
}

// lookUp looks up a name, and sends the datagram that waits for its address.
func (a *association) lookUp(ctx context.Context, to Address, data []byte) {
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	ip, err := a.Lookup(ctx, to.Name)
	if err != nil {
		a.log("a datagram to %v: %v", to, err)
		return
	}
	a.names.put(to.Name, ip)
	a.send(netip.AddrPortFrom(ip, to.Port), data)
}

// incoming is the goroutine that passes datagrams to the client, with their source before them.
func (a *association) incoming() {
	b := make([]byte, MaxDatagramHeader+maxDatagram)
	var header [MaxDatagramHeader]byte
	for {
		n, from, err := a.far.ReadFrom(b[MaxDatagramHeader:])
		if err != nil {
			return
		}
		client := a.client.Load()
		if client == nil {
			continue
		}
		h, err := AppendDatagram(header[:0], AddressOf(addrPort(from)))
		if err != nil {
			continue
		}
		start := MaxDatagramHeader - len(h)
		copy(b[start:], h)
		_, _ = a.near.WriteToUDPAddrPort(b[start:MaxDatagramHeader+n], *client) // it may be lost
	}
}

// names remembers the addresses of names.
type names struct {
	mu    sync.Mutex
	known map[string]known
}

type known struct {
	ip    netip.Addr
	until time.Time
}

func (n *names) get(name string) (netip.Addr, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	k, ok := n.known[name]
	return k.ip, ok && time.Now().Before(k.until)
}

// put adds a name. If there are too many, all others are forgotten.
func (n *names) put(name string, ip netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.known) >= maxNames {
		clear(n.known)
	}
	n.known[name] = known{ip, time.Now().Add(nameTime)}
}
