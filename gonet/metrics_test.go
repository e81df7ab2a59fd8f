package gonet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"interleave/gonet/dns"
	"interleave/gonet/link"
	"interleave/gonet/tcp"
)

func TestSnapshot(t *testing.T) {
	bubble(t, link.Fault{Delay: 10 * time.Millisecond, Loss: 0.02}, func(t *testing.T,
		x, y *Stack) {
		l, err := y.Listen("tcp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := y.ListenPacket("udp", ":53"); err != nil {
			t.Fatal(err)
		}
		c, err := x.Dial("tcp", "10.0.0.2:80")
		if err != nil {
			t.Fatal(err)
		}
		d, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		const n = 2_000_000
		go func() { _, _ = c.Write(make([]byte, n)) }() // the reader checks
		if _, err := io.ReadFull(d, make([]byte, n)); err != nil {
			t.Fatal(err)
		}
		advanceTime(time.Second) // the last acknowledgement arrives
		i := c.(*Conn).Info()
		if i.State != tcp.Established || i.RTT < 20*time.Millisecond || i.Window == 0 ||
			i.MSS != 1448 || i.InFlight != 0 {
			t.Errorf("%+v", i)
		}
		if i.Resent == 0 || i.BytesResent == 0 || i.BytesOut-i.BytesResent != n ||
			i.Segments <= i.Resent {
			t.Errorf("of %d bytes over a path that loses: %+v", n, i)
		}
		if j := d.(*Conn).Info(); j.BytesIn != n || j.BytesOut != 0 {
			t.Errorf("the other end: %+v", j)
		}
		snap, err := y.Snapshot()
		if err != nil || len(snap.Conns) != 1 || len(snap.Sockets) != 1 ||
			len(snap.Listeners) != 1 || snap.Received == 0 {
			t.Fatalf("%+v, %v", snap, err)
		}
		var text, metrics strings.Builder
		if err := errors.Join(snap.WriteText(&text), snap.WriteMetrics(&metrics)); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"frames_received ", "listen tcp           [::]:80\n",
			"socket udp           [::]:53\n",
			"neighbour            10.0.0.1 " + x.MAC().String() + " ",
			"ESTABLISHED       0      0  10.0.0.2:80  10.0.0.1:", "\tmss:1448 cwnd:",
			" bytes_received:2000000 "} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("no %q in\n%s", want, text.String())
			}
		}
		for _, want := range []string{"# TYPE gonet_frames_received_total counter\n" +
			"gonet_frames_received_total ",
			"\ngonet_connections{state=\"ESTABLISHED\"} 1\n",
			"\ngonet_neighbours{state=\"INCOMPLETE\"} 0\n",
			"\ngonet_connections_bytes_received 2000000\n", "\ngonet_listeners 1\n"} {
			if !strings.Contains(metrics.String(), want) {
				t.Errorf("no %q in\n%s", want, metrics.String())
			}
		}
		text.Reset()
		if err := (Snapshot{Conns: []ConnInfo{i}}).WriteText(&text); err != nil ||
			!strings.Contains(text.String(), " retrans:") {
			t.Errorf("%v, no retransmissions in\n%s", err, text.String())
		}
	})
}

// TestMetricsNameTheCounters holds that every counter of Stats has a help text.
func TestMetricsNameTheCounters(t *testing.T) {
	var s Stats
	fields := reflect.TypeOf(s)
	for _, m := range metrics {
		if _, ok := fields.FieldByName(m.field); !ok {
			t.Errorf("%s is no counter", m.field)
		}
	}
	s.each(func(m metric, _ uint64) {
		if m.help == m.field+"." {
			t.Errorf("no sentence about %s in metrics", m.field)
		}
	})
}

// serveNames is a DNS server for one name: it returns the addresses of host.test, and NXDOMAIN for
// all other names.
func serveNames(t *testing.T, p *PacketConn, addresses ...[4]byte) {
	b := make([]byte, 1500)
	for {
		n, from, err := p.ReadFromAddrPort(b)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if err := m.Unpack(b[:n]); err != nil {
			t.Error(err)
			return
		}
		q := m.Questions[0]
		m.Response, m.RCode, m.Additionals = true, dnsmessage.RCodeNameError, nil
		if strings.HasPrefix(q.Name.String(), "host.test.") {
			m.RCode = dnsmessage.RCodeSuccess
			for _, a := range addresses {
				if q.Type == dnsmessage.TypeA {
					m.Answers = append(m.Answers, dnsmessage.Resource{
						Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type,
							Class: q.Class, TTL: 60}, Body: &dnsmessage.AResource{A: a}})
				}
			}
		}
		out, err := m.Pack()
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := p.WriteToAddrPort(out, from); err != nil {
			return
		}
	}
}

// TestResolver queries a server on the other host, and connects to a name whose first address does
// not answer.
func TestResolver(t *testing.T) {
	// Package net reads its configuration once, and keeps a channel that must not be made inside a
	// synctest bubble.
	over, end := context.WithCancel(t.Context())
	end()
	if _, err := (&net.Resolver{PreferGo: true}).LookupHost(over, "nobody.test."); err == nil {
		t.Fatal("a lookup that is over has an answer")
	}
	bubble(t, link.Fault{Delay: time.Millisecond}, func(t *testing.T, x, y *Stack) {
		p, err := y.ListenPacket("udp", ":53")
		if err != nil {
			t.Fatal(err)
		}
		go serveNames(t, p, [4]byte{10, 0, 0, 77}, [4]byte{10, 0, 0, 2})
		r := x.Resolver(netip.MustParseAddrPort("10.0.0.2:0"))
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		got, err := r.LookupHost(ctx, "host.test.")
		if err != nil || len(got) != 2 || got[0] != "10.0.0.77" || got[1] != "10.0.0.2" {
			t.Errorf("%v, %v", got, err)
		}
		var none *net.DNSError
		if _, err := r.LookupHost(ctx, "nobody.test."); !errors.As(err, &none) || !none.IsNotFound {
			t.Errorf("a name that is not there: %v", err)
		}
		if _, err := x.Resolver().LookupHost(ctx, "host.test."); err == nil ||
			!strings.Contains(err.Error(), dns.ErrNoServers.Error()) {
			t.Errorf("without servers: %v", err)
		}
		l, err := y.Listen("tcp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		dialer := Dialer{Stack: x, Resolver: r}
		c, err := dialer.DialContext(ctx, "tcp", "host.test.:80")
		if err != nil {
			t.Fatal(err)
		}
		if got := c.RemoteAddr().String(); got != "10.0.0.2:80" {
			t.Errorf("connected to %s", got)
		}
		d, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 5)
		if _, err := io.ReadFull(c, b); err != nil || !bytes.Equal(b, []byte("hello")) {
			t.Errorf("%q, %v", b, err)
		}
		if _, err := dialer.DialContext(ctx, "tcp", "nobody.test.:80"); !errors.As(err,
			&none) {
			t.Errorf("to a name that is not there: %v", err)
		}
		if _, err := dialer.DialContext(ctx, "tcp", "host.test.:81"); err == nil {
			t.Error("connected to a port that nobody takes")
		}
	})
}
