package netstack

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
	"golang.zx2c4.com/wireguard/device"

	"interleave/gonet"
)

// serve answers HTTP at port 80 of a host: with the path, or as many bytes as /bytes/N asks for.
func (h *host) serve(t testing.TB) {
	t.Helper()
	l, err := h.ListenTCP(&net.TCPAddr{Port: 80})
	if err != nil {
		t.Fatal(err)
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			sum := sha256.New()
			_, _ = io.Copy(sum, r.Body) // a short body has another sum
			fmt.Fprintf(w, "%x", sum.Sum(nil))
			return
		}
		fmt.Fprintf(w, "%s from %s", r.URL.Path, r.RemoteAddr)
	})
	server := &http.Server{Handler: handler, ReadHeaderTimeout: patience}
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(l) }() // until it is closed
}

// client makes an HTTP client in a host.
func (h *host) client(t testing.TB) *http.Client {
	transport := &http.Transport{DialContext: h.DialContext}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 5 * patience}
}

// TestHTTP fetches pages in both directions, over both families.
func TestHTTP(t *testing.T) {
	for _, mtu := range []int{1280, 1420, 1500} {
		t.Run(fmt.Sprint(mtu), func(t *testing.T) {
			t.Parallel()
			hosts := tunnel(t, mtu)
			for i, h := range hosts {
				h.serve(t)
				for _, a := range h.addr {
					url := "http://" + net.JoinHostPort(a.String(), "80") + "/hello"
					response, err := hosts[1-i].client(t).Get(url)
					if err != nil {
						t.Fatal(err)
					}
					b, err := io.ReadAll(response.Body)
					_ = response.Body.Close()
					from := hosts[1-i].addr[map[bool]int{false: 0, true: 1}[a.Is6()]]
					if want := "/hello from "; err != nil || !strings.HasPrefix(string(b), want) ||
						!strings.Contains(string(b), from.String()) {
						t.Errorf("%s: %q, %v", url, b, err)
					}
				}
			}
		})
	}
}

// A pattern reads as size bytes of a pattern that does not repeat with the packets. After half of
// them it calls between.
type pattern struct {
	at, size int
	between  func()
}

func (p *pattern) Read(b []byte) (int, error) {
	if p.at == p.size {
		return 0, io.EOF
	}
	n := min(len(b), p.size-p.at)
	for i := range b[:n] {
		x := p.at + i
		b[i] = byte(x ^ x>>8 ^ x>>16)
	}
	if before := p.at; before < p.size/2 && before+n >= p.size/2 && p.between != nil {
		p.between()
	}
	p.at += n
	return n, nil
}

// put uploads a pattern, and checks that it has arrived whole.
func put(t *testing.T, from, to *host, size int, between func()) {
	t.Helper()
	sum := sha256.New()
	if _, err := io.Copy(sum, &pattern{size: size}); err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequest(http.MethodPut, "http://"+to.addr[0].String()+"/",
		&pattern{size: size, between: between})
	if err != nil {
		t.Fatal(err)
	}
	response, err := from.client(t).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if want := fmt.Sprintf("%x", sum.Sum(nil)); err != nil || string(b) != want {
		t.Errorf("%d bytes have the sum %q, %v", size, b, err)
	}
}

// TestBulk moves megabytes, while a peer moves to another port or loses its keys.
func TestBulk(t *testing.T) {
	hosts := tunnel(t, 1420)
	for _, h := range hosts {
		h.serve(t)
	}
	put(t, hosts[0], hosts[1], 8<<20, nil)
	t.Run("roaming", func(t *testing.T) {
		before := hosts[0].get(t, "listen_port")
		put(t, hosts[0], hosts[1], 8<<20, func() { hosts[0].set(t, "listen_port=0\n") })
		if after := hosts[0].get(t, "listen_port"); after == before {
			t.Errorf("the port is still %s", after)
		}
		if got := hosts[1].get(t, "endpoint"); got != "127.0.0.1:"+hosts[0].get(t, "listen_port") {
			t.Errorf("the peer's endpoint is %s", got)
		}
	})
	t.Run("lost keys", func(t *testing.T) {
		put(t, hosts[1], hosts[0], 8<<20, func() {
			// A device that is set down and up has lost its keys.
			if err := hosts[0].device.Down(); err != nil {
				t.Error(err)
			}
			if err := hosts[0].device.Up(); err != nil {
				t.Error(err)
			}
		})
	})
}

// TestRekey agrees on a new key in the middle of a transfer, as WireGuard does after two minutes:
// the old one still carries what is on its way. The sender or the receiver begins.
func TestRekey(t *testing.T) {
	for i, name := range []string{"by the sender", "by the receiver"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hosts := tunnel(t, 1420)
			for _, h := range hosts {
				h.serve(t)
			}
			put(t, hosts[1-i], hosts[i], 1, nil)
			before := [2]string{hosts[0].keyed(t), hosts[1].keyed(t)}
			// A device begins no handshake within five seconds of another.
			for start := time.Now(); time.Since(start) <= device.RekeyTimeout; {
				time.Sleep(20 * time.Millisecond)
			}
			put(t, hosts[0], hosts[1], 16<<20, func() { hosts[i].rekey(t, hosts[1-i]) })
			for j, h := range hosts {
				if h.keyed(t) == before[j] {
					t.Errorf("host %d still has the first key", j)
				}
			}
			put(t, hosts[1], hosts[0], 1<<20, nil)
		})
	}
}

// keyed returns when the host has got its latest key.
func (h *host) keyed(t testing.TB) string {
	t.Helper()
	return h.get(t, "last_handshake_time_sec") + "." + h.get(t, "last_handshake_time_nsec")
}

