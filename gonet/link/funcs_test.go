package link

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// ethernet is what a link with Ethernet and no offloads has.
var ethernet = Features{MTU: 1500}

// joined returns two links over functions, joined by channels.
func joined(features Features) (Link, Link) {
	there, back := make(chan Frame), make(chan Frame)
	end := func(in, out chan Frame) *Funcs {
		closed := make(chan struct{})
		return NewFuncs(features, func(b []byte) (int, GSO, error) {
			select {
			case x := <-in:
				return copy(b, x.Data), x.GSO, nil
			case <-closed:
				return 0, GSO{}, io.ErrClosedPipe
			}
		}, func(gso GSO, frame []byte) error {
			select {
			case out <- Frame{Data: bytes.Clone(frame), GSO: gso}:
				return nil
			case <-closed:
				return io.ErrClosedPipe
			}
		}, func() error { close(closed); return nil })
	}
	return end(back, there), end(there, back)
}

func TestFuncsAreALink(t *testing.T) {
	contract(t, func() (Link, Link) { return joined(ethernet) })
}

func TestStreamIsALink(t *testing.T) {
	contract(t, func() (Link, Link) {
		a, b := net.Pipe()
		return NewStream(a, ethernet), NewStream(b, ethernet)
	})
}

// TestFuncsKeepOffloads holds that what a frame leaves to its receiver passes the functions.
func TestFuncsKeepOffloads(t *testing.T) {
	a, b := joined(Features{MTU: 1500, Partial: true, TCPv4: true, MaxSuper: 65535})
	defer closeBoth(t, a, b)
	sent := GSO{Kind: TCPv4, Size: 1448, Header: 66, Partial: true, Start: 34, Offset: 16}
	if err := a.Write(sent, make([]byte, 100), make([]byte, 59_900)); err != nil {
		t.Fatal(err)
	}
	batch := make([]Frame, 1)
	if n, err := b.Read(batch); n != 1 || err != nil || batch[0].GSO != sent ||
		len(batch[0].Data) != 60_000 {
		t.Errorf("%d, %v: %+v of %d bytes", n, err, batch[0].GSO, len(batch[0].Data))
	}
	conn, _ := net.Pipe()
	s := NewStream(conn, Features{MTU: 1500, L3: true, Partial: true, TCPv6: true,
		MaxSuper: 60_000})
	if f := s.Features(); f != (Features{MTU: 1500, L3: true}) {
		t.Errorf("a stream has %+v", f)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestAReaderThatIsSlow holds that a link over functions reads no more than what its buffers take,
// and goes on when its reader does.
func TestAReaderThatIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read := 0
		block := make(chan struct{})
		l := NewFuncs(ethernet, func(b []byte) (int, GSO, error) {
			if read == 3*funcsBuffers {
				<-block
				return 0, GSO{}, io.EOF
			}
			read++
			return copy(b, []byte{byte(read), 1, 2}), GSO{}, nil
		}, func(GSO, []byte) error { return nil }, func() error { close(block); return nil })
		synctest.Wait()
		if read != funcsBuffers {
			t.Errorf("%d frames were read ahead, want %d", read, funcsBuffers)
		}
		batch := make([]Frame, 20)
		for got := 0; got < 3*funcsBuffers; {
			n, err := l.Read(batch)
			if err != nil || n == 0 {
				t.Fatalf("%d frames, %v", n, err)
			}
			for _, f := range batch[:n] {
				if got++; f.Data[0] != byte(got) || len(f.Data) != 3 {
					t.Fatalf("frame %d is % x", got, f.Data)
				}
			}
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if _, err := l.Read(batch); !errors.Is(err, ErrClosed) {
			t.Errorf("after close: %v", err)
		}
	})
}

// TestAWriterThatBlocks holds that a link whose function blocks does not block its stack: frames
// are dropped and counted, and Close waits for a second.
func TestAWriterThatBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := net.Pipe() // nobody reads b
		l := NewStream(a, ethernet)
		const frames = queueLen + 500
		for range frames {
			if err := l.Write(GSO{}, make([]byte, 100)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if n := l.Dropped(); n == 0 || n > frames-queueLen {
			t.Errorf("%d frames were dropped", n)
		}
		start := time.Now()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != closeWait {
			t.Errorf("Close took %v", took)
		}
		if err := l.Close(); err != nil {
			t.Errorf("a second Close: %v", err)
		}
		_ = b.Close() // its other end has gone
	})
}

