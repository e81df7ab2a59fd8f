package gonet

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/internal/demux"
	"interleave/gonet/link"
	"interleave/gonet/wire"
)

// recorder is a link that records what is written.
type recorder struct {
	*link.End
	mu      sync.Mutex
	packets [][]byte // of IPv4
}

func (r *recorder) Write(_ link.GSO, pieces ...[]byte) error {
	frame := slices.Concat(pieces...)
	if wire.EtherType(binary.BigEndian.Uint16(frame[12:])) == wire.EtherIPv4 {
		r.mu.Lock()
		r.packets = append(r.packets, frame[wire.EthernetLen:])
		r.mu.Unlock()
	}
	return nil
}

// sent returns the headers and bodies of the packets of a protocol since the last call.
func (r *recorder) sent(t *testing.T, protocol wire.Protocol) (ids []uint16, bodies [][]byte) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.packets {
		h, body, err := wire.ParseIPv4(p)
		if err != nil {
			t.Fatal(err)
		}
		if h.Protocol == protocol {
			ids, bodies = append(ids, h.ID), append(bodies, body)
		}
	}
	r.packets = nil
	return ids, bodies
}

// recorded makes a stack whose packets all go to one router, and are recorded.
func recorded(t *testing.T) (*Stack, *recorder) {
	t.Helper()
	end, _ := link.Pair()
	r := &recorder{End: end}
	router := netip.MustParseAddr("10.0.0.9")
	s := host6(t, r, "1", func(c *Config) { c.Gateways = []netip.Addr{router} })
	s.pinStation(router, wire.MAC{2, 5: 9})
	return s, r
}

// draws is how many values each measurement of randomness takes.
var draws = fewer(4096, 4)

// unpredictable fails unless values look as if each was drawn anew from a range of size numbers:
// they spread over the range, and so do the differences of two in a row. The bound of chi-squared
// is passed by chance once in 10^9 (15 degrees of freedom).
func unpredictable(t *testing.T, what string, size uint64, values []uint64) {
	t.Helper()
	if len(values) < draws/2 {
		t.Fatalf("%s: %d values", what, len(values))
	}
	var differences []uint64
	for i, v := range values[1:] {
		differences = append(differences, (v+size-values[i])%size)
	}
	for name, set := range map[string][]uint64{"values": values, "differences": differences} {
		var buckets [16]int
		for _, v := range set {
			buckets[v*16/size]++
		}
		want, chi := float64(len(set))/16, 0.0
		for _, n := range buckets {
			chi += (float64(n) - want) * (float64(n) - want) / want
		}
		t.Logf("%s: %d %s, chi-squared %.1f", what, len(set), name, chi)
		if chi > 75 {
			t.Errorf("%s: the %s are predictable: %v", what, name, buckets)
		}
	}
}

// destination returns an address for a number, each time another one.
func destination(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, byte(i >> 8), byte(i)}), 7)
}

// TestPortsAndNumbersOfDialsAreRandom measures the source ports, the initial sequence numbers and
// the IP identifications of dials to many hosts (RFC 6056, RFC 6528, RFC 7739).
func TestPortsAndNumbersOfDialsAreRandom(t *testing.T) {
	s, r := recorded(t)
	var ports, sequences, firstIDs []uint64
	for i := range draws {
		to := destination(i)
		from, err := s.sourceOf(nil, "tcp", to.Addr())
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.connect(from, to, nil)
		if err = errors.Join(err, s.claim(func() {})); err != nil { // the dealer dials first
			t.Fatal(err)
		}
		c.giveUp()
		ids, bodies := r.sent(t, wire.ProtocolTCP)
		h, _, err := wire.ParseTCP(bodies[0])
		if err != nil || h.Flags != wire.SYN {
			t.Fatal(h, err)
		}
		ports = append(ports, uint64(h.SrcPort)-demux.FirstPort)
		sequences, firstIDs = append(sequences, uint64(h.Seq)), append(firstIDs, uint64(ids[0]))
	}
	unpredictable(t, "ports of TCP", demux.LastPort-demux.FirstPort+1, ports)
	unpredictable(t, "initial sequence numbers", 1<<32, sequences)
	unpredictable(t, "identifications of SYNs", 1<<16, firstIDs)
}

// TestPortsAndNumbersOfSocketsAreRandom measures the ports of UDP sockets, and the identifications
// of their packets to many hosts. To one host, no two of 65,536 are the same.
func TestPortsAndNumbersOfSocketsAreRandom(t *testing.T) {
	s, r := recorded(t)
	var ports []uint64
	for range draws {
		p, err := s.Dial("udp4", destination(0).String())
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, uint64(p.(*PacketConn).local.Port())-demux.FirstPort)
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	unpredictable(t, "ports of UDP", demux.LastPort-demux.FirstPort+1, ports)
	p, err := s.ListenPacket("udp4", ":0")
	if err != nil {
		t.Fatal(err)
	}
	send := func(n int, to func(int) netip.AddrPort) (found []uint64) {
		r.sent(t, wire.ProtocolUDP)
		for i := range n {
			if _, err := p.WriteToAddrPort([]byte("x"), to(i)); err != nil {
				t.Fatal(err)
			}
		}
		ids, _ := r.sent(t, wire.ProtocolUDP)
		for _, id := range ids {
			found = append(found, uint64(id))
		}
		return found
	}
	unpredictable(t, "identifications to many hosts", 1<<16, send(draws, destination))
	all := fewer(1<<16, 8)
	ids := send(all, func(int) netip.AddrPort { return destination(1) })
	slices.Sort(ids)
	if n := len(slices.Compact(ids)); n != all {
		t.Errorf("%d identifications in %d packets to one host", n, all)
	}
}

// TestQueriesAreRandom measures the identifiers and the source ports of DNS queries. An attacker
// who forges an answer must guess both.
func TestQueriesAreRandom(t *testing.T) {
	readResolverConfig(t)
	synctest.Test(t, func(t *testing.T) {
		s, r := recorded(t)
		resolver := s.Resolver(netip.MustParseAddrPort("192.0.2.53:53"))
		var wait sync.WaitGroup
		for i := range draws {
			wait.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				name := fmt.Sprintf("h%d.test.", i)
				if _, err := resolver.LookupNetIP(ctx, "ip4", name); err == nil {
					t.Error("an answer from nowhere")
				}
			})
		}
		wait.Wait()
		var ids, ports []uint64
		_, bodies := r.sent(t, wire.ProtocolUDP)
		for _, b := range bodies {
			h, query, err := wire.ParseUDP(b)
			if err != nil {
				t.Fatal(err)
			}
			ports = append(ports, uint64(h.SrcPort)-demux.FirstPort)
			ids = append(ids, uint64(binary.BigEndian.Uint16(query)))
		}
		unpredictable(t, "identifiers of queries", 1<<16, ids)
		unpredictable(t, "ports of queries", demux.LastPort-demux.FirstPort+1, ports)
	})
}
