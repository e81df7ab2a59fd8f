package slirp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"time"

	"interleave/gonet"
	"interleave/gonet/relay"
)

// The time for which a server of DNS may take, so that all three get their turn before a resolver
// gives up, after 15 s. And that for which a connection with the forwarder may be idle (RFC 7766
// section 6.2.3 asks for some).
const (
	serverTime = 4 * time.Second
	clientTime = 20 * time.Second
)

// listenNames opens the sockets of the DNS forwarder, and returns the functions that serve them.
func (s *Slirp) listenNames() (serve []func(context.Context), err error) {
	if s.cfg.Resolvers == nil {
		return nil, nil
	}
	at := []netip.Addr{s.cfg.Network.DNS}
	if s.cfg.Network.has6() {
		at = append(at, s.cfg.Network.DNS6)
	}
	for _, a := range at {
		p, err := s.stack.ListenPacket("udp", hostPort(a, portDNS))
		if err != nil {
			return nil, err
		}
		l, err := s.stack.Listen("tcp", hostPort(a, portDNS))
		if err != nil {
			return nil, err
		}
		serve = append(serve, func(context.Context) { s.serveNames(p) },
			func(ctx context.Context) {
				// The stack's listener fails with the stack only.
				_ = relay.Serve(ctx, relay.Limit(l, maxNameClients), s.serveNameClient)
			})
	}
	return serve, nil
}

// serveNames answers the queries that come to a socket, until the stack ends.
func (s *Slirp) serveNames(p *gonet.PacketConn) {
	b := make([]byte, maxQueryLen+1)
	for {
		n, from, err := p.ReadFromAddrPort(b)
		if err != nil {
			return
		}
		q, err := parseQuery(b[:n])
		if err != nil || !s.queries.enter() {
			continue // the guest asks again
		}
		q = q.withID(binary.BigEndian.Uint16(b)) // the buffer is used again
		go func() {                              // ends with the query
			defer s.queries.leave()
			_, _ = p.WriteToAddrPort(s.resolve("udp", q), from) // an answer may be lost
		}()
	}
}

// serveNameClient answers the queries of a connection, one after the other.
func (s *Slirp) serveNameClient(_ context.Context, c net.Conn) {
	for {
		if c.SetDeadline(time.Now().Add(clientTime)) != nil {
			return
		}
		b, err := readMessage(c, maxQueryLen)
		if err != nil {
			return
		}
		q, err := parseQuery(b)
		if err != nil || !s.queries.enter() {
			relay.Reset(c)
			return
		}
		answer := s.resolve("tcp", q)
		s.queries.leave()
		if writeMessage(c, answer) != nil {
			return
		}
	}
}

// readMessage reads a message of a connection, behind its length (RFC 1035 section 4.2.2).
func readMessage(r io.Reader, most int) ([]byte, error) {
	var length [2]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint16(length[:]))
	if n > most {
		return nil, fmt.Errorf("a message of %d bytes, at most %d may be", n, most)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return b, err
}

func writeMessage(w io.Writer, b []byte) error {
	_, err := w.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...))
	return err
}

var errNoAnswer = errors.New("an answer to something else")

// resolve answers by the host's own names, or else asks the servers in turn, over "udp" or "tcp",
// until one answers.
func (s *Slirp) resolve(network string, q query) []byte {
	s.counters.queries.Add(1)
	if answer := s.hostName(q); answer != nil {
		return answer
	}
	// The guest's identifier may be easy to guess. Each query has a socket, and so a port, of its
	// own (RFC 5452 section 9.2).
	asked := q.withID(uint16(rand.Uint32()))
	for _, server := range s.cfg.Resolvers() {
		answer, err := s.ask(network, server, asked)
		if err == nil {
			copy(answer, q.message[:2])
			return answer
		}
		s.fail("DNS server %v: %v", server, err)
	}
	return q.failure()
}

// ask asks one server.
func (s *Slirp) ask(network string, server netip.AddrPort, q query) ([]byte, error) {
	ctx, cancel := context.WithTimeout(s.ctx, serverTime)
	defer cancel()
	c, err := s.cfg.Host.DialContext(ctx, network, server.String())
	if err != nil {
		return nil, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })() // ends the wait
	if network == "tcp" {
		if err := writeMessage(c, q.message); err != nil {
			return nil, err
		}
		b, err := readMessage(c, maxDatagram)
		if err == nil && !q.isAnsweredBy(b) {
			err = errNoAnswer
		}
		return b, err
	}
	if _, err := c.Write(q.message); err != nil {
		return nil, err
	}
	b := make([]byte, maxDatagram)
	for {
		n, err := c.Read(b)
		if err != nil {
			return nil, err
		}
		if q.isAnsweredBy(b[:n]) { // all else may be forged
			return b[:n], nil
		}
	}
}
