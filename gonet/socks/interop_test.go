package socks

import (
	"bytes"
	"io"
	"net"
	"testing"

	"interleave/gonet/relay"
)

// TestClientAndServer has this package's client use its server: a connection, a wrong password, and
// datagrams.
func TestClientAndServer(t *testing.T) {
	echo := echoServer(t)
	address, stop := startServer(t, &Server{Dial: kernelDial,
		ListenPacket: func() (net.PacketConn, error) {
			return net.ListenPacket("udp", "127.0.0.1:0")
		},
		Login: relay.Login{User: "user", Password: "secret"}})
	defer stop()
	d := Dialer{Server: address, User: "user", Password: "secret"}
	c, err := d.DialContext(t.Context(), "tcp", echo.String())
	if err != nil {
		t.Fatal(err)
	}
	text := bytes.Repeat([]byte("both ways "), 10_000)
	go func() {
		_, _ = c.Write(text) // the reader checks
		_ = c.(*net.TCPConn).CloseWrite()
	}()
	if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%d bytes of %d, %v", len(got), len(text), err)
	}
	_ = c.Close() // all was read
	wrong := Dialer{Server: address, User: "user", Password: "wrong"}
	if _, err := wrong.DialContext(t.Context(), "tcp", echo.String()); err == nil {
		t.Error("a wrong password was taken")
	}
	peer := datagrams(t)
	a, err := d.Associate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	to := AddressOf(peer.LocalAddr().(*net.UDPAddr).AddrPort())
	if err := a.Send([]byte("time?"), to); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	n, from, err := peer.ReadFromUDPAddrPort(b)
	if err != nil || string(b[:n]) != "time?" {
		t.Fatalf("%q, %v", b[:n], err)
	}
	if _, err := peer.WriteToUDPAddrPort([]byte("noon"), from); err != nil {
		t.Fatal(err)
	}
	if data, sender, err := a.Receive(b); err != nil || string(data) != "noon" || sender != to {
		t.Errorf("%q from %v, %v", data, sender, err)
	}
}
