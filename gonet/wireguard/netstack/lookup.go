package netstack

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// A name is asked of the tunnel's servers only. Go's own resolver would read the hosts file and the
// search domains of this machine, which belong to another network.

const (
	queryTimeout = 5 * time.Second // of one server, as of resolv.conf
	attempts     = 2               // rounds over all servers
	dnsPort      = 53
	maxUDP       = 1232 // bytes: the buffer that is offered (dnsflagday.net/2020)
	maxLinks     = 16   // CNAMEs from a name to its addresses
)

var (
	errNoServers = errors.New("no DNS server was given")
	errNoName    = errors.New("no such host")
	errAnswer    = errors.New("the answer does not belong to the query")
	errLoop      = errors.New("a chain of aliases that does not end")
)

// LookupHost is LookupContextHost without a context.
func (n *Net) LookupHost(host string) ([]string, error) {
	return n.LookupContextHost(context.Background(), host)
}

// LookupContextHost returns the addresses of a name: those of IPv6 first, if the stack has an
// address of that family. An address is returned as it is.
func (n *Net) LookupContextHost(ctx context.Context, host string) ([]string, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []string{a.Unmap().String()}, nil
	}
	fail := func(err error, server string) ([]string, error) {
		e := &net.DNSError{Err: err.Error(), Name: host, Server: server,
			IsNotFound: errors.Is(err, errNoName)}
		var timeout net.Error
		e.IsTimeout = errors.As(err, &timeout) && timeout.Timeout()
		return nil, e
	}
	name, err := dnsmessage.NewName(strings.TrimSuffix(host, ".") + ".")
	if err != nil || host == "" || host == "." || strings.Contains(host, "..") ||
		strings.HasPrefix(host, ".") || strings.ContainsAny(host, " \t\r\n\x00") {
		return fail(errNoName, "")
	}
	if len(n.servers) == 0 {
		return fail(errNoServers, "")
	}
	var four, six bool
	for _, p := range n.stack.Addresses() {
		four = four || p.Addr().Is4()
		six = six || p.Addr().Is6() && !p.Addr().IsLinkLocalUnicast()
	}
	var all []string
	last, server := errNoName, ""
	for _, kind := range []struct {
		kind dnsmessage.Type
		ask  bool
	}{{dnsmessage.TypeAAAA, six}, {dnsmessage.TypeA, four}} {
		if !kind.ask {
			continue
		}
		some, from, err := n.ask(ctx, name, kind.kind)
		all = append(all, some...)
		if err != nil && !(errors.Is(err, errNoName) && !errors.Is(last, errNoName)) {
			last, server = err, from
		}
	}
	if len(all) == 0 {
		return fail(last, server)
	}
	return all, nil
}

// LookupNetIP is LookupContextHost for a network: "ip", or "ip4" or "ip6" for one family. It
// returns at least one address, or an error. It makes Net a gonet.Resolver.
func (n *Net) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	if network != "ip" && network != "ip4" && network != "ip6" {
		return nil, net.UnknownNetworkError(network)
	}
	names, err := n.LookupContextHost(ctx, host)
	if err != nil {
		return nil, err
	}
	var all []netip.Addr
	for _, name := range names {
		a, err := netip.ParseAddr(name)
		if err == nil && (network == "ip" || a.Is4() == (network == "ip4")) {
			all = append(all, a)
		}
	}
	if len(all) == 0 {
		return nil, &net.AddrError{Err: "no suitable address", Addr: host}
	}
	return all, nil
}

// ask asks the servers in turn until one has answered.
func (n *Net) ask(ctx context.Context, name dnsmessage.Name,
	kind dnsmessage.Type) (all []string, server string, err error) {
	for range attempts {
		for _, s := range n.servers {
			server = netip.AddrPortFrom(s, dnsPort).String()
			if all, err = n.exchange(ctx, server, name, kind); err == nil ||
				errors.Is(err, errNoName) || ctx.Err() != nil {
				return all, server, err
			}
		}
	}
	return nil, server, err
}

