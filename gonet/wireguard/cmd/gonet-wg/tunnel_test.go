package main

import (
	"bytes"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/device"

	"interleave/gonet/socks"
	"interleave/gonet/wireguard/netstack"
)

// far is the other end of a tunnel, in this process: a host with the addresses 10.9.0.1 and
// fd09::1, which is its own DNS server.
type far struct {
	*netstack.Net
	key, peer *ecdh.PrivateKey // its own, and the command's
	port      string
}

func newKey(t *testing.T) *ecdh.PrivateKey {
	t.Helper()
	k, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func newFar(t *testing.T) *far {
	t.Helper()
	if os.Getenv(inNamespace) == "" {
		t.Skip("SKIP: no network namespace")
	}
	tun, stack, err := netstack.CreateNetTUN([]netip.Addr{netip.MustParseAddr("10.9.0.1"),
		netip.MustParseAddr("fd09::1")}, nil, 1420)
	if err != nil {
		t.Fatal(err)
	}
	f := &far{Net: stack, key: newKey(t), peer: newKey(t)}
	d := device.NewDevice(tun, conn.NewDefaultBind(), device.NewLogger(device.LogLevelSilent, ""))
	t.Cleanup(d.Close)
	err = d.IpcSet(fmt.Sprintf("private_key=%x\nlisten_port=0\npublic_key=%x\n"+
		"allowed_ip=10.9.0.2/32\nallowed_ip=fd09::2/128\n", f.key.Bytes(),
		f.peer.PublicKey().Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Up(); err != nil {
		t.Fatal(err)
	}
	state, err := d.IpcGet()
	if err != nil {
		t.Fatal(err)
	}
	_, f.port, _ = strings.Cut(state, "listen_port=")
	f.port, _, _ = strings.Cut(f.port, "\n")
	return f
}

func encoded(key []byte) string { return base64.StdEncoding.EncodeToString(key) }

// conf writes the file of the command's side.
func (f *far) conf(t *testing.T, peer *ecdh.PublicKey, port string) string {
	t.Helper()
	return write(t, "wg0.conf", fmt.Sprintf("[Interface]\nPrivateKey = %s\n"+
		"Address = 10.9.0.2/32, fd09::2/128\nDNS = 10.9.0.1, test\nPostUp = false\n"+
		"[Peer]\nPublicKey = %s\nAllowedIPs = 0.0.0.0/0, ::/0\nEndpoint = 127.0.0.1:%s\n",
		encoded(f.peer.Bytes()), encoded(peer.Bytes()), port))
}

// pages is a server whose page says who it is, and from where the request came.
func pages(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		fmt.Fprintf(w, "%s %s for %s from %s\n", name, r.URL.Path, r.Host, host)
	})
}

// serve serves pages at port 80, the name far.test, and echoes of datagrams at port 7.
func (f *far) serve(t *testing.T) {
	t.Helper()
	l, err := f.ListenTCP(&net.TCPAddr{Port: 80})
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: pages("far"), ReadHeaderTimeout: patience}
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(l) }() // until it is closed
	for port, answer := range map[int]func([]byte) []byte{7: bytes.ToUpper, 53: dnsAnswer} {
		c, err := f.ListenUDP(&net.UDPAddr{Port: port})
		if err != nil {
			t.Fatal(err)
		}
		echo(t, c, answer)
	}
}

// echo answers datagrams until the end of the test.
func echo(t *testing.T, c net.PacketConn, answer func([]byte) []byte) {
	t.Cleanup(func() { _ = c.Close() })
	go func() {
		b := make([]byte, 2000)
		for {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = c.WriteTo(answer(b[:n]), from) // a lost answer shows in the test
		}
	}()
}

// dnsAnswer answers a query: far.test has an IPv4 address, and no other name exists.
func dnsAnswer(query []byte) []byte {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	m.Response, m.Additionals = true, nil
	switch {
	case q.Name.String() != "far.test.":
		m.RCode = dnsmessage.RCodeNameError
	case q.Type == dnsmessage.TypeA:
		m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name,
			Type: q.Type, Class: q.Class}, Body: &dnsmessage.AResource{A: [4]byte{10, 9, 0, 1}}}}
	}
	b, _ := m.Pack()
	return b
}

// curl runs curl, and returns its output and exit status.
func curl(t *testing.T, args ...string) (string, int) {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("SKIP: install curl")
	}
	c := exec.Command("curl", append([]string{"-sS", "--max-time", "120"}, args...)...)
	c.Env = []string{"PATH=" + os.Getenv("PATH")} // without http_proxy and the like
	out, err := c.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), c.ProcessState.ExitCode()
}

// fetched checks a page that curl has fetched.
func fetched(t *testing.T, want string, args ...string) {
	t.Helper()
	if got, code := curl(t, args...); code != 0 || strings.TrimSpace(got) != want {
		t.Errorf("curl %v: exit status %d\n%s\nwant\n%s", args, code, got, want)
	}
}

