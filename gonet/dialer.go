package gonet

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"time"

	"interleave/gonet/tcp"
)

// Resolver looks up the addresses of a name, as a *net.Resolver does. network is "ip", "ip4" or
// "ip6".
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Dialer connects to names, and has options that are there before the first packet is sent. Only
// Stack must be given. Its DialContext fits http.Transport and the like.
type Dialer struct {
	Stack    *Stack
	Resolver Resolver // nil: only addresses can be dialed
	// LocalAddr is the address and port to dial from, as of net.Dialer: a *net.TCPAddr or a
	// *net.UDPAddr. Without an address the route selects it, and a port of 0 is a free one.
	LocalAddr net.Addr
	// FallbackDelay is how long the addresses of one family have before those of the other are
	// tried as well, as of net.Dialer (Happy Eyeballs, RFC 6555): 0 is 300 ms, and a negative one
	// tries all one after the other.
	FallbackDelay time.Duration
	// TCP has the options of connections, from the SYN on, as that of a ListenConfig; nil:
	// Config.TCP of the stack. Its UserTimeout bounds the handshake, too: a peer that does not
	// answer is ETIMEDOUT after it, and the next address of a name has its turn.
	TCP *tcp.Config
	// TTL, or the hop limit of IPv6, and TOS, or its traffic class, are those of all packets to the
	// peer, from the SYN on, as those of a ListenConfig; 0: the stack's.
	TTL, TOS uint8
	// ReadBuffer bounds the datagrams that wait in a socket of UDP, in bytes; 0:
	// Config.SocketBuffer.
	ReadBuffer int
}

const (
	// leastTry is the least time that each address of a name gets to answer, if the context's
	// deadline allows it. It is that of package net.
	leastTry = 2 * time.Second
	// fallbackDelay is that of package net.
	fallbackDelay = 300 * time.Millisecond
)

// DialContext connects as net.Dialer's does. It tries the addresses of a name one after the other;
// each gets its share of the time until the context's deadline. For "tcp" the family of the first
// address begins, and that of the others joins in after FallbackDelay, or when it has failed.
func (d Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	if _, err := netip.ParseAddr(host); err == nil || host == "" || d.Resolver == nil ||
		isLocalhost(host) {
		return d.dial(ctx, network, address)
	}
	family := "ip"
	if strings.HasSuffix(network, "4") || strings.HasSuffix(network, "6") {
		family += network[len(network)-1:]
	}
	addresses, err := d.Resolver.LookupNetIP(ctx, family, host)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	first, others := byFamily(addresses)
	if network != "tcp" || len(others) == 0 || d.FallbackDelay < 0 {
		return d.inTurn(ctx, network, port, addresses)
	}
	return d.race(ctx, network, port, first, others)
}

// byFamily returns the addresses that are of the first one's family, and the others.
func byFamily(all []netip.Addr) (first, others []netip.Addr) {
	for _, a := range all {
		if a.Unmap().Is4() == all[0].Unmap().Is4() {
			first = append(first, a)
		} else {
			others = append(others, a)
		}
	}
	return first, others
}

// race dials the addresses of both families, the others later, and returns the first connection. It
// fails as the first family did when both have failed.
func (d Dialer) race(ctx context.Context, network, port string,
	first, others []netip.Addr) (net.Conn, error) {
	type result struct {
		conn  net.Conn
		err   error
		first bool
	}
	ctx, cancel := context.WithCancel(ctx) // ends the loser
	defer cancel()
	results := make(chan result, 2) // so that nobody waits
	dial := func(addresses []netip.Addr, isFirst bool) {
		c, err := d.inTurn(ctx, network, port, addresses)
		results <- result{c, err, isFirst}
	}
	delay := d.FallbackDelay
	if delay == 0 {
		delay = fallbackDelay
	}
	wait := time.NewTimer(delay)
	defer wait.Stop()
	go dial(first, true)
	dialing, begun := 1, false
	fallBack := func() {
		if !begun {
			begun = true
			dialing++
			go dial(others, false)
		}
	}
	var failed error
	for dialing > 0 {
		select {
		case <-wait.C:
			fallBack()
		case r := <-results:
			dialing--
			if r.err == nil {
				go func() { // ends with the loser, which cancel ends
					for range dialing {
						if late := <-results; late.err == nil {
							_ = late.conn.Close() // nobody gets it
						}
					}
				}()
				return r.conn, nil
			}
			if failed == nil || r.first {
				failed = r.err
			}
			fallBack()
		}
	}
	return nil, failed
}

// inTurn dials the addresses one after the other.
func (d Dialer) inTurn(ctx context.Context, network, port string,
	addresses []netip.Addr) (net.Conn, error) {
	var first error
	for i, a := range addresses {
		c, err := d.try(ctx, network, net.JoinHostPort(a.Unmap().String(), port), len(addresses)-i)
		if err == nil {
			return c, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

// try dials one address, with the among-th part of the remaining time.
func (d Dialer) try(ctx context.Context, network, address string, among int) (net.Conn, error) {
	if end, ok := ctx.Deadline(); ok && among > 1 {
		share, cancel := context.WithTimeout(ctx, max(time.Until(end)/time.Duration(among),
			leastTry))
		defer cancel()
		ctx = share
	}
	return d.dial(ctx, network, address)
}
