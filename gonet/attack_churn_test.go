package gonet

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
)

// TestAttackChurn opens and closes ten thousand connections, with the server closing first: the
// server keeps a bounded number in TIME-WAIT, and none in the end. Under the race detector they are
// an eighth, which is more than the bound.
func TestAttackChurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := link.Pair()
		quiet := func(c *Config) { c.NoDAD, c.NoAutoconf, c.TimeWaits = true, true, 500 }
		x, y := host6(t, a, "1", quiet), host6(t, b, "2", quiet)
		servers(t, y)
		churn := func(n int) {
			for range n {
				c, err := x.Dial("tcp", "10.0.0.2:8")
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadAll(c); err != nil {
					t.Error(err)
				}
				closeConns(t, c)
			}
		}
		churn(fewer(1000, 8))
		growth := newGrowth(t)
		churn(fewer(9000, 8))
		// (that fake time keeps stopped timers hides what this saves)
		if err := y.claim(func() {
			if n := len(y.tcp.conns); n > 510 {
				t.Errorf("%d connections are kept", n)
			}
		}); err != nil {
			t.Fatal(err)
		}
		empty(t, 0, x, y)
		growth.within(2<<20, 2)
		if n := len(y.tcp.timeWaits.all); n != 0 {
			t.Errorf("%d wait", n)
		}
		churn(10)
	})
}

// TestAttackSlowloris opens up to 10,000 requests that never end and send a byte now and then,
// while others are served.
func TestAttackSlowloris(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := link.Pair()
		quiet := func(c *Config) { c.NoDAD, c.NoAutoconf = true, true }
		x, y := host6(t, a, "1", quiet), host6(t, b, "2", quiet)
		l, err := y.Listen("tcp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		server := http.Server{ReadHeaderTimeout: 5 * time.Minute,
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, "served")
			})}
		go func() { _ = server.Serve(l) }() // until Close
		defer func() { _ = server.Close() }()
		growth := newGrowth(t)
		loris := fewer(min(*soakConns, 10_000), 4) // 10,000 with -args -connections=10000
		var open []net.Conn
		for range loris {
			open = append(open, dialed(t, x, "10.0.0.2:80"))
		}
		client := http.Client{Timeout: 10 * time.Second,
			Transport: &http.Transport{DialContext: x.DialContext, DisableKeepAlives: true}}
		for _, text := range []string{"GET / HTTP/1.1\r\n", "Host: x\r\n", "X: y\r\n"} {
			for _, c := range open {
				if _, err := io.WriteString(c, text); err != nil {
					t.Fatal(err)
				}
			}
			start := time.Now()
			r, err := client.Get("http://10.0.0.2/")
			if err != nil {
				t.Fatal(err)
			}
			var body strings.Builder
			if _, err := io.Copy(&body, r.Body); err != nil || body.String() != "served" ||
				time.Since(start) > time.Second {
				t.Errorf("%q, %v, after %v", body.String(), err, time.Since(start))
			}
			_ = r.Body.Close()
			time.Sleep(10 * time.Second)
		}
		// Both ends of each connection, and net/http's goroutine with its buffer of 4 KiB.
		growth.within(int64(loris)*(24<<10), loris+50)
		time.Sleep(10 * time.Minute) // the server's time-out passes
		for _, c := range open {
			_ = c.Close() // the server has closed
		}
		empty(t, 0, x, y)
		growth.measure()
		if growth.lastRoutine > 10 {
			t.Errorf("%d goroutines are left", growth.lastRoutine)
		}
	})
}

// TestDeadlinesEndWithTheirConnection holds that a closed connection has no timer for its deadline.
func TestDeadlinesEndWithTheirConnection(t *testing.T) {
	a, b := link.Pair()
	x, y := twoHosts(t, a, b)
	near, far := connected(t, x, y, "10.0.0.2")
	socket, err := x.ListenPacket("udp", ":9")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []interface {
		SetDeadline(time.Time) error
		Close() error
	}{near, far, socket} {
		if err := c.SetDeadline(time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	n, f := near.(*Conn), far.(*Conn)
	for _, d := range []*deadline{&n.reader.deadline, &n.writer.deadline, &f.reader.deadline,
		&socket.read, &socket.write} {
		if d.timer != nil {
			t.Error("a timer runs")
		}
	}
}
