package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/device"

	"interleave/gonet/wireguard/gateway"
	"interleave/gonet/wireguard/netstack"
	"interleave/gonet/wireguard/quick"
)

// tunnel is a device of wireguard-go, with the stack behind it.
type tunnel struct {
	config    *quick.Config
	endpoints []netip.AddrPort // of the peers; invalid: none
	net       *netstack.Net
	device    *device.Device
	log       *console
}

// open brings a tunnel up. The handshakes begin with greet, or with the first packets.
func open(ctx context.Context, config *quick.Config, log *console,
	verbose bool) (*tunnel, error) {
	t := &tunnel{config: config, log: log}
	for _, p := range config.Peers {
		at, err := resolve(ctx, p.Endpoint)
		if err != nil {
			return nil, err
		}
		t.endpoints = append(t.endpoints, at)
	}
	var addresses []netip.Addr
	for _, a := range config.Addresses {
		addresses = append(addresses, a.Addr())
	}
	tun, stack, err := netstack.CreateNetTUN(addresses, config.DNS, config.MTU)
	if err != nil {
		return nil, err
	}
	stack.SetSearch(config.Search...)
	var up atomic.Bool // until then, errors are returned
	t.net = stack
	t.device = device.NewDevice(tun, conn.NewDefaultBind(), t.logger(&up, verbose))
	err = t.device.IpcSet(config.Device(t.endpoints))
	if err == nil {
		err = t.device.Up()
	}
	if err != nil {
		t.device.Close()
		return nil, fmt.Errorf("bringing the tunnel up: %w", err)
	}
	up.Store(true)
	return t, nil
}

// resolve returns the address of an endpoint, by the resolver of this machine. The zero endpoint
// has none.
func resolve(ctx context.Context, e quick.Endpoint) (netip.AddrPort, error) {
	if e.Host == "" {
		return netip.AddrPort{}, nil
	}
	if a, err := netip.ParseAddr(e.Host); err == nil {
		return netip.AddrPortFrom(a, e.Port), nil
	}
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", e.Host)
	if err == nil && len(all) == 0 {
		err = &net.DNSError{Err: "no such host", Name: e.Host, IsNotFound: true}
	}
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return netip.AddrPort{}, fmt.Errorf("the endpoint %v of a peer: %w", e, err)
	}
	return netip.AddrPortFrom(all[0].Unmap(), e.Port), nil
}

// logger is that of the device. It leaves out an error that repeats the one before: wireguard-go
// tries to send each five seconds.
func (t *tunnel) logger(up *atomic.Bool, verbose bool) *device.Logger {
	var mu sync.Mutex
	last := ""
	l := &device.Logger{Verbosef: device.DiscardLogf, Errorf: func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		mu.Lock()
		again := text == last
		last = text
		mu.Unlock()
		if up.Load() && !again {
			t.log.printf("%s", text)
		}
	}}
	if verbose {
		l.Verbosef = t.log.printf
	}
	return l
}

// closeTime is how long the last segments of connections may take to leave.
const closeTime = 200 * time.Millisecond

// close takes the tunnel down.
func (t *tunnel) close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	_ = t.net.Stack().Shutdown(ctx) // a connection whose peer is silent is lost
	t.device.Close()
}

// network returns the tunnel's side for proxies and forwards. Names are looked up by servers in the
// tunnel.
func (t *tunnel) network() gateway.Network {
	stack := t.net.Stack()
	return gateway.Network{Dial: t.net.DialContext, Lookup: t.net.LookupNetIP,
		Listen: func(network, address string) (net.Listener, error) {
			l, err := stack.Listen(network, address)
			if err != nil {
				return nil, err // not a nil *gonet.Listener
			}
			return l, nil
		},
		ListenPacket: func(network, address string) (net.PacketConn, error) {
			c, err := stack.ListenPacket(network, address)
			if err != nil {
				return nil, err // not a nil *gonet.PacketConn
			}
			return c, nil
		}}
}

var errEnded = errors.New("the tunnel has ended")

// serve runs the services until the context or one of them ends. Only the latter is an error.
func (t *tunnel) serve(outer context.Context, services []*gateway.Service, every time.Duration,
	asked <-chan os.Signal) error {
	ctx, cancel := context.WithCancelCause(outer)
	defer cancel(nil)
	var running sync.WaitGroup
	for _, s := range services {
		running.Go(func() {
			if err := s.Serve(ctx); err != nil {
				cancel(fmt.Errorf("%s %v: %w", s.Name, s.Addr, err))
			}
		})
	}
	running.Go(func() { t.greet(ctx) })
	running.Go(func() { t.report(ctx, every, asked) })
	select {
	case <-ctx.Done():
	case <-t.device.Wait():
		cancel(errEnded)
	}
	running.Wait()
	if outer.Err() != nil {
		return nil
	}
	return context.Cause(ctx)
}
