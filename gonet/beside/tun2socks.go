package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"interleave/gonet/beside/host"
	"interleave/gonet/socks"
)

// tun2socks compares two programs that send the connections of a tun to a SOCKS5 server: `gonet
// tun2socks` and tun2socks of xjasonlyu, each as its users run it. The kernel is the client, and
// the server is in this process. Processor time and memory are those of the program alone.
var tun2socks = comparison{
	name: "tun2socks", peer: "xjasonlyu",
	title: "connections from a tun to a local SOCKS5 server",
	rows: []row{
		{name: "out, 1 connection, Gbit/s", least: 1},
		{name: "out, 1 connection, CPU s/GB", most: 1},
		{name: "out, 10 connections, Gbit/s", least: 1},
		{name: "out, 10 connections, CPU s/GB", most: 1},
		{name: "in, 10 connections, Gbit/s", least: 1},
		{name: "in, 10 connections, CPU s/GB", most: 1},
		{name: "connections/s, 16 clients", least: 1},
		{name: "a connection, CPU us", most: 1},
		{name: "memory with 1,000 connections, MiB", most: 1},
	},
	loads: []load{
		{"out-1", behindTun(func(ctx context.Context, p *pair, c cell) (figures, error) {
			w, err := p.bulk(ctx, 1, false, c.lasts)
			return figures{"out, 1 connection, Gbit/s": w.gbits(),
				"out, 1 connection, CPU s/GB": w.cpuFor(1e9)}, err
		})},
		{"out-10", behindTun(func(ctx context.Context, p *pair, c cell) (figures, error) {
			w, err := p.bulk(ctx, 10, false, c.lasts)
			return figures{"out, 10 connections, Gbit/s": w.gbits(),
				"out, 10 connections, CPU s/GB": w.cpuFor(1e9)}, err
		})},
		{"in-10", behindTun(func(ctx context.Context, p *pair, c cell) (figures, error) {
			w, err := p.bulk(ctx, 10, true, c.lasts)
			return figures{"in, 10 connections, Gbit/s": w.gbits(),
				"in, 10 connections, CPU s/GB": w.cpuFor(1e9)}, err
		})},
		{"visits", behindTun(func(ctx context.Context, p *pair, c cell) (figures, error) {
			w, err := p.visits(ctx, visitors, c.lasts)
			return figures{"connections/s, 16 clients": w.rate(),
				"a connection, CPU us": w.cpuFor(1e6)}, err
		})},
		{"idle", behindTun(func(ctx context.Context, p *pair, c cell) (figures, error) {
			all, err := p.listen()
			if err != nil {
				return nil, err
			}
			defer all.Close()
			if err := p.open(ctx, all, openConns); err != nil {
				return nil, err
			}
			bytes, err := residentOf(c.pid)
			return figures{"memory with 1,000 connections, MiB": bytes / (1 << 20)}, err
		})},
	},
}

// The addresses of the tun. All of foreign is behind it.
const (
	tunName   = "beside0"
	tunKernel = "10.9.0.1/24"
	tunStack  = "10.9.0.2/24"
	foreign   = "203.0.113.0/24"
)

// foreignHosts is how many of the foreign addresses are dialed in turn, so that the kernel has
// enough ports for each.
const foreignHosts = 200

// behindTun runs a load against a program: the near host is the kernel, which connects through the
// tun, and the far host is a server on the loopback, to which the SOCKS5 server connects.
func behindTun(f func(context.Context, *pair, cell) (figures, error)) func(context.Context,
	cell) (figures, error) {
	return func(ctx context.Context, c cell) (result figures, err error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		server, err := serveSOCKS(ctx)
		if err != nil {
			return nil, err
		}
		if err := makeTun(ctx); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, ip(context.Background(), "link", "del", tunName)) }()
		program, err := startTun2socks(ctx, c, server)
		if err != nil {
			return nil, err
		}
		defer func() {
			cancel()
			_ = program.Wait() // it was told to end
		}()
		c.pid = program.Process.Pid
		p := tunPair(c.pid)
		if err := p.awaitProgram(ctx); err != nil {
			return nil, err
		}
		return f(ctx, p, c)
	}
}

// makeTun makes a tun, with the kernel's address and a route. A new one has no offloads of the
// program before.
func makeTun(ctx context.Context) error {
	return errors.Join(
		ip(ctx, "tuntap", "add", "mode", "tun", "name", tunName),
		ip(ctx, "addr", "add", tunKernel, "dev", tunName),
		ip(ctx, "link", "set", tunName, "up"),
		ip(ctx, "route", "add", foreign, "dev", tunName),
	)
}

// startTun2socks starts the program of a stack on the tun. It ends with the context.
func startTun2socks(ctx context.Context, c cell, server string) (*exec.Cmd, error) {
	words := map[string][]string{
		"gonet": {"gonet", "tun2socks", "--tun", tunName, "--address", tunStack, "--kernel", "none",
			"--socks", server},
		"xjasonlyu": {"tun2socks", "-device", "tun://" + tunName, "-proxy", "socks5://" + server,
			"-loglevel", "error"},
	}[c.stack]
	program := exec.CommandContext(ctx, filepath.Join(c.folder, words[0]), words[1:]...)
	program.Stderr = os.Stderr
	program.Cancel = func() error { return program.Process.Signal(syscall.SIGTERM) }
	program.WaitDelay = patience
	program.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return program, program.Start()
}

// serveSOCKS starts a SOCKS5 server that connects to the loopback, whatever the address. It ends
// with the context.
func serveSOCKS(ctx context.Context) (address string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &socks.Server{
		MaxClients: 4 * openConns,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			_, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			var d net.Dialer
			return d.DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
		},
	}
	go func() { _ = server.Serve(ctx, l) }() // an end of the listener is the end of the context
	return l.Addr().String(), nil
}

// tunPair has the kernel as both hosts. Its processor time is that of a program between them.
func tunPair(pid int) *pair {
	first := netip.MustParsePrefix(foreign).Addr().Next().As4()
	var dials atomic.Uint32
	var d net.Dialer
	return &pair{
		near: host.Host{Dial: func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			a := first
			a[3] += byte(dials.Add(1) % foreignHosts)
			return d.DialContext(ctx, "tcp", netip.AddrPortFrom(netip.AddrFrom4(a),
				to.Port()).String())
		}},
		far: host.Host{Addr: netip.AddrFrom4(first),
			Listen: func(port uint16) (net.Listener, error) {
				return net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))))
			}},
		cpu: func() (time.Duration, error) { return cpuOf(pid) },
	}
}

// awaitProgram connects through the program until it serves.
func (p *pair) awaitProgram(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	all, err := p.listen()
	if err != nil {
		return err
	}
	defer all.Close()
	go func() { // until the listener is closed
		for {
			far, err := all.listener.Accept()
			if err != nil {
				return
			}
			_, _ = far.Write([]byte{1}) // the client looks at it
			_ = far.Close()
		}
	}()
	for {
		err := p.reach(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the program does not serve: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// tryTime bounds one try to connect through a program that may not serve yet.
const tryTime = 2 * time.Second

// reach reads a byte from the far host.
func (p *pair) reach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	near, err := p.dial(ctx)
	if err != nil {
		return err
	}
	defer near.Close()
	if err := near.SetDeadline(time.Now().Add(tryTime)); err != nil {
		return err
	}
	_, err = near.Read([]byte{0})
	return err
}

// ip runs the ip command of iproute2.
func ip(ctx context.Context, words ...string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "ip", words...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(words, " "), err,
			strings.TrimSpace(string(out)))
	}
	return nil
}