// rekey begins a handshake and waits for its end. A packet of it that is lost beside a transfer is
// sent again after five seconds.
func (h *host) rekey(t *testing.T, other *host) {
	before := h.keyed(t)
	peer := h.device.LookupPeer(device.NoisePublicKey(other.key.PublicKey().Bytes()))
	if err := peer.SendHandshakeInitiation(false); err != nil {
		t.Error(err)
		return
	}
	for end := time.Now().Add(patience); h.keyed(t) == before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Error("there is no new key")
			return
		}
	}
}

// TestThousand opens a thousand connections at once.
func TestThousand(t *testing.T) {
	hosts := tunnel(t, 1420)
	l, err := hosts[1].ListenTCPAddrPort(netip.AddrPortFrom(hosts[1].addr[0], 7))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c) // until the client closes
			}()
		}
	}()
	const clients = 1000
	ctx, cancel := context.WithTimeout(t.Context(), 5*patience)
	defer cancel()
	var all sync.WaitGroup
	opened := make(chan struct{})
	var open sync.WaitGroup
	open.Add(clients)
	for i := range clients {
		all.Go(func() {
			c, err := hosts[0].DialContextTCPAddrPort(ctx, netip.AddrPortFrom(hosts[1].addr[0], 7))
			open.Done()
			if err != nil {
				t.Errorf("client %d: %v", i, err)
				return
			}
			defer c.Close()
			<-opened // all are open together
			said := fmt.Sprintf("client %d", i)
			b := make([]byte, len(said))
			if _, err := io.WriteString(c, said); err != nil {
				t.Error(err)
			} else if _, err := io.ReadFull(c, b); err != nil || string(b) != said {
				t.Errorf("client %d: %q, %v", i, b, err)
			}
		})
	}
	open.Wait()
	close(opened)
	all.Wait()
}

// TestUDP sends datagrams between sockets that are dialed, bound and both.
func TestUDP(t *testing.T) {
	hosts := tunnel(t, 1420)
	server, err := hosts[1].ListenUDP(&net.UDPAddr{Port: 9})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client, err := hosts[0].DialUDPAddrPort(netip.AddrPortFrom(hosts[0].addr[0], 4711),
		netip.AddrPortFrom(hosts[1].addr[0], 9))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_ = server.SetDeadline(time.Now().Add(patience))
	_ = client.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(client, "to"); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 10)
	n, from, err := server.ReadFrom(b)
	if err != nil || string(b[:n]) != "to" || from.String() != "10.9.0.1:4711" {
		t.Fatalf("%q from %v, %v", b[:n], from, err)
	}
	if _, err := server.WriteTo([]byte("fro"), from); err != nil {
		t.Fatal(err)
	}
	if n, err = client.Read(b); err != nil || string(b[:n]) != "fro" {
		t.Errorf("%q, %v", b[:n], err)
	}
	// Many at once leave the stack in one frame, which is cut before it is encrypted.
	many := strings.Repeat("0123456789", 950)
	to := netip.MustParseAddrPort(from.String())
	if _, err := server.WriteInfo([]byte(many), to, gonet.PacketInfo{Segment: 1000}); err != nil {
		t.Fatal(err)
	}
	b = make([]byte, 1500)
	for i := range 10 {
		want := many[1000*i : min(1000*i+1000, len(many))]
		if n, err := client.Read(b); err != nil || string(b[:n]) != want {
			t.Fatalf("datagram %d: %d bytes, %v", i, n, err)
		}
	}
}

// TestPing sends echo requests by sockets of two programs: each reads its own replies only.
func TestPing(t *testing.T) {
	hosts := tunnel(t, 1420)
	for i, network := range []string{"ping4", "ping6"} {
		far := hosts[1].addr[i]
		c, err := hosts[0].Dial(network, far.String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		other, err := hosts[0].DialPing(PingAddrFromAddr(hosts[0].addr[i]), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		var request, reply icmp.Type = ipv4.ICMPTypeEcho, ipv4.ICMPTypeEchoReply
		if i == 1 {
			request, reply = ipv6.ICMPTypeEchoRequest, ipv6.ICMPTypeEchoReply
		}
		message := func(seq int) []byte {
			m := icmp.Message{Type: request, Body: &icmp.Echo{Seq: seq, Data: []byte("burrow")}}
			b, err := m.Marshal(nil)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		_ = c.SetDeadline(time.Now().Add(patience))
		_ = other.SetDeadline(time.Now().Add(patience))
		if _, err := other.WriteTo(message(1), PingAddrFromAddr(far)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write(message(2)); err != nil {
			t.Fatal(err)
		}
		for seq, socket := range map[int]net.Conn{1: other, 2: c} {
			b := make([]byte, 100)
			n, err := socket.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			m, err := icmp.ParseMessage(reply.Protocol(), b[:n])
			echo, ok := m.Body.(*icmp.Echo)
			if err != nil || m.Type != reply || !ok || echo.Seq != seq ||
				string(echo.Data) != "burrow" {
				t.Errorf("%s %d: %+v, %v", network, seq, m, err)
			}
		}
		unreachable := append([]byte{3}, message(1)[1:]...)
		for _, wrong := range [][]byte{nil, {8}, message(1)[:7], unreachable} {
			if _, err := c.Write(wrong); err == nil {
				t.Errorf("%v is sent", wrong)
			}
		}
	}
	if _, err := hosts[0].DialPingAddr(hosts[0].addr[0], hosts[1].addr[1]); err == nil {
		t.Error("a ping from one family to the other")
	}
	if _, err := hosts[0].DialPing(nil, nil); err == nil {
		t.Error("a ping from nowhere to nowhere")
	}
}
