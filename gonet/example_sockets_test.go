package gonet_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"interleave/gonet"
	"interleave/gonet/tcp"
)

// Options that are there from the SYN on: a small window, a TTL and a class of traffic, and a bound
// on how long a peer may not answer, also before there is a connection.
func ExampleDialer_options() {
	client, server := hosts()
	defer client.Close()
	defer server.Close()
	l, _ := server.Listen("tcp", ":80")
	d := gonet.Dialer{Stack: client, TTL: 32, TOS: 0xb8,
		TCP: &tcp.Config{ReceiveBuffer: 16 << 10, UserTimeout: time.Minute}}
	if _, err := d.DialContext(context.Background(), "tcp", "10.0.0.2:80"); err != nil {
		fmt.Println(err)
		return
	}
	c, err := l.Accept()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("a window of 16 KiB:", c.(*gonet.Conn).Info().PeerWindow <= 16<<10)
	// Output: a window of 16 KiB: true
}

// A server of UDP that has a socket of its own for a peer, at the port of the socket for all.
func ExampleDialer_localAddr() {
	client, server := hosts()
	defer client.Close()
	defer server.Close()
	all, _ := server.ListenPacket("udp", ":53")
	peer, _ := client.ListenPacket("udp", "10.0.0.1:4000")
	_, _ = peer.WriteTo([]byte("first"), &net.UDPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 53})
	b := make([]byte, 100)
	n, from, info, err := all.ReadInfo(b)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s from %v to %v, TTL %d\n", b[:n], from, info.Local, info.TTL)

	own, err := gonet.Dialer{Stack: server, LocalAddr: all.LocalAddr()}.DialContext(
		context.Background(), "udp", from.String())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(own.LocalAddr(), "to", own.RemoteAddr())
	// Output:
	// first from 10.0.0.1:4000 to 10.0.0.2, TTL 64
	// 10.0.0.2:53 to 10.0.0.1:4000
}

// Two listeners at one port, each with a small window for its connections: the clients are divided
// between them.
func ExampleListenConfig() {
	client, server := hosts()
	defer client.Close()
	defer server.Close()
	config := gonet.ListenConfig{Stack: server, SharePort: true,
		TCP: &tcp.Config{ReceiveBuffer: 16 << 10, UserTimeout: time.Minute}}
	served := make(chan string)
	for range 2 {
		l, err := config.Listen("tcp", ":80")
		if err != nil {
			fmt.Println(err)
			return
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				served <- c.LocalAddr().String()
			}
		}()
	}
	for range 3 {
		if _, err := client.Dial("tcp", "10.0.0.2:80"); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(<-served)
	}
	// Output:
	// 10.0.0.2:80
	// 10.0.0.2:80
	// 10.0.0.2:80
}

// Many datagrams in one write, as with UDP_SEGMENT of Linux. A link that takes super-frames carries
// up to 64 of them in one.
func ExamplePacketConn_WriteInfo() {
	client, server := hosts()
	defer client.Close()
	defer server.Close()
	to, _ := server.ListenPacket("udp", "10.0.0.2:7")
	from, _ := client.ListenPacket("udp", ":0")
	n, err := from.WriteInfo([]byte("one two three"), netip.MustParseAddrPort("10.0.0.2:7"),
		gonet.PacketInfo{Segment: 4})
	fmt.Println(n, err)
	b := make([]byte, 100)
	for range 4 {
		n, _, err := to.ReadFrom(b)
		fmt.Printf("%q %v\n", b[:n], err)
	}
	// Output:
	// 13 <nil>
	// "one " <nil>
	// "two " <nil>
	// "thre" <nil>
	// "e" <nil>
}

// Options of one connection, with the methods of *net.TCPConn.
func ExampleConn_SetKeepAliveConfig() {
	client, server := hosts()
	defer client.Close()
	defer server.Close()
	_, _ = server.Listen("tcp", ":80")
	c, err := client.Dial("tcp", "10.0.0.2:80")
	if err != nil {
		fmt.Println(err)
		return
	}
	conn := c.(*gonet.Conn)
	fmt.Println(conn.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: time.Minute}),
		conn.SetUserTimeout(30*time.Second), conn.SetNoDelay(false), conn.SetLinger(5))
	// Output: <nil> <nil> <nil> <nil>
}

// An echo request, sent and received as bytes.
func ExampleStack_ListenICMP() {
	client, server := hosts()
	defer client.Close()
	defer server.Close()
	c, err := client.ListenICMP("ip4:icmp", "10.0.0.1")
	if err != nil {
		fmt.Println(err)
		return
	}
	request := []byte{8, 0, 0, 0, 0, 7, 0, 1, 'h', 'i'} // the stack fills in the checksum
	_, _ = c.WriteTo(request, &net.IPAddr{IP: net.IPv4(10, 0, 0, 2)})
	b := make([]byte, 100)
	n, from, err := c.ReadFrom(b)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("type %d from %v: %s\n", b[0], from, b[8:n])
	// Output: type 0 from 10.0.0.2: hi
}

// Two sockets that have joined a group, and a sender that has not.
func ExampleStack_ListenMulticastUDP() {
	a, b := hosts()
	defer a.Close()
	defer b.Close()
	p, err := b.ListenMulticastUDP("udp", "239.1.2.3:5000")
	if err != nil {
		fmt.Println(err)
		return
	}
	q, _ := b.ListenPacket("udp4", ":5000")
	group, source := netip.MustParseAddr("239.1.2.3"), netip.MustParseAddr("10.0.0.1")
	if err := q.JoinSourceSpecificGroup(group, source); err != nil {
		fmt.Println(err)
		return
	}
	sender, _ := a.ListenPacket("udp", "10.0.0.1:4000")
	_, _ = sender.WriteToAddrPort([]byte("to all"), netip.AddrPortFrom(group, 5000))
	for _, socket := range []*gonet.PacketConn{p, q} {
		text := make([]byte, 100)
		n, from, info, err := socket.ReadInfo(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s from %v to %v, TTL %d\n", text[:n], from, info.Local, info.TTL)
	}
	// Output:
	// to all from 10.0.0.1:4000 to 239.1.2.3, TTL 1
	// to all from 10.0.0.1:4000 to 239.1.2.3, TTL 1
}
