package main

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/tun"
	theirs "golang.zx2c4.com/wireguard/tun/netstack"

	"interleave/gonet/beside/host"
	ours "interleave/gonet/wireguard/netstack"
)

// tunnelMTU is wireguard-go's default, in bytes.
const tunnelMTU = 1420

// clientsOfHTTP is how many clients get pages at once.
const clientsOfHTTP = 10

// openConns is how many connections are open when memory is measured.
const openConns = 1000

// wireguard compares two stacks behind wireguard-go: its own package netstack, as it is shipped,
// and GoNet's. Two devices in one process talk over UDP on the loopback, with the offloads of UDP
// that wireguard-go uses on Linux. The figures are those of the process: its encryption, too.
var wireguard = comparison{
	name: "wireguard", peer: "gvisor",
	title: "two wireguard-go devices in one process, each with a stack",
	rows: []row{
		{name: "bulk, 1 connection, Gbit/s", least: 1.3},
		{name: "bulk, 1 connection, CPU s/GB", most: .7},
		{name: "bulk, 10 connections, Gbit/s", least: 1.3},
		{name: "bulk, 10 connections, CPU s/GB", most: .7},
		{name: "HTTP, 10 clients, Gbit/s", least: 1.3},
		{name: "HTTP, 10 clients, CPU s/GB", most: .7},
		{name: "1,000 idle connections, KiB each", most: .5},
		{name: "the process with them, MiB"},
	},
	loads: []load{
		{"bulk-1", tunnelBulk(1)},
		{"bulk-10", tunnelBulk(10)},
		{"http", inTunnel(func(_ context.Context, p *pair, c cell) (figures, error) {
			w, err := p.pages(clientsOfHTTP, c.lasts)
			return figures{"HTTP, 10 clients, Gbit/s": w.gbits(),
				"HTTP, 10 clients, CPU s/GB": w.cpuFor(1e9)}, err
		})},
		{"idle", inTunnel(func(ctx context.Context, p *pair, _ cell) (figures, error) {
			all, err := p.listen()
			if err != nil {
				return nil, err
			}
			defer all.Close()
			each, err := p.idle(ctx, all, openConns)
			if err != nil {
				return nil, err
			}
			process, err := ownResident()
			return figures{"1,000 idle connections, KiB each": each / 1024,
				"the process with them, MiB": process / (1 << 20)}, err
		})},
	},
}

// tunnelBulk measures bulk over n connections.
func tunnelBulk(n int) func(context.Context, cell) (figures, error) {
	name := fmt.Sprintf("bulk, %d connections, ", n)
	if n == 1 {
		name = "bulk, 1 connection, "
	}
	return inTunnel(func(ctx context.Context, p *pair, c cell) (figures, error) {
		w, err := p.bulk(ctx, n, false, c.lasts)
		return figures{name + "Gbit/s": w.gbits(), name + "CPU s/GB": w.cpuFor(1e9)}, err
	})
}

// inTunnel runs a load between two hosts that are joined by WireGuard.
func inTunnel(f func(context.Context, *pair, cell) (figures, error)) func(context.Context,
	cell) (figures, error) {
	return func(ctx context.Context, c cell) (figures, error) {
		p, err := tunnelOf(c.stack)
		if err != nil {
			return nil, err
		}
		return f(ctx, p, c)
	}
}

// createTUN has the function of each stack that makes a device and the host behind it.
var createTUN = map[string]func(addr netip.Addr) (tun.Device, host.Host, error){
	"gonet": func(addr netip.Addr) (tun.Device, host.Host, error) {
		d, n, err := ours.CreateNetTUN([]netip.Addr{addr}, nil, tunnelMTU)
		return d, hostBehind(addr, n), err
	},
	"gvisor": func(addr netip.Addr) (tun.Device, host.Host, error) {
		d, n, err := theirs.CreateNetTUN([]netip.Addr{addr}, nil, tunnelMTU)
		return d, hostBehind(addr, n), err
	},
}

// netstack has the methods that are used of the type Net of both netstack packages.
type netstack[L net.Listener, C net.Conn] interface {
	ListenTCPAddrPort(addr netip.AddrPort) (L, error)
	DialContextTCPAddrPort(ctx context.Context, addr netip.AddrPort) (C, error)
}

// hostBehind is the host of an address behind a device.
func hostBehind[L net.Listener, C net.Conn](addr netip.Addr, n netstack[L, C]) host.Host {
	return host.Host{
		Addr: addr,
		Listen: func(port uint16) (net.Listener, error) {
			return host.Listener(n.ListenTCPAddrPort(netip.AddrPortFrom(addr, port)))
		},
		Dial: func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			return host.Conn(n.DialContextTCPAddrPort(ctx, to))
		},
	}
}

// tunnelOf makes two hosts with a stack that are joined by WireGuard. They live as long as the
// process.
func tunnelOf(stack string) (*pair, error) {
	p := &pair{cpu: ownCPU}
	var devices [2]*device.Device
	var keys [2]*ecdh.PrivateKey
	for i, h := range []*host.Host{&p.near, &p.far} {
		addr := [2]netip.Addr{host.Near, host.Far}[i]
		d, made, err := createTUN[stack](addr)
		if err != nil {
			return nil, err
		}
		*h = made
		if keys[i], err = ecdh.X25519().GenerateKey(rand.Reader); err != nil {
			return nil, err
		}
		devices[i] = device.NewDevice(d, conn.NewDefaultBind(),
			device.NewLogger(device.LogLevelError, ""))
		if err := devices[i].IpcSet(fmt.Sprintf("private_key=%s\nlisten_port=0\n",
			hex.EncodeToString(keys[i].Bytes()))); err != nil {
			return nil, err
		}
		if err := devices[i].Up(); err != nil {
			return nil, err
		}
	}
	for i, d := range devices {
		other := 1 - i
		listens, err := listenPort(devices[other])
		if err != nil {
			return nil, err
		}
		if err := d.IpcSet(fmt.Sprintf("public_key=%s\nendpoint=127.0.0.1:%s\nallowed_ip=%v/32\n",
			hex.EncodeToString(keys[other].PublicKey().Bytes()), listens,
			[2]netip.Addr{host.Near, host.Far}[other])); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// listenPort returns the UDP port of a device.
func listenPort(d *device.Device) (string, error) {
	state, err := d.IpcGet()
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(state) {
		if value, ok := strings.CutPrefix(line, "listen_port="); ok {
			return strings.TrimSpace(value), nil
		}
	}
	return "", fmt.Errorf("the device has no port: %s", state)
}
