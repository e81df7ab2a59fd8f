package netstack_test

import (
	"crypto/ecdh"
	"crypto/rand"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"

	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/conn/bindtest"
	"golang.zx2c4.com/wireguard/device"

	"interleave/gonet/wireguard/netstack"
)

// A device whose packets go through UDP sockets of the kernel, and a client of HTTP in its tunnel.
// IpcSet of the device sets its key and its peers.
func ExampleCreateNetTUN() {
	tun, tnet, err := netstack.CreateNetTUN(
		[]netip.Addr{netip.MustParseAddr("192.168.4.28")}, // the tunnel's addresses of this host
		[]netip.Addr{netip.MustParseAddr("192.168.4.1")},  // the tunnel's DNS servers
		1420)
	if err != nil {
		log.Fatal(err)
	}
	dev := device.NewDevice(tun, conn.NewDefaultBind(), device.NewLogger(device.LogLevelError, ""))
	client := http.Client{Transport: &http.Transport{DialContext: tnet.DialContext}}

	defer dev.Close()
	r, err := client.Get("http://server.test/") // a name of the tunnel
	if err != nil {
		log.Fatal(err)
	}
	defer r.Body.Close()
	fmt.Println(r.Status)
}

// end is one end of a tunnel: a device and its key.
type end struct {
	*netstack.Net
	device *device.Device
	key    *ecdh.PrivateKey
}

// newEnd makes a device with an address of the tunnel, and a key of its own.
func newEnd(address string, bind conn.Bind) end {
	tun, tnet, err := netstack.CreateNetTUN([]netip.Addr{netip.MustParseAddr(address)}, nil, 1420)
	if err != nil {
		log.Fatal(err)
	}
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	return end{tnet, device.NewDevice(tun, bind, device.NewLogger(device.LogLevelError, "")), key}
}

// up tells a device of its peer, which has an endpoint and an address of the tunnel, and sets it
// up.
func (e end) up(peer end, endpoint, address string) {
	err := e.device.IpcSet(fmt.Sprintf("private_key=%x\npublic_key=%x\n", e.key.Bytes(),
		peer.key.PublicKey().Bytes()) + "endpoint=" + endpoint + "\nallowed_ip=" + address + "\n")
	if err == nil {
		err = e.device.Up()
	}
	if err != nil {
		log.Fatal(err)
	}
}

// Two devices, and a page that one fetches from the other through the tunnel. They are joined in
// memory here; conn.NewDefaultBind is UDP.
func Example() {
	binds := bindtest.NewChannelBinds() // the endpoint of the second one has port 1, of the first 2
	client, server := newEnd("10.9.0.1", binds[0]), newEnd("10.9.0.2", binds[1])
	client.up(server, "127.0.0.1:1", "10.9.0.2/32")
	server.up(client, "127.0.0.1:2", "10.9.0.1/32")
	defer client.device.Close()
	defer server.device.Close()

	l, err := server.ListenTCP(&net.TCPAddr{Port: 80})
	if err != nil {
		log.Fatal(err)
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		fmt.Fprint(w, "hello, ", host)
	}))

	browser := http.Client{Transport: &http.Transport{DialContext: client.DialContext}}
	r, err := browser.Get("http://10.9.0.2/")
	if err != nil {
		log.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	fmt.Printf("%s, %v\n", text, err)
	// Output: hello, 10.9.0.1, <nil>
}
