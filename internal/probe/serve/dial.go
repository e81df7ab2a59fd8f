package serve

import (
	"context"
	"errors"
	"net"
	"strconv"
	"syscall"
	"time"

	"interleave/internal/netns"
)

// Dial connects as a client of the server does: from the host that the load is on.
func (s *Server) Dial(ctx context.Context, port int, deadline time.Time) (*net.TCPConn, error) {
	return s.DialBuffered(ctx, port, deadline, 0)
}

// DialBuffered is Dial with a receive buffer of this size in bytes; 0: the kernel's. The size is
// set before the connection is made, for the window follows from it.
func (s *Server) DialBuffered(ctx context.Context, port int, deadline time.Time,
	buffer int64) (*net.TCPConn, error) {
	var conn net.Conn
	err := netns.Do(s.Net.Path("load"), func() (err error) {
		dialer := net.Dialer{Deadline: deadline}
		if buffer > 0 {
			dialer.Control = func(_, _ string, raw syscall.RawConn) error {
				var failed error
				err := raw.Control(func(fd uintptr) {
					failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF,
						int(buffer))
				})
				return errors.Join(err, failed)
			}
		}
		// A server without room for a client may reset a connection as soon as the kernel has made
		// it. Usually the first read fails then. On a busy machine connect itself may fail, and
		// the client tries again.
		for {
			conn, err = dialer.DialContext(ctx, "tcp4",
				net.JoinHostPort(s.Host, strconv.Itoa(port)))
			if !errors.Is(err, syscall.ECONNRESET) || time.Now().After(deadline) {
				return err
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}
