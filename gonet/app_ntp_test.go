package gonet

import (
	"encoding/binary"
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/beevik/ntp"

	"interleave/gonet/link"
)

// ntpEpoch is the number of seconds from 1900 to the Unix epoch (RFC 5905 section 6).
const ntpEpoch = 2_208_988_800

// ntpTime writes an NTP timestamp: seconds since 1900, and the fraction of a second.
func ntpTime(b []byte, at time.Time) {
	binary.BigEndian.PutUint32(b, uint32(at.Unix()+ntpEpoch))
	binary.BigEndian.PutUint32(b[4:], uint32(uint64(at.Nanosecond())<<32/1e9))
}

// serveTime is an NTP version 4 server (RFC 5905) with a fast clock. It ends when its socket is
// closed.
func serveTime(p *PacketConn, ahead time.Duration) {
	b := make([]byte, 100)
	for {
		n, from, err := p.ReadFromAddrPort(b)
		if err != nil {
			return
		}
		if n < 48 || b[0]&7 != 3 { // not from a client
			continue
		}
		var a [48]byte
		// no leap second, version 4, mode server; stratum 1; a precision of 1 us
		a[0], a[1], a[2], a[3] = 4<<3|4, 1, b[2], 0xec
		copy(a[12:], "TEST")
		now := time.Now().Add(ahead)
		ntpTime(a[16:], now)
		copy(a[24:32], b[40:48]) // the client's transmit time, as it was
		ntpTime(a[32:], now)
		ntpTime(a[40:], now)
		_, _ = p.WriteToAddrPort(a[:], from) // the client checks
	}
}

// TestAppNTP queries the server: in fake time the wire's delay and the clock's offset are measured
// exactly.
func TestAppNTP(t *testing.T) {
	t.Parallel()
	const delay, ahead, precision = 20 * time.Millisecond, 90 * time.Second, time.Microsecond
	for _, at := range []string{"10.0.0.2", "2001:db8::2"} {
		bubble6(t, link.Fault{Delay: delay}, func(t *testing.T, x, y *Stack) {
			p, err := y.ListenPacket("udp", ":123")
			if err != nil {
				t.Fatal(err)
			}
			go serveTime(p, ahead)
			options := ntp.QueryOptions{GetSystemTime: time.Now,
				Dialer: func(_, remote string) (net.Conn, error) { return x.Dial("udp", remote) }}
			// the first query resolves the neighbour too
			if _, err := ntp.QueryWithOptions(at, options); err != nil {
				t.Fatal(err)
			}
			r, err := ntp.QueryWithOptions(at, options)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Validate(); err != nil {
				t.Error(err)
			}
			near := func(got, want time.Duration) bool { return (got - want).Abs() <= precision }
			if !near(r.RTT, 2*delay) || !near(r.ClockOffset, ahead) || r.Stratum != 1 {
				t.Errorf("%v away and %v ahead, stratum %d", r.RTT, r.ClockOffset, r.Stratum)
			}
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := ntp.QueryWithOptions(at, options); err == nil {
				t.Error("nobody is there, and says the time")
			}
			synctest.Wait()
		})
		bubble6(t, link.Fault{Loss: 1}, func(t *testing.T, x, _ *Stack) {
			begun := time.Now()
			_, err := ntp.QueryWithOptions(at, ntp.QueryOptions{Timeout: 3 * time.Second,
				Dialer: func(_, remote string) (net.Conn, error) { return x.Dial("udp", remote) }})
			if took := time.Since(begun); !errors.Is(err, os.ErrDeadlineExceeded) ||
				took != 3*time.Second {
				t.Errorf("on a wire that is cut: %v after %v", err, took)
			}
		})
	}
}