// exchanged sends a datagram, and reads its echo. Datagrams may be lost: the first may go before
// the handshake.
func exchanged(t *testing.T, c net.Conn, request, want []byte) {
	t.Helper()
	b := make([]byte, 2000)
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if _, err := c.Write(request); err != nil {
			t.Fatal(err)
		}
		_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
		n, err := c.Read(b)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			continue
		}
		if err != nil || !bytes.Equal(b[:n], want) {
			t.Errorf("%q, %v, want %q", b[:n], err, want)
		}
		return
	}
	t.Error("no answer to a datagram")
}

// TestTunnel has programs use a tunnel in all ways at once.
func TestTunnel(t *testing.T) {
	f := newFar(t)
	f.serve(t)
	here := httptest.NewServer(pages("here"))
	defer here.Close()
	datagrams, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	echo(t, datagrams, bytes.ToUpper)
	conf := f.conf(t, f.key.PublicKey(), f.port)
	p := start(t, conf, "--auth", write(t, "auth", "me:secret\n"),
		"--socks5", "0", "--http", "0", "--forward", "0=far.test:80",
		"--forward", "0=10.9.0.1:7/udp", "--remote", "80="+here.Listener.Addr().String(),
		"--remote", "10.9.0.2:7="+datagrams.LocalAddr().String()+"/udp")
	p.await(t, &p.stderr, `^gonet-wg: .*wg0.conf:5: PostUp is ignored`)
	socksAt, httpAt := p.at(t, `socks5 +(\S+)`), p.at(t, `http +(\S+)`)
	const login = "me:secret"

	t.Run("SOCKS5", func(t *testing.T) {
		fetched(t, "far /a for far.test from 10.9.0.2", "-U", login, "--socks5-hostname", socksAt,
			"http://far.test/a")
		fetched(t, "far /d for far from 10.9.0.2", "-U", login, "--socks5-hostname", socksAt,
			"http://far/d") // by the search domain
		fetched(t, "far /b for 10.9.0.1 from 10.9.0.2", "-U", login, "--socks5", socksAt,
			"http://10.9.0.1/b")
		fetched(t, "far /c for [fd09::1] from fd09::2", "-g", "-U", login, "--socks5-hostname",
			socksAt, "http://[fd09::1]/c")
		for _, args := range [][]string{{"-U", "me:wrong", "http://far.test/"},
			{"http://far.test/"}, {"-U", login, "http://none.test/"},
			{"-U", login, "http://10.9.0.1:81/"}} {
			const errProxy = 97
			got, code := curl(t, append(args, "--socks5-hostname", socksAt)...)
			if code != errProxy {
				t.Errorf("curl %v: exit status %d, %s", args, code, got)
			}
		}
	})
	t.Run("UDP of SOCKS5", func(t *testing.T) { associated(t, socksAt) })
	t.Run("HTTP proxy", func(t *testing.T) {
		by := []string{"-x", "http://" + httpAt, "-U", login}
		fetched(t, "far /d for far.test from 10.9.0.2", append(by, "http://far.test/d")...)
		fetched(t, "far /e for far.test from 10.9.0.2", append(by, "-p", "http://far.test/e")...)
		got, code := curl(t, append(by, "-w", "%{http_code}", "http://none.test/")...)
		if code != 0 || !strings.HasSuffix(got, "502") ||
			!strings.Contains(got, "none.test cannot be reached through the tunnel") {
			t.Errorf("exit status %d, %s", code, got)
		}
		if got, _ := curl(t, "-x", "http://"+httpAt, "-w", "%{http_code}",
			"http://far.test/"); !strings.HasSuffix(got, "407") {
			t.Errorf("without a password: %s", got)
		}
	})
	t.Run("forward", func(t *testing.T) {
		at := p.at(t, `forward +(\S+) to far.test:80`)
		fetched(t, "far /f for "+at+" from 10.9.0.2", "http://"+at+"/f")
		c, err := net.Dial("udp", p.at(t, `forward +(\S+) to 10.9.0.1:7/udp`))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		exchanged(t, c, []byte("hello"), []byte("HELLO"))
	})
	t.Run("remote", func(t *testing.T) {
		client := http.Client{Transport: &http.Transport{DialContext: f.DialContext},
			Timeout: patience}
		defer client.CloseIdleConnections()
		response, err := client.Get("http://10.9.0.2/g")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		got, err := io.ReadAll(response.Body)
		if want := "here /g for 10.9.0.2 from 127.0.0.1\n"; err != nil || string(got) != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
		c, err := f.Dial("udp", "10.9.0.2:7")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		exchanged(t, c, []byte("hello"), []byte("HELLO"))
	})
	t.Run("status", func(t *testing.T) {
		line := `^gonet-wg: peer \Q` + encoded(f.key.PublicKey().Bytes()) + `\E: endpoint ` +
			`127.0.0.1:` + f.port + `, handshake \d+\w* ago, received \d{3,} bytes, ` +
			`sent \d{3,} bytes$`
		for n := 1; n <= 2; n++ {
			p.signal(t, syscall.SIGUSR1)
			p.await(t, &p.stderr, `(?s:`+strings.Repeat(line[1:]+`.*`, n)+`)`)
		}
	})
	p.signal(t, os.Interrupt)
	if code := p.wait(t); code != 0 {
		t.Errorf("exit status %d after Ctrl-C", code)
	}
	if c, err := net.Dial("tcp", socksAt); err == nil {
		_ = c.Close()
		t.Error("the SOCKS5 server still listens")
	}
	for _, secret := range []string{encoded(f.peer.Bytes()), hex.EncodeToString(f.peer.Bytes()),
		"secret"} {
		if all := p.stdout.String() + p.stderr.String(); strings.Contains(all, secret) {
			t.Errorf("%s is shown:\n%s", secret, all)
		}
	}
	t.Run("a second run", func(t *testing.T) {
		again := start(t, conf, "--forward", "0=10.9.0.1:80")
		at := again.at(t, `forward +(\S+) to 10.9.0.1:80`)
		fetched(t, "far /h for "+at+" from 10.9.0.2", "http://"+at+"/h")
		again.signal(t, syscall.SIGTERM)
		if code := again.wait(t); code != 0 {
			t.Errorf("exit status %d after SIGTERM", code)
		}
	})
}