// TestCloseWritesTheRest holds that frames written just before Close arrive.
func TestCloseWritesTheRest(t *testing.T) {
	a, b := net.Pipe()
	l, far := NewStream(a, ethernet), NewStream(b, ethernet)
	for i := range 50 {
		if err := l.Write(GSO{}, []byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	batch := make([]Frame, 8)
	for got := 0; ; {
		n, err := far.Read(batch)
		if err != nil {
			if !errors.Is(err, io.EOF) || got != 50 {
				t.Errorf("%d frames of 50, then %v", got, err)
			}
			break
		}
		got += n
	}
	if err := far.Write(GSO{}, []byte("x")); !errors.Is(err, io.EOF) {
		t.Errorf("a write after the end: %v", err)
	}
	if err := far.Close(); err != nil {
		t.Error(err)
	}
}

// TestFunctionsThatFail holds that an error of either function ends the link, and is what Read and
// Write return.
func TestFunctionsThatFail(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		n         int
		read, out error
	}{"reading": {0, broken, nil}, "writing": {-1, nil, broken}} {
		t.Run(name, func(t *testing.T) {
			block := make(chan struct{})
			l := NewFuncs(ethernet, func([]byte) (int, GSO, error) {
				if c.read == nil {
					<-block
				}
				return c.n, GSO{}, c.read
			}, func(GSO, []byte) error { return c.out }, func() error { close(block); return nil })
			if c.out != nil {
				if err := l.Write(GSO{}, []byte("x")); err != nil {
					t.Fatal(err)
				}
			}
			if n, err := l.Read(make([]Frame, 1)); n != 0 || !errors.Is(err, broken) {
				t.Errorf("read %d, %v", n, err)
			}
			if err := l.Write(GSO{}, []byte("x")); !errors.Is(err, broken) {
				t.Errorf("write: %v", err)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	l := NewFuncs(ethernet, func(b []byte) (int, GSO, error) { return len(b) + 1, GSO{}, nil },
		func(GSO, []byte) error { return nil }, func() error { return broken })
	if _, err := l.Read(make([]Frame, 1)); err == nil {
		t.Error("a frame that is longer than its buffer was taken")
	}
	if err := l.Close(); !errors.Is(err, broken) {
		t.Errorf("close: %v", err)
	}
}

// bytesConn is the far end of a stream that has sent some bytes and then closed.
type bytesConn struct{ io.Reader }

func (bytesConn) Write(b []byte) (int, error) { return len(b), nil }
func (bytesConn) Close() error                { return nil }

// framed returns frames as they are sent on a stream.
func framed(frames ...string) (b []byte) {
	for _, f := range frames {
		b = binary.BigEndian.AppendUint32(b, uint32(len(f)))
		b = append(b, f...)
	}
	return b
}

// readStream reads a stream to its end.
func readStream(t *testing.T, b []byte, features Features) (frames []string, dropped uint64,
	end error) {
	t.Helper()
	l := NewStream(bytesConn{bytes.NewReader(b)}, features)
	batch := make([]Frame, 3)
	for {
		n, err := l.Read(batch)
		if err != nil {
			dropped = l.Dropped()
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			return frames, dropped, err
		}
		for _, f := range batch[:n] {
			frames = append(frames, string(f.Data))
		}
	}
}

func TestStreamLengths(t *testing.T) {
	small := Features{MTU: 100, L3: true}
	long := strings.Repeat("x", 101)
	for name, c := range map[string]struct {
		b       []byte
		want    string
		err     string
		dropped uint64
	}{
		"two frames":         {framed("one", "two"), "one two", "closed it: EOF", 0},
		"nothing":            {nil, "", "closed it: EOF", 0},
		"a frame of nothing": {framed("one", "", "two"), "one two", "closed it: EOF", 0},
		"the longest":        {framed(long[1:], "y"), long[1:] + " y", "closed it: EOF", 0},
		"too long a frame":   {framed(long, "y"), "y", "closed it: EOF", 1},
		"the longest of all": {framed(strings.Repeat("z", maxStreamFrame), "y"), "y",
			"closed it: EOF", 1},
		"a length that is none": {append(framed("one"), 0, 1, 0x10, 1, 'x'), "one",
			"a frame of 69633 bytes is announced", 0},
		"the longest length": {append(framed("one"), 0xff, 0xff, 0xff, 0xff), "one",
			"a frame of 4294967295 bytes is announced", 0},
		"a cut length":         {append(framed("one"), 0, 0), "one", "unexpected EOF", 0},
		"a cut frame":          {framed("one")[:5], "", "within a frame: unexpected EOF", 0},
		"a cut frame, skipped": {framed(long)[:50], "", "within a frame: EOF", 0},
	} {
		frames, dropped, err := readStream(t, c.b, small)
		if got := strings.Join(frames, " "); got != c.want || dropped != c.dropped ||
			!strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v, %d dropped", name, got, err, dropped)
		}
	}
}

// FuzzStream holds that whatever a stream sends, the frames that are read are those that it has
// framed, up to the first that is none.
func FuzzStream(f *testing.F) {
	f.Add(framed("one", "", "two"))
	f.Add(append(framed("one"), 0xff, 0xff, 0xff, 0xff))
	f.Add(framed(strings.Repeat("x", 200), "y"))
	f.Add([]byte{0, 0, 0, 9, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		features := Features{MTU: 100}
		var want []string
		for rest := b; len(rest) >= 4; {
			n := uint64(binary.BigEndian.Uint32(rest))
			if n > maxStreamFrame || n > uint64(len(rest)-4) {
				break
			}
			if n > 0 && n <= uint64(features.longest()) {
				want = append(want, string(rest[4:4+n]))
			}
			rest = rest[4+n:]
		}
		got, _, err := readStream(t, b, features)
		if err == nil || strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	})
}
