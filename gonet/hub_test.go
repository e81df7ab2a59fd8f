package gonet

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
)

// TestAPeerCrashesAndRestarts has three hosts on a hub. One crashes without a word, and a new host
// takes its address. A connection to the old host waits, and is reset by the new one; a new
// connection works. The third host notices nothing.
func TestAPeerCrashesAndRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := link.NewHub()
		client := host(t, hub.Port(), "10.0.0.1/24")
		other := host(t, hub.Port(), "10.0.0.3/24")
		port := hub.Port()
		old := host(t, port, "10.0.0.2/24")
		steady, _ := connected(t, client, other, "10.0.0.3")
		c, _ := connected(t, client, old, "10.0.0.2")
		if err := port.Close(); err != nil { // the power fails
			t.Fatal(err)
		}
		<-old.Done()
		if _, err := c.Write([]byte("to nobody")); err != nil {
			t.Error(err)
		}
		time.Sleep(10 * time.Second)
		if c.(*Conn).Info().Resent == 0 {
			t.Error("nothing was retransmitted to the host that has gone")
		}
		fresh := host(t, hub.Port(), "10.0.0.2/24")
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the connection to the old host: %v, want a reset", err)
		}
		for _, d := range []net.Conn{steady, first(connected(t, client, fresh, "10.0.0.2"))} {
			if _, err := d.Write([]byte("x")); err != nil {
				t.Error(err)
			}
			if err := d.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
				t.Error(err)
			}
			if _, err := d.Read(make([]byte, 1)); errors.Is(err, io.EOF) ||
				errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("a connection of a live host: %v", err)
			}
		}
	})
}

func first(c, _ net.Conn) net.Conn { return c }
