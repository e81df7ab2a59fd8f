// Package dns asks servers for the addresses of names, over connections that its user makes. It
// reads no file of this machine: neither its names nor its search domains nor its servers, which
// belong to another network than that of a tunnel or a stack.
package dns

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// Resolver asks servers for addresses. Dial and Servers must be given. Many goroutines may use one.
type Resolver struct {
	// Dial connects to a server. network is "udp" or "tcp", and address an address with a port.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Servers returns the servers; the first one is asked first. A port of 0 is 53.
	Servers func() []netip.AddrPort
	// Families tells which addresses are of use, if both are asked for; nil, or neither: both.
	Families func() (ipv4, ipv6 bool)
	// Search lists the domains in which names without a dot are looked up first.
	Search []string
}

const (
	serverTime = 5 * time.Second // of one server, as in resolv.conf(5)
	attempts   = 2               // rounds over all servers
	dnsPort    = 53
)

// ErrNoServers is what a lookup fails with if there is no server; the error is a *net.DNSError with
// its text.
var ErrNoServers = errors.New("no DNS server is configured")

// errAnswer is the error of a stream that has another answer than that to the query.
var errAnswer = errors.New("the answer does not belong to the query")

// LookupHost returns the addresses of a name, as LookupNetIP does for both families.
func (r *Resolver) LookupHost(ctx context.Context, host string) (all []string, err error) {
	found, err := r.LookupNetIP(ctx, "ip", host)
	for _, a := range found {
		all = append(all, a.String())
	}
	return all, err
}

// LookupNetIP returns the addresses of a name, at least one: those of IPv6 first. network is "ip",
// or "ip4" or "ip6" for one family. An address is returned as it is. The names of this host itself,
// localhost and those below it, are asked of nobody (RFC 6761 section 6.3), and do not exist.
func (r *Resolver) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	kinds, err := r.kinds(network)
	if err != nil {
		return nil, err
	}
	if a, err := netip.ParseAddr(host); err == nil {
		if a = a.Unmap(); network == "ip" || a.Is4() == (network == "ip4") {
			return []netip.Addr{a}, nil
		}
		return nil, failure(host, "", errNoName)
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if !isName(host) || name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return nil, failure(host, "", errNoName)
	}
	if !strings.Contains(host, ".") {
		for _, domain := range r.Search {
			below := name + "." + strings.ToLower(strings.Trim(domain, ".")) + "."
			if !isName(below) {
				continue
			}
			all, server, err := r.lookup(ctx, below, kinds)
			switch {
			case err == nil:
				return all, nil
			case !errors.Is(err, errNoName):
				return nil, failure(host, server, err)
			}
		}
	}
	all, server, err := r.lookup(ctx, name+".", kinds)
	if err != nil {
		return nil, failure(host, server, err)
	}
	return all, nil
}

// kinds returns the types of records to ask for.
func (r *Resolver) kinds(network string) ([]uint16, error) {
	switch network {
	case "ip4":
		return []uint16{typeA}, nil
	case "ip6":
		return []uint16{typeAAAA}, nil
	case "ip":
	default:
		return nil, net.UnknownNetworkError(network)
	}
	if r.Families != nil {
		switch ipv4, ipv6 := r.Families(); {
		case ipv4 && !ipv6:
			return []uint16{typeA}, nil
		case ipv6 && !ipv4:
			return []uint16{typeAAAA}, nil
		}
	}
	return []uint16{typeAAAA, typeA}, nil
}

// failure returns an error as those of package net.
func failure(host, server string, err error) error {
	var timeout net.Error
	return &net.DNSError{Err: err.Error(), Name: host, Server: server,
		IsNotFound: errors.Is(err, errNoName),
		IsTimeout:  errors.As(err, &timeout) && timeout.Timeout()}
}

// lookup asks for records of all types at once. It fails if it has found none; with what has
// happened rather than with errNoName, if one of the answers is not known.
func (r *Resolver) lookup(ctx context.Context, name string, kinds []uint16) (all []netip.Addr,
	server string, err error) {
	type result struct {
		all    []netip.Addr
		server string
		err    error
	}
	results := make([]result, len(kinds))
	var asked sync.WaitGroup
	for i, kind := range kinds {
		asked.Go(func() {
			x := &results[i]
			x.all, x.server, x.err = r.ask(ctx, question{name, kind})
		})
	}
	asked.Wait()
	err = errNoName
	for _, x := range results {
		all = append(all, x.all...)
		if x.err != nil && !errors.Is(x.err, errNoName) {
			server, err = x.server, x.err
		}
	}
	if len(all) > 0 {
		err = nil
	}
	return all, server, err
}

// ask asks the servers in turn until one has answered.
func (r *Resolver) ask(ctx context.Context, q question) (all []netip.Addr, server string,
	err error) {
	servers := slices.Clone(r.Servers())
	err = ErrNoServers
	for range attempts {
		for _, s := range servers {
			if s.Port() == 0 {
				s = netip.AddrPortFrom(s.Addr(), dnsPort)
			}
			server = s.String()
			if all, err = r.exchange(ctx, server, q); err == nil || errors.Is(err, errNoName) ||
				ctx.Err() != nil {
				return all, server, err
			}
		}
	}
	return nil, server, err
}

// exchange asks one server, over UDP and, if the answer does not fit, over TCP.
func (r *Resolver) exchange(ctx context.Context, server string, q question) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, serverTime)
	defer cancel()
	all, err := r.exchangeOver(ctx, "udp", server, q)
	if errors.Is(err, errTruncated) {
		all, err = r.exchangeOver(ctx, "tcp", server, q)
	}
	return all, err
}

// exchangeOver asks one server over one protocol. Each query has a socket of its own, and so a
// port, and an identifier that is drawn anew.
func (r *Resolver) exchangeOver(ctx context.Context, network, server string,
	q question) ([]netip.Addr, error) {
	c, err := r.Dial(ctx, network, server)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := c.SetDeadline(deadline); err != nil {
			return nil, err
		}
	}
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })()
	var random [2]byte
	_, _ = rand.Read(random[:]) // never fails
	id := binary.BigEndian.Uint16(random[:])
	if network == "tcp" {
		return overTCP(c, q, id)
	}
	if _, err := c.Write(q.query(id)); err != nil {
		return nil, err
	}
	b := make([]byte, maxUDP)
	for {
		n, err := c.Read(b)
		if err != nil {
			return nil, err
		}
		if at, yes := q.isAnsweredBy(b[:n], id); yes {
			return q.addresses(b[:n], at)
		}
	}
}

// overTCP puts the length before each message (RFC 1035 section 4.2.2).
func overTCP(c net.Conn, q question, id uint16) ([]netip.Addr, error) {
	query := q.query(id)
	framed := binary.BigEndian.AppendUint16(nil, uint16(len(query)))
	if _, err := c.Write(append(framed, query...)); err != nil {
		return nil, err
	}
	var length [2]byte
	if _, err := io.ReadFull(c, length[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint16(length[:]))
	if _, err := io.ReadFull(c, b); err != nil {
		return nil, err
	}
	at, yes := q.isAnsweredBy(b, id)
	if !yes {
		return nil, errAnswer
	}
	return q.addresses(b, at)
}
