package slirp

// SegmentConn is what a connection of Host.DialFlow may have beside net.Conn: it sends and receives
// many datagrams by one call. A Slirp then uses it, for what is most of its work with bulk over
// UDP, such as QUIC.
type SegmentConn interface {
	// WriteSegments sends datagrams. All have the size of the first one, but the last, which may be
	// shorter and has at least one byte, if there is more than one. Together they have at most
	// maxRun bytes.
	WriteSegments(datagrams [][]byte) error
	// ReadSegments waits for datagrams, and hands b to take: one after the other, each of size
	// bytes but the last, which may be shorter. A size of 0 stands for one datagram, of any length.
	// b is valid until take returns, and no memory is held while ReadSegments waits. It returns the
	// error of take, too.
	ReadSegments(take func(b []byte, size int) error) error
}

// PromptConn is what a connection of Host.DialFlow may have beside net.Conn: it sends datagrams
// without waiting. A Slirp then sends in the stack's goroutine, and wakes none.
type PromptConn interface {
	// SendSegments sends datagrams as WriteSegments of a SegmentConn does, but it does not block:
	// those for which there is no room are lost.
	SendSegments(datagrams [][]byte) error
}

// A call sends at most so many datagrams, with so many bytes: what Linux took when it began to take
// several (UDP_MAX_SEGMENTS, linux/udp.h), and the payload of the longest datagram of IPv4.
const (
	maxBatch = 64
	maxRun   = 65535 - 20 - 8
)

// runOf returns how many datagrams, from the first one on, one call can send.
func runOf(datagrams [][]byte) int {
	size, sum := len(datagrams[0]), 0
	for i, d := range datagrams {
		sum += len(d)
		switch {
		case i > 0 && (len(d) > size || len(d) == 0 || sum > maxRun):
			return i
		case len(d) < size:
			return i + 1
		}
	}
	return len(datagrams)
}
