package netstack

import (
	"bytes"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/device"
)

// patience bounds every wait; nothing is expected to be fast.
const patience = time.Minute

// loopback is a conn.Bind on 127.0.0.1 only; wireguard-go's own listens at all addresses.
type loopback struct {
	mu sync.Mutex
	c  *net.UDPConn
}

func (b *loopback) Open(port uint16) ([]conn.ReceiveFunc, uint16, error) {
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: int(port)})
	if err != nil {
		return nil, 0, err
	}
	b.mu.Lock()
	b.c = c
	b.mu.Unlock()
	receive := func(packets [][]byte, sizes []int, from []conn.Endpoint) (int, error) {
		n, a, err := c.ReadFromUDPAddrPort(packets[0])
		if err != nil {
			return 0, err
		}
		sizes[0] = n
		from[0] = &conn.StdNetEndpoint{AddrPort: netip.AddrPortFrom(a.Addr().Unmap(), a.Port())}
		return 1, nil
	}
	return []conn.ReceiveFunc{receive}, c.LocalAddr().(*net.UDPAddr).AddrPort().Port(), nil
}

func (b *loopback) socket() *net.UDPConn {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.c
}

func (b *loopback) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.c
	b.c = nil
	if c == nil {
		return nil // a Bind may be closed twice
	}
	return c.Close()
}

func (b *loopback) SetMark(uint32) error { return nil }

func (b *loopback) Send(packets [][]byte, to conn.Endpoint) error {
	e, ok := to.(*conn.StdNetEndpoint)
	if !ok {
		return conn.ErrWrongEndpointType
	}
	c := b.socket()
	if c == nil {
		return net.ErrClosed
	}
	for _, p := range packets {
		if _, err := c.WriteToUDPAddrPort(p, e.AddrPort); err != nil {
			return err
		}
	}
	return nil
}

func (b *loopback) ParseEndpoint(s string) (conn.Endpoint, error) {
	a, err := netip.ParseAddrPort(s)
	return &conn.StdNetEndpoint{AddrPort: a}, err
}

func (b *loopback) BatchSize() int { return 1 }

// A host is one end of a tunnel.
type host struct {
	*Net
	device *device.Device
	key    *ecdh.PrivateKey
	addr   [2]netip.Addr // of IPv4 and IPv6
}

// tunnel makes two hosts that are joined by WireGuard over the loopback. Host i has the addresses
// 10.9.0.(i+1) and fd09::(i+1), and asks the other one for names.
func tunnel(t testing.TB, mtu int) [2]*host {
	t.Helper()
	var all [2]*host
	for i := range all {
		key, err := ecdh.X25519().GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		all[i] = &host{key: key, addr: [2]netip.Addr{
			netip.AddrFrom4([4]byte{10, 9, 0, byte(i + 1)}),
			netip.MustParseAddr(fmt.Sprintf("fd09::%d", i+1))}}
	}
	for i, h := range all {
		dev, stack, err := CreateNetTUN(h.addr[:], []netip.Addr{all[1-i].addr[0]}, mtu)
		if err != nil {
			t.Fatal(err)
		}
		h.Net = stack
		h.device = device.NewDevice(dev, &loopback{}, device.NewLogger(device.LogLevelError, ""))
		t.Cleanup(h.device.Close)
		h.set(t, fmt.Sprintf("private_key=%s\nlisten_port=0\n", hex.EncodeToString(h.key.Bytes())))
		if err := h.device.Up(); err != nil {
			t.Fatal(err)
		}
	}
	for i, h := range all {
		h.meet(t, all[1-i])
	}
	return all
}

func (h *host) set(t testing.TB, config string) {
	t.Helper()
	if err := h.device.IpcSet(config); err != nil {
		t.Fatal(err)
	}
}

// get returns a value of the device's state.
func (h *host) get(t testing.TB, key string) string {
	t.Helper()
	state, err := h.device.IpcGet()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(state) {
		if value, ok := strings.CutPrefix(line, key+"="); ok {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("no %s in\n%s", key, state)
	return ""
}

// meet tells a host where the other one is.
func (h *host) meet(t testing.TB, other *host) {
	t.Helper()
	h.set(t, fmt.Sprintf("public_key=%s\nendpoint=127.0.0.1:%s\nallowed_ip=%s/32\nallowed_ip=%s/128\n",
		hex.EncodeToString(other.key.PublicKey().Bytes()), other.get(t, "listen_port"),
		other.addr[0], other.addr[1]))
}

func TestCreateRefuses(t *testing.T) {
	four, six := netip.MustParseAddr("10.9.0.1"), netip.MustParseAddr("fd09::1")
	for name, test := range map[string]struct {
		addresses []netip.Addr
		mtu       int
	}{
		"no MTU":                 {[]netip.Addr{four}, 0},
		"a short MTU":            {[]netip.Addr{four}, 575},
		"a short MTU of IPv6":    {[]netip.Addr{four, six}, 1279},
		"a long MTU":             {[]netip.Addr{four}, 65536},
		"an invalid address":     {[]netip.Addr{{}}, 1420},
		"an unspecified address": {[]netip.Addr{netip.IPv4Unspecified()}, 1420},
		"a group":                {[]netip.Addr{netip.MustParseAddr("224.0.0.1")}, 1420},
	} {
		if d, _, err := CreateNetTUN(test.addresses, nil, test.mtu); err == nil {
			t.Errorf("%s: no error", name)
			_ = d.Close()
		}
	}
}

// TestClose ends a device whose Read waits, twice.
func TestClose(t *testing.T) {
	d, stack, err := CreateNetTUN([]netip.Addr{netip.MustParseAddr("10.9.0.1")}, nil, 1420)
	if err != nil {
		t.Fatal(err)
	}
	l, err := stack.ListenTCP(nil)
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan error)
	go func() {
		for {
			if _, err := d.Read([][]byte{make([]byte, 2000)}, make([]int, 1), 0); err != nil {
				read <- err
				return
			}
		}
	}()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if err := <-read; err == nil {
		t.Error("Read has no error")
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if _, err := d.Write([][]byte{bytes.Repeat([]byte{0x45}, 40)}, 0); err == nil {
		t.Log("a packet for a closed stack is lost, as on a wire")
	}
}
