package link

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// maxStreamFrame is the longest frame in bytes that a stream may announce: that of QEMU
// (NET_BUFSIZE, include/net/net.h). A longer one is no frame, and where the next begins is not
// known.
const maxStreamFrame = 4096 + 65536

// streamBuffer is the size in bytes of the buffers around a stream, so that small frames share a
// system call.
const streamBuffer = 64 << 10

// NewStream makes a link over a stream, such as a Unix or TCP socket, on which each frame follows
// its length in four bytes, the most significant first: the framing of QEMU's -netdev stream, and
// of what speaks with it. The frames are plain and their checksums complete, so offloads among the
// features are ignored. Frames that are longer than the MTU allows are dropped and counted. A
// length that cannot be one, or the end of the stream, ends the link.
func NewStream(conn io.ReadWriteCloser, features Features) *Funcs {
	s := &stream{in: bufio.NewReaderSize(conn, streamBuffer),
		out: bufio.NewWriterSize(conn, streamBuffer)}
	return newFuncs(features.plain(), features.plain().longest(), s.read, s.write, conn.Close)
}

// plain returns the features without offloads.
func (f Features) plain() Features { return Features{MTU: f.MTU, L3: f.L3} }

// stream has the buffers of a stream, each for one goroutine.
type stream struct {
	in       *bufio.Reader
	out      *bufio.Writer
	inLength [4]byte
}

// read is a ReadFunc.
func (s *stream) read(b []byte) (int, GSO, error) {
	if _, err := io.ReadFull(s.in, s.inLength[:]); err != nil {
		if errors.Is(err, io.EOF) {
			return 0, GSO{}, fmt.Errorf("stream: the other end has closed it: %w", err)
		}
		return 0, GSO{}, fmt.Errorf("stream: %w", err)
	}
	n := binary.BigEndian.Uint32(s.inLength[:])
	if n > maxStreamFrame {
		return 0, GSO{}, fmt.Errorf("stream: a frame of %d bytes is announced, at most %d may be",
			n, maxStreamFrame)
	}
	if int(n) > len(b) {
		if _, err := s.in.Discard(int(n)); err != nil {
			return 0, GSO{}, fmt.Errorf("stream: within a frame: %w", err)
		}
		return 0, GSO{}, errNoFrame
	}
	if _, err := io.ReadFull(s.in, b[:n]); err != nil {
		return 0, GSO{}, fmt.Errorf("stream: within a frame: %w", err)
	}
	return int(n), GSO{}, nil
}

// write writes a batch of frames. The buffer's error stays, and is returned by the next call.
func (s *stream) write(frames []Frame) error {
	for _, x := range frames {
		var length [4]byte
		binary.BigEndian.PutUint32(length[:], uint32(len(x.Data))) //nolint:gosec // at most 64 KiB
		_, _ = s.out.Write(length[:])                              // Flush returns the error
		_, _ = s.out.Write(x.Data)
	}
	if err := s.out.Flush(); err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	return nil
}
