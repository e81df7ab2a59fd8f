package gonet_test

import (
	"errors"
	"net/netip"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet"
	"interleave/gonet/link"
)

// waitAnHour tests that a server waits an hour for its client, and no longer. The hour is one of
// fake time: the test takes milliseconds, on a busy machine too.
func waitAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := link.Pair()
		slow := link.Fault{Delay: 100 * time.Millisecond}
		host := func(l link.Link, address string) *gonet.Stack {
			s, err := gonet.New(gonet.Config{Link: link.NewFaults(l, 1, link.Fault{}, slow),
				Addresses: []netip.Prefix{netip.MustParsePrefix(address)}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() }) // before the bubble ends
			return s
		}
		client, server := host(near, "10.0.0.1/24"), host(far, "10.0.0.2/24")
		l, err := server.Listen("tcp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		if _, err = client.Dial("tcp", "10.0.0.2:80"); err != nil {
			t.Fatal(err)
		}
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if err = c.SetReadDeadline(begun.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		_, err = c.Read(make([]byte, 1))
		if waited := time.Since(begun); !errors.Is(err, os.ErrDeadlineExceeded) ||
			waited != time.Hour {
			t.Errorf("got %v after %v, want a time-out after 1h0m0s", err, waited)
		}
	})
}

// All time of GoNet is package time's, so its connections live in testing/synctest.
func Example_fakeTime() {
	var t *testing.T // of a test, which calls waitAnHour
	waitAnHour(t)
}