// exchange asks one server, over UDP and, if the answer does not fit, over TCP.
func (n *Net) exchange(ctx context.Context, server string, name dnsmessage.Name,
	kind dnsmessage.Type) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	question := dnsmessage.Question{Name: name, Type: kind, Class: dnsmessage.ClassINET}
	for _, network := range []string{"udp", "tcp"} {
		id, query, err := newQuery(question)
		if err != nil {
			return nil, err
		}
		answer, err := n.roundTrip(ctx, network, server, query, func(b []byte) bool {
			return answers(b, id, question)
		})
		if err != nil {
			return nil, err
		}
		all, truncated, err := addresses(answer, question)
		if err != nil || !truncated || network == "tcp" {
			return all, err
		}
	}
	return nil, nil
}

// newQuery packs a query with a random number.
func newQuery(q dnsmessage.Question) (uint16, []byte, error) {
	var random [2]byte
	if _, err := rand.Read(random[:]); err != nil {
		return 0, nil, err
	}
	m := dnsmessage.Message{Questions: []dnsmessage.Question{q}}
	m.ID, m.RecursionDesired = binary.BigEndian.Uint16(random[:]), true
	var opt dnsmessage.ResourceHeader
	if err := opt.SetEDNS0(maxUDP, dnsmessage.RCodeSuccess, false); err != nil {
		return 0, nil, err
	}
	m.Additionals = []dnsmessage.Resource{{Header: opt, Body: &dnsmessage.OPTResource{}}}
	b, err := m.Pack()
	return m.ID, b, err
}

// roundTrip sends a query and reads until right accepts an answer. What comes from elsewhere, or
// was forged, is passed over.
func (n *Net) roundTrip(ctx context.Context, network, server string, query []byte,
	right func([]byte) bool) ([]byte, error) {
	c, err := n.stack.DialContext(ctx, network, server)
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
	if network == "tcp" {
		return overTCP(c, query, right)
	}
	if _, err := c.Write(query); err != nil {
		return nil, err
	}
	b := make([]byte, maxUDP)
	for {
		k, err := c.Read(b)
		if err != nil {
			return nil, err
		}
		if right(b[:k]) {
			return b[:k], nil
		}
	}
}

// overTCP puts the length before each message (RFC 1035, section 4.2.2).
func overTCP(c net.Conn, query []byte, right func([]byte) bool) ([]byte, error) {
	framed := binary.BigEndian.AppendUint16(nil, uint16(len(query))) //nolint:gosec // below 512 bytes
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
	if !right(b) {
		return nil, errAnswer
	}
	return b, nil
}

// answers tells whether a message is the response to a question with a number.
func answers(b []byte, id uint16, q dnsmessage.Question) bool {
	var p dnsmessage.Parser
	h, err := p.Start(b)
	if err != nil || !h.Response || h.ID != id {
		return false
	}
	got, err := p.Question()
	return err == nil && got.Type == q.Type && got.Class == q.Class &&
		strings.EqualFold(got.Name.String(), q.Name.String())
}

// addresses reads the addresses of a response. It follows the aliases that are in it.
func addresses(b []byte, q dnsmessage.Question) (all []string, truncated bool, err error) {
	var m dnsmessage.Message
	if err := m.Unpack(b); err != nil {
		return nil, false, fmt.Errorf("a response that cannot be read: %w", err)
	}
	switch m.RCode {
	case dnsmessage.RCodeSuccess:
	case dnsmessage.RCodeNameError:
		return nil, false, errNoName
	default:
		return nil, false, fmt.Errorf("the server has answered %s", m.RCode)
	}
	if m.Truncated {
		return nil, true, nil
	}
	aliases := map[string]string{}
	for _, r := range m.Answers {
		if alias, ok := r.Body.(*dnsmessage.CNAMEResource); ok {
			aliases[fold(r.Header.Name)] = fold(alias.CNAME)
		}
	}
	name := fold(q.Name)
	for links := 0; aliases[name] != ""; links++ {
		if links == maxLinks {
			return nil, false, errLoop
		}
		name = aliases[name]
	}
	for _, r := range m.Answers {
		if fold(r.Header.Name) != name {
			continue
		}
		switch body := r.Body.(type) {
		case *dnsmessage.AResource:
			if q.Type == dnsmessage.TypeA {
				all = append(all, netip.AddrFrom4(body.A).String())
			}
		case *dnsmessage.AAAAResource:
			if q.Type == dnsmessage.TypeAAAA {
				all = append(all, netip.AddrFrom16(body.AAAA).String())
			}
		}
	}
	if len(all) == 0 {
		return nil, false, errNoName
	}
	return all, false, nil
}

func fold(n dnsmessage.Name) string { return strings.ToLower(n.String()) }
