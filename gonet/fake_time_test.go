package gonet_test

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet"
	"interleave/gonet/link"
)

// pair returns a connection between two hosts on a wire with 100 ms of delay and 10 % loss.
func pair(t *testing.T) (client, server net.Conn) {
	near, far := link.Pair()
	bad := link.Fault{Loss: 0.1, Delay: 100 * time.Millisecond}
	stack := func(l link.Link, seed uint64, address string) *gonet.Stack {
		s, err := gonet.New(gonet.Config{Link: link.NewFaults(l, seed, link.Fault{}, bad),
			Addresses: []netip.Prefix{netip.MustParsePrefix(address)}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() }) // an error changes nothing
		return s
	}
	a, b := stack(near, 1, "10.0.0.1/24"), stack(far, 2, "10.0.0.2/24")
	l, err := b.Listen("tcp", ":80")
	if err != nil {
		t.Fatal(err)
	}
	if client, err = a.Dial("tcp", "10.0.0.2:80"); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return client, server
}

// TestAConnectionInFakeTime is the example of docs/gonet/library.md.
func TestAConnectionInFakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := pair(t)
		begun := time.Now()
		go func() {
			_, _ = server.Write(make([]byte, 1_000_000)) // the reader checks
			_ = server.Close()
		}()
		if n, err := io.Copy(io.Discard, client); n != 1_000_000 || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
		t.Logf("it took %v, and no time at all", time.Since(begun))
	})
}

func TestTheExampleInFakeTime(t *testing.T) { waitAnHour(t) }