// associated sends a datagram through the tunnel by UDP ASSOCIATE.
func associated(t *testing.T, at string) {
	t.Helper()
	control, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	_ = control.SetDeadline(time.Now().Add(patience))
	b, err := socks.AppendPassword(socks.AppendGreeting(nil, socks.MethodPassword), "me", "secret")
	if err != nil {
		t.Fatal(err)
	}
	request := socks.Request{Command: socks.Associate}
	if b, err = request.Append(b); err != nil {
		t.Fatal(err)
	}
	if _, err := control.Write(b); err != nil {
		t.Fatal(err)
	}
	if _, err := socks.ReadMethod(control); err != nil {
		t.Fatal(err)
	}
	if ok, err := socks.ReadPasswordReply(control); err != nil || !ok {
		t.Fatalf("%v, %v", ok, err)
	}
	reply, err := socks.ReadReply(control)
	if err != nil || reply.Code != socks.Succeeded {
		t.Fatalf("%+v, %v", reply, err)
	}
	c, err := net.Dial("udp", reply.Address.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, to := range []socks.Address{{Name: "far.test", Port: 7},
		{IP: netip.MustParseAddr("fd09::1"), Port: 7}} {
		ip := to.IP
		if to.Name != "" {
			ip = netip.MustParseAddr("10.9.0.1")
		}
		head, err := socks.AppendDatagram(nil, to)
		if err != nil {
			t.Fatal(err)
		}
		back, err := socks.AppendDatagram(nil, socks.Address{IP: ip, Port: 7})
		if err != nil {
			t.Fatal(err)
		}
		exchanged(t, c, append(head, "hello"...), append(back, "HELLO"...))
	}
}

// TestSilentPeers has a peer with another key, and one that is not there. The user is told, and
// Ctrl-C ends the command at once while a client waits.
func TestSilentPeers(t *testing.T) {
	for _, c := range []struct {
		name string
		conf func(t *testing.T, f *far) string
	}{
		{"another key", func(t *testing.T, f *far) string {
			return f.conf(t, newKey(t).PublicKey(), f.port)
		}},
		{"nobody", func(t *testing.T, f *far) string {
			closed, err := net.ListenPacket("udp4", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer closed.Close()
			_, port, _ := net.SplitHostPort(closed.LocalAddr().String())
			return f.conf(t, f.key.PublicKey(), port)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFar(t)
			p := start(t, c.conf(t, f), "--socks5", "0")
			client, err := net.Dial("tcp", p.at(t, `socks5 +(\S+)`))
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			_ = client.SetDeadline(time.Now().Add(patience))
			b, err := socks.Request{Command: socks.Connect, Address: socks.Address{
				IP: netip.MustParseAddr("10.9.0.1"), Port: 80}}.Append(
				socks.AppendGreeting(nil, socks.MethodNone))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := client.Write(b); err != nil {
				t.Fatal(err)
			}
			p.await(t, &p.stderr,
				`^gonet-wg: peer \S{43}= has not answered from 127.0.0.1:\d+ for 5s`)
			p.signal(t, syscall.SIGUSR1)
			p.await(t, &p.stderr, `, no handshake, received 0 bytes, sent \d+ bytes$`)
			p.signal(t, os.Interrupt)
			if code := p.wait(t); code != 0 {
				t.Errorf("exit status %d", code)
			}
			if reply, err := io.ReadAll(client); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the client has %q, and waits", reply)
			}
		})
	}
}

// TestPortInUse has a service whose port is in use.
func TestPortInUse(t *testing.T) {
	f := newFar(t)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := start(t, f.conf(t, f.key.PublicKey(), f.port), "--http", "0", "--socks5",
		l.Addr().String())
	if code := p.wait(t); code != exitFailed {
		t.Errorf("exit status %d", code)
	}
	p.await(t, &p.stderr, `^gonet-wg: listen tcp4? `+l.Addr().String()+`.*address already in use`)
	if p.stdout.String() != "" {
		t.Errorf("printed %s", &p.stdout)
	}
}
