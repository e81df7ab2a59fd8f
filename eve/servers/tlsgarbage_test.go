package servers_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Much data in both directions at once, in parts of all sizes, while the other side reads slowly.
func TestTLSMuch(t *testing.T) {
	t.Parallel()
	h := openTLS(t, "", slowHandshake)
	const size = 3 << 20
	c := h.mustMeet(h.plain, h.trusting())
	random := rand.NewChaCha8([32]byte{1})
	data := make([]byte, size)
	random.Read(data)
	sizes := rand.New(random)
	go func() {
		for rest := data; len(rest) > 0; {
			n := min(len(rest), 1+sizes.IntN(100_000))
			if _, err := c.Write(rest[:n]); err != nil {
				return
			}
			rest = rest[n:]
		}
		c.CloseWrite()
	}()
	got, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d of %d bytes came back, %v", len(got), size, err)
	}
	h.mustHear("server closed")
	h.leave()
}

// recording keeps what a client writes first, and then fails.
type recording struct {
	net.Conn
	first []byte
}

var errRecorded = errors.New("recorded")

func (r *recording) Write(p []byte) (int, error) {
	r.first = bytes.Clone(p)
	return 0, errRecorded
}

// Handshakes with bytes that are wrong: neither side fails, and neither takes one for good. What a
// server gets is a greeting with errors, or noise; a client is behind a proxy that changes a byte.
func TestTLSGarbage(t *testing.T) {
	t.Parallel()
	h := openTLS(t, "", slowHandshake)
	var r recording
	tls.Client(&r, h.trusting()).Handshake()
	if len(r.first) < 100 {
		t.Fatalf("the greeting has %d bytes", len(r.first))
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 150 {
		bad := bytes.Clone(r.first)
		switch i % 3 {
		case 0:
			for range 1 + random.IntN(8) {
				bad[random.IntN(len(bad))] = byte(random.Uint32())
			}
		case 1:
			bad = bad[:random.IntN(len(bad))]
		case 2:
			for j := 5 * random.IntN(2); j < len(bad); j++ { // with or without the record's head
				bad[j] = byte(random.Uint32())
			}
		}
		c := h.dial(h.plain)
		c.Write(bad)
		c.CloseWrite()
		io.Copy(io.Discard, c)
		c.Close()
	}
	for closed := 0; closed < 150; {
		if got := h.hear(); got == "server closed" {
			closed++
		} else if !strings.HasPrefix(got, "server error 10") {
			t.Errorf("the server says %q", got)
		}
	}

	var changed atomic.Int64
	var cut atomic.Bool // the proxy has ended a connection
	proxy := falseServer(t, func(c net.Conn) {
		s, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", h.plain))
		if err != nil {
			return
		}
		defer s.Close()
		go io.Copy(s, c)
		buffer := make([]byte, 1<<16)
		for at := int(changed.Load()); ; {
			// A changed length makes the client wait for more than there is.
			s.SetReadDeadline(time.Now().Add(time.Second))
			n, err := s.Read(buffer)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				cut.Store(true)
			}
			if at >= 0 && at < n {
				buffer[at] ^= 1 << (at % 8)
			}
			at -= n
			if _, failed := c.Write(buffer[:n]); err != nil || failed != nil {
				return
			}
		}
	})
	for i := range 80 {
		changed.Store(int64(11 * i))
		got := h.order("dial", h.ca.file("ca.pem"), "localhost", proxy, "hello")
		for strings.HasPrefix(got, "server ") {
			got = h.hear()
		}
		late := cut.Swap(false) && strings.HasPrefix(got, "got 6 error 10") // the busy machine was
		if !strings.HasPrefix(got, "error 10") && got != "got 6 closed" && !late &&
			!strings.HasPrefix(got, "got 0 error 10") {
			t.Errorf("byte %d changed: %s", 11*i, got)
		}
	}
	c := h.mustMeet(h.plain, h.trusting())
	h.say(c, "still there\n", "still there\n")
	c.Close()
	h.mustRun()
}
