package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"

	"interleave/gonet"
	"interleave/gonet/link"
	"interleave/gonet/slirp"
)

// serveDNS is a server of DNS over UDP: each name has the address 192.0.2.7.
func serveDNS(address string) {
	p, err := net.ListenPacket("udp", address)
	fail(err)
	fmt.Fprintln(os.Stderr, "ready")
	b := make([]byte, 4096)
	for {
		n, from, err := p.ReadFrom(b)
		fail(err)
		var m dnsmessage.Message
		fail(m.Unpack(b[:n]))
		q := m.Questions[0]
		fmt.Fprintln(os.Stderr, "asked for", q.Name)
		m.Response, m.Additionals = true, nil
		if q.Type == dnsmessage.TypeA {
			m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name,
				Class: q.Class, TTL: 1}, Body: &dnsmessage.AResource{A: [4]byte{192, 0, 2, 7}}}}
		}
		out, err := m.Pack()
		fail(err)
		_, err = p.WriteTo(out, from)
		fail(err)
	}
}

// slirpOf returns the flags that a command line of `gonet slirp` sets, or why it is wrong.
func slirpOf(line string) (*slirpFlags, error) {
	var w slirpFlags
	c := w.command()
	if err := c.ParseFlags(strings.Fields(line)); err != nil {
		return nil, err
	}
	return &w, w.complete(c.Flags().Args())
}

// TestSlirpFlags holds command lines as podman, rootlesskit and people write them.
func TestSlirpFlags(t *testing.T) {
	w, err := slirpOf("--disable-host-loopback --mtu=65520 --enable-sandbox --enable-seccomp " +
		"--enable-ipv6 -c -r 1 --netns-type=path /run/user/1000/netns/netns-1 tap0")
	if err != nil || !w.noHostLoopback || w.tap.MTU != 65520 || !w.ipv6 || w.readyFD != 1 ||
		w.exitFD != -1 || w.target != "/run/user/1000/netns/netns-1" || w.tap.Name != "tap0" {
		t.Errorf("%+v, %v", w, err)
	}
	want := []string{"link set lo up", "link set dev tap0 mtu 65520 up",
		"addr add 10.0.2.100/24 dev tap0", "route add default via 10.0.2.2 dev tap0"}
	want6 := []string{"addr add fd00::100/64 dev tap0 nodad", "route add ::/0 via fd00::2 dev tap0"}
	if !slices.Equal(w.tap.Lines, want) || !slices.Equal(w.tap.Lines6, want6) {
		t.Errorf("%q and %q, want %q and %q", w.tap.Lines, w.tap.Lines6, want, want6)
	}
	if got := strings.Join(w.inSandbox("/bin/gonet", 5), " "); got != "slirp "+
		"--disable-host-loopback=true --enable-ipv6=true --enable-seccomp=true --mtu=65520 "+
		"--ready-fd=1 --netns-type=tapfd -- 5 tap0" {
		t.Errorf("in the sandbox: %s", got)
	}
	w, err = slirpOf("-c -m 1280 -6 -a api --cidr 10.9.0.0/16 --macaddress 02:00:00:00:00:07 " +
		"--outbound-addr 127.0.0.2 --outbound-addr6 ::1 --disable-dns 4711")
	if err != nil || w.target != "4711" || w.tap.Name != "tap0" || w.api != "api" || !w.noDNS ||
		w.network.Guest.String() != "10.9.0.100" || w.host.Local4.String() != "127.0.0.2" ||
		w.host.Local6.String() != "::1" ||
		!slices.Contains(w.tap.Lines, "link set dev tap0 address 02:00:00:00:00:07") {
		t.Errorf("%+v, %v", w, err)
	}
	if w, err = slirpOf("--netns 4711 eth0"); err != nil || w.target != "4711" ||
		w.tap.Name != "eth0" || w.tap.Lines != nil {
		t.Errorf("%+v, %v", w, err)
	}
	for _, bad := range []string{"", "1 tap0 more", "--netns 1 tap0 more",
		"--netns-type pid name 1", "--netns-type name 1", "--mtu 67 1", "--mtu 65522 1",
		"-6 --mtu 1279 1", "--cidr 10.0.2.0 1", "--cidr 10.0.2.0/26 1", "--cidr 127.0.0.0/8 1",
		"--outbound-addr nothing 1", "--macaddress 02:00:00:00:00:07 1",
		"-c --macaddress 01:00:00:00:00:07 1", "-r 999 1", "-e 999 1"} {
		var u usageError
		if _, err := slirpOf(bad); !errors.As(err, &u) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestSlirpNames has the program started under both names.
func TestSlirpNames(t *testing.T) {
	for line, want := range map[string]string{"gonet slirp 1": "slirp 1",
		"/usr/bin/slirp4netns -c 1 tap0": "slirp -c 1 tap0", "slirp4netns": "slirp",
		"slirp4netns slirp-tap {}": "slirp-tap {}", "gonet": ""} {
		if got := strings.Join(words(strings.Fields(line)), " "); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// TestShares holds that a guest's share leaves room for others.
func TestShares(t *testing.T) {
	for descriptors, want := range map[uint64][2]int{1 << 62: {4096, 1024}, 524_288: {4096, 1024},
		4096: {2388, 597}, 1024: {340, 85}, 64: {2, 1}} {
		connections, flows := shares(descriptors)
		if connections != want[0] || flows != want[1] {
			t.Errorf("of %d: %d and %d, want %v", descriptors, connections, flows, want)
		}
	}
}

// TestListenAPI replaces a socket that nobody serves, and no other file.
func TestListenAPI(t *testing.T) {
	path := filepath.Join(t.TempDir(), "api")
	l, err := listenAPI(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := listenAPI(path); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a socket in use: %v", err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // as after kill -9
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = listenAPI(path); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listenAPI(path); err == nil {
		t.Error("a file was replaced")
	}
}

// TestDescriptor has guests at the sockets on which QEMU sends frames, which were handed in by
// their descriptors.
func TestDescriptor(t *testing.T) {
	network, err := slirp.NewNetwork(netip.MustParsePrefix("10.0.2.0/24"), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_SEQPACKET} {
		pair, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		gateway, err := openDescriptor(pair[0], 1500)
		if err != nil {
			t.Fatal(err)
		}
		s, err := slirp.New(slirp.Config{Link: gateway, Network: network, Host: slirp.Kernel{}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- s.Serve(ctx) }()
		var end link.Link
		if f := os.NewFile(uintptr(pair[1]), "guest"); kind == unix.SOCK_STREAM {
			end = link.NewStream(f, link.Features{MTU: 1500})
		} else {
			end = link.NewPackets(f, link.Features{MTU: 1500})
		}
		guest, err := gonet.New(gonet.Config{Link: end, Addresses: []netip.Prefix{
			netip.PrefixFrom(network.Guest, 24)}})
		if err != nil {
			t.Fatal(err)
		}
		limited, stop := context.WithTimeout(ctx, testTimeout)
		if _, err := guest.Ping(limited, network.Gateway, 10); err != nil {
			t.Errorf("socket type %d: %v", kind, err)
		}
		stop()
		cancel()
		if err := errors.Join(<-served, guest.Close()); err != nil {
			t.Error(err)
		}
	}
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := openDescriptor(int(file.Fd()), 1500); err == nil {
		t.Error("a file was taken")
	}
}
