package gonet

import (
	"bytes"
	"errors"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
)

// TestUDPFlowHandle hands datagrams to the program in the stack's goroutine, in order: those that
// have waited, those that come alone or in fragments, and those of a super-frame.
func TestUDPFlowHandle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := link.Pair(link.Offload())
		x := host6(t, a, "1", func(c *Config) { c.Gateways = append(c.Gateways, addrV, addrY) })
		y := host6(t, b, "2", everywhere)
		var got [][]byte
		calls := 0
		begin, ended := make(chan struct{}), make(chan error, 1)
		forwardUDP(t, y, func(w *UDPFlow) {
			<-begin
			if err := w.Handle(func(datagrams [][]byte) {
				calls++
				for _, d := range datagrams {
					got = append(got, bytes.Clone(d))
				}
				if _, err := w.Write([]byte("reply")); err != nil {
					t.Error(err)
				}
			}); err != nil {
				t.Error(err)
			}
			_, err := w.Receive()
			ended <- err
		})
		c := dialUDP(t, x, "198.51.100.7:99").(*PacketConn)
		var want [][]byte
		send := func(b []byte, segment int) {
			t.Helper()
			if _, err := c.WriteInfo(b, c.remote, PacketInfo{Segment: segment}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if segment == 0 {
				segment = len(b)
			}
			want = slices.AppendSeq(want, slices.Chunk(b, segment))
		}
		send(numbered(10), 0)
		send(numbered(11), 0)
		close(begin)
		synctest.Wait()
		if calls != 1 {
			t.Errorf("%d calls for what has waited, want 1", calls)
		}
		send(numbered(1472), 0)
		send(numbered(20_000), 0)
		send(numbered(30*1000+17), 1000)
		if !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("%d datagrams, want %d in order", len(got), len(want))
		}
		if calls != 4 {
			t.Errorf("%d calls, want 4", calls)
		}
		b2 := make([]byte, 10)
		if n, err := c.Read(b2); err != nil || string(b2[:n]) != "reply" {
			t.Errorf("%q, %v", b2[:n], err)
		}
		time.Sleep(defaultFlowIdle + time.Second)
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("an idle flow: %v", err)
		}
	})
}
