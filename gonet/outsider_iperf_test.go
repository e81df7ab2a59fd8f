//go:build linux

package gonet

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"
)

// relayTCP relays each connection of a listener to another address, through a connection of the
// stack, until the listener is closed.
func relayTCP(s *Stack, l net.Listener, to string) {
	for {
		near, err := l.Accept()
		if err != nil {
			return
		}
		far, err := s.Dial("tcp", to)
		if err != nil {
			_ = near.(*Conn).Abort() // its client checks
			continue
		}
		go splice(near.(halves), far)
	}
}

// relayUDP relays datagrams, with a socket for each peer, until p is closed.
func relayUDP(s *Stack, p *PacketConn, to string) {
	peers := map[netip.AddrPort]net.Conn{}
	defer func() {
		for _, far := range peers {
			_ = far.Close()
		}
	}()
	b := make([]byte, 65536)
	for {
		n, from, err := p.ReadFromAddrPort(b)
		if err != nil {
			return
		}
		far := peers[from]
		if far == nil {
			if far, err = s.Dial("udp", to); err != nil {
				return
			}
			peers[from] = far
			go func() {
				b := make([]byte, 65536)
				for {
					n, err := far.Read(b)
					if errors.Is(err, net.ErrClosed) {
						return
					}
					if err == nil {
						_, _ = p.WriteToAddrPort(b[:n], from) // iperf3 counts
					}
				}
			}()
		}
		_, _ = far.Write(b[:n]) // iperf3 counts
	}
}

// iperfSaid is the part of iperf3's report that the test reads.
type iperfSaid struct {
	End struct {
		Sent struct{ Bytes float64 } `json:"sum_sent"`
		Got  struct{ Bytes float64 } `json:"sum_received"`
		Sum  struct {
			Packets int
			Lost    int `json:"lost_packets"`
		}
	}
}

// TestOutsiderIperf runs iperf3 through the stack: its client connects to a relay on the stack,
// which connects to its server. The test holds that bytes arrive, not how fast.
func TestOutsiderIperf(t *testing.T) {
	requireTools(t, "iperf3 of iperf3", "ip of iproute2")
	const port = "5201"
	for _, c := range []struct{ name, stack, kernel string }{{"IPv4", "10.9.0.2", "10.9.0.1"},
		{"IPv6", "2001:db8::2", "2001:db8::1"}} {
		t.Run(c.name, func(t *testing.T) {
			s := capturedKernel(t)
			l, err := s.Listen("tcp", ":"+port)
			if err != nil {
				t.Fatal(err)
			}
			p, err := s.ListenPacket("udp", ":"+port)
			if err != nil {
				t.Fatal(err)
			}
			to := net.JoinHostPort(c.kernel, port)
			go relayTCP(s, l, to)
			go relayUDP(s, p, to)
			server(t, "Server listening", "iperf3", "-s", "-B", c.kernel, "-p", port,
				"--forceflush")
			for _, how := range [][]string{
				{"-n", "40M"},
				{"-n", "40M", "-R"},
				{"-n", "40M", "-P", "4"},
				{"-n", "40M", "-P", "4", "-R"},
				{"-n", "2M", "-u", "-b", "50M"},
				{"-n", "2M", "-u", "-b", "50M", "-R"},
			} {
				var said iperfSaid
				eventually(t, func() error { // the server may still be busy with the previous test
					said = iperfSaid{}
					p := begin(t, nil, "iperf3", append([]string{"-J", "-c", c.stack, "-p", port},
						how...)...)
					if err := <-p.ended; err != nil {
						return fmt.Errorf("%v: %w: %s", how, err, p.out.String())
					}
					if err := json.Unmarshal(p.out.Bytes(), &said); err != nil {
						return err
					}
					if said.End.Sum.Packets == 0 && said.End.Sent.Bytes == 0 {
						return fmt.Errorf("%v: nothing was measured: %s", how, p.out.String())
					}
					// a busy machine may lose many packets once
					if s := said.End.Sum; s.Packets > 0 && (s.Packets < 1000 ||
						s.Lost > s.Packets/2) {
						return fmt.Errorf("%v: %d datagrams, %d lost; want 1000, and half of "+
							"them not lost", how, s.Packets, s.Lost)
					}
					return nil
				})
				if e := &said.End; e.Sum.Packets > 0 { // UDP
					t.Logf("%v: %d datagrams, %d lost", how, e.Sum.Packets, e.Sum.Lost)
					// what the relay holds at the end is not counted
				} else if e.Got.Bytes < 20<<20 || e.Got.Bytes > e.Sent.Bytes {
					t.Errorf("%v: %.0f bytes of %.0f arrived", how, e.Got.Bytes, e.Sent.Bytes)
				}
			}
			if err := errors.Join(l.Close(), p.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}
