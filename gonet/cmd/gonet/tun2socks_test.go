package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"interleave/gonet"
	"interleave/gonet/socks"
)

// serveSocks is a SOCKS5 server for user "user", on whose side all hosts are this one: it takes the
// ports of the destinations, and prints their addresses.
func serveSocks(address, password string) {
	l, err := net.Listen("tcp", address)
	fail(err)
	relay, err := net.ListenPacket("udp", address)
	fail(err)
	go relayDatagrams(relay.(*net.UDPConn))
	fmt.Fprintln(os.Stderr, "ready")
	for {
		c, err := l.Accept()
		fail(err)
		go func() {
			defer c.Close()
			if err := serveSocksClient(c.(*net.TCPConn), password, relay.LocalAddr()); err != nil {
				fmt.Fprintln(os.Stderr, "client:", err)
			}
		}()
	}
}

func serveSocksClient(c *net.TCPConn, password string, relay net.Addr) error {
	methods, err := socks.ReadGreeting(c)
	if err != nil {
		return err
	}
	if !slices.Contains(methods, socks.MethodPassword) {
		return errors.New("a client without a password")
	}
	if _, err := c.Write(socks.AppendMethod(nil, socks.MethodPassword)); err != nil {
		return err
	}
	user, got, err := socks.ReadPassword(c)
	if err != nil {
		return err
	}
	ok := user == "user" && got == password
	if _, err := c.Write(socks.AppendPasswordReply(nil, ok)); err != nil || !ok {
		return errors.Join(err, errors.New("a wrong password"))
	}
	q, err := socks.ReadRequest(c)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "command", q.Command, "to", q.Address)
	reply := socks.Reply{Address: socks.AddressOf(relay.(*net.UDPAddr).AddrPort())}
	var far net.Conn
	if q.Command == socks.Connect {
		if far, err = net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", q.Address.Port)); err != nil {
			reply.Code = socks.Refused
		}
	}
	b, err := reply.Append(nil)
	if err != nil {
		return err
	}
	if _, err := c.Write(b); err != nil || reply.Code != socks.Succeeded {
		return err
	}
	if far == nil {
		_, _ = io.Copy(io.Discard, c) // ends with the association
		return nil
	}
	defer far.Close()
	go func() {
		_, _ = io.Copy(far, c) // the end of the client, in any way
		_ = far.(*net.TCPConn).CloseWrite()
	}()
	_, err = io.Copy(c, far)
	return errors.Join(err, c.CloseWrite())
}

// relayDatagrams sends back each datagram in capitals, as if from its destination.
func relayDatagrams(c *net.UDPConn) {
	b := make([]byte, 65536)
	for {
		n, from, err := c.ReadFromUDPAddrPort(b)
		fail(err)
		a, data, err := socks.ParseDatagram(b[:n])
		fail(err)
		if a.Name != "" {
			a = socks.AddressOf(netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, 1}), a.Port))
		}
		out, err := socks.AppendDatagram(nil, a)
		fail(err)
		_, err = c.WriteToUDPAddrPort(append(out, strings.ToUpper(string(data))...), from)
		fail(err)
	}
}

func TestTunFlags(t *testing.T) {
	host := hostFlags{tun: "tun0", addresses: []string{"10.9.0.2/24", "fd09::2/64"}, netns: "1"}
	w := tunFlags{host: host, server: "host:1080", most: 10, names: "198.18.0.0/15",
		answerEcho: true}
	cfg, err := w.config()
	if err != nil || cfg.Server.Server != "host:1080" || cfg.Connections != 10 ||
		cfg.Names.Bits() != 15 || fmt.Sprint(w.host.routes) != "[0.0.0.0/0 ::/0]" {
		t.Errorf("%+v, routes %v, %v", cfg, w.host.routes, err)
	}
	var c gonet.Config
	w.host.configure(&c)
	if len(c.Promiscuous) != 2 || !c.Forward.AnswerEcho || c.Forward.Requests != 10 {
		t.Errorf("%+v", c)
	}
	w.host.netns, w.host.routes = "", nil
	if _, err := w.config(); err != nil || len(w.host.routes) != 0 {
		t.Errorf("routes %v, %v: in this namespace the server is reached, too", w.host.routes, err)
	}
	for _, bad := range []tunFlags{{most: 1}, {server: "host", most: 1}, {server: "host:1080"},
		{server: "host:1080", most: 1, names: "x"}, {server: "host:1080", most: 1, user: "user"},
		{server: "host:1080", most: 1, password: "file"}} {
		var u usageError
		if _, err := bad.config(); !errors.As(err, &u) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// TestInNetns holds the errors of namespaces that are not there.
func TestInNetns(t *testing.T) {
	for _, bad := range []string{"0", "/dev/null", "nothing"} {
		if err := inNetns(bad, func() error { return nil }); err == nil ||
			!strings.Contains(err.Error(), "--netns "+bad) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
