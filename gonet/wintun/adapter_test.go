package wintun

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"interleave/gonet"
	"interleave/gonet/link"
)

// memory is a session in memory: what is sent is received by its peer. It fails a test that uses it
// after its end.
type memory struct {
	t    *testing.T
	peer *memory
	more chan struct{} // capacity 1: the event that is set with a packet
	quit chan struct{}

	mu      sync.Mutex
	packets [][]byte
	room    int // the packets that the ring takes
	failure error
	ended   bool
}

// wire returns two sessions that are joined.
func wire(t *testing.T) (*memory, *memory) {
	end := func() *memory {
		return &memory{t: t, more: make(chan struct{}, 1), quit: make(chan struct{}), room: 1000}
	}
	a, b := end(), end()
	a.peer, b.peer = b, a
	return a, b
}

// use returns the failure that the test has asked for.
func (m *memory) use() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended {
		m.t.Error("a session is used after its end")
	}
	return m.failure
}

func (m *memory) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failure = err
	m.set()
}

// set sets the event.
func (m *memory) set() {
	select {
	case m.more <- struct{}{}:
	default: // it is set
	}
}

func (m *memory) receive(b []byte) (int, error) {
	if err := m.use(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.packets) == 0 {
		return 0, errEmpty
	}
	packet := m.packets[0]
	m.packets = m.packets[1:]
	if len(packet) <= len(b) {
		copy(b, packet)
	}
	return len(packet), nil
}

func (m *memory) wait() error {
	select {
	case <-m.more:
	case <-m.quit:
	}
	return m.use()
}

func (m *memory) wake() error { close(m.quit); return nil }

func (m *memory) send(packet []byte) error {
	if err := m.use(); err != nil {
		return err
	}
	m.peer.mu.Lock()
	defer m.peer.mu.Unlock()
	if len(m.peer.packets) == m.peer.room {
		return errFull
	}
	m.peer.packets = append(m.peer.packets, bytes.Clone(packet))
	m.peer.set()
	return nil
}

func (m *memory) end() error {
	err := m.use()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
	return err
}

// TestStacksOverAdapters has two stacks talk, and closes them while packets pass.
func TestStacksOverAdapters(t *testing.T) {
	a, b := wire(t)
	host := func(m *memory, address string) *gonet.Stack {
		s, err := gonet.New(gonet.Config{Link: newAdapter("test", 1400, m),
			Addresses: []netip.Prefix{netip.MustParsePrefix(address)}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	x, y := host(a, "10.0.0.1/24"), host(b, "10.0.0.2/24")
	l, err := y.Listen("tcp", ":80")
	if err != nil {
		t.Fatal(err)
	}
	near, err := x.Dial("tcp", "10.0.0.2:80")
	if err != nil {
		t.Fatal(err)
	}
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	sent := bytes.Repeat([]byte("wintun "), 100_000)
	go func() { _, _ = near.Write(sent) }() // the reader sees what was not written
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(far, got); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("the bytes differ, %v", err)
	}
	go func() { _, _ = io.Copy(io.Discard, far) }()
	go func() {
		for { // until the stack ends
			if _, err := near.Write(sent); err != nil {
				return
			}
		}
	}()
	if err := errors.Join(x.Abort(), y.Abort()); err != nil {
		t.Error(err)
	}
	<-x.Done()
	<-y.Done()
	if !a.ended || !b.ended {
		t.Error("a session was not ended")
	}
}

// TestWhatIsDropped holds that packets that are too long, and those that find the ring full, are
// counted.
func TestWhatIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := wire(t)
		l := newAdapter("test", 100, a)
		for _, n := range []int{101, 100, 65535, 1} {
			if err := b.send(make([]byte, n)); err != nil {
				t.Fatal(err)
			}
		}
		batch := make([]link.Frame, 1)
		for _, want := range []int{100, 1} {
			if n, err := l.Read(batch); n != 1 || err != nil || len(batch[0].Data) != want {
				t.Errorf("%d, %v: a packet of %d bytes, want %d", n, err, len(batch[0].Data), want)
			}
		}
		b.mu.Lock()
		b.room = 2
		b.mu.Unlock()
		for i := range 5 {
			if err := l.Write(link.GSO{}, []byte{byte(i)}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if n := l.Dropped(); n != 2+3 {
			t.Errorf("%d were dropped, want 5", n)
		}
		if f := l.Features(); f != (link.Features{MTU: 100, L3: true}) || l.Kind() != "tun" ||
			l.Name() != "test" {
			t.Errorf("%+v", f)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if _, err := l.Read(batch); !errors.Is(err, link.ErrClosed) {
			t.Errorf("after close: %v", err)
		}
	})
}

// TestAnAdapterThatVanishes holds that an error of the driver ends the link, and names the adapter.
func TestAnAdapterThatVanishes(t *testing.T) {
	broken := errors.New("broken")
	synctest.Test(t, func(t *testing.T) {
		a, _ := wire(t)
		l := newAdapter("test", 1400, a)
		synctest.Wait() // it waits for a packet
		a.fail(broken)
		_, err := l.Read(make([]link.Frame, 1))
		if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "wintun test: ") {
			t.Errorf("the read says %v", err)
		}
		if err := l.Write(link.GSO{}, []byte("x")); !errors.Is(err, broken) {
			t.Errorf("a write says %v", err)
		}
		a.fail(nil)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestCheck(t *testing.T) {
	for _, name := range []string{"G", "GoNet 7", strings.Repeat("é", 127)} {
		for _, mtu := range []int{68, 1420, 65535} {
			if err := check(name, mtu); err != nil {
				t.Error(err)
			}
		}
	}
	for _, name := range []string{"", strings.Repeat("x", 128), strings.Repeat("\U0001f375", 64),
		"a\x00b"} {
		if err := check(name, 1420); err == nil {
			t.Errorf("the name %q was taken", name)
		}
	}
	for _, mtu := range []int{-1, 0, 67, 65536} {
		if err := check("G", mtu); err == nil {
			t.Errorf("an MTU of %d was taken", mtu)
		}
	}
}

func TestExplain(t *testing.T) {
	noModule := errors.New("the specified module could not be found")
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("loading: %w", noModule), "beside the program"},
		{fmt.Errorf("CreateAdapter: %w", os.ErrPermission), "administrator"},
		{io.EOF, ""},
	} {
		err := explain(c.err, noModule)
		if !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.want) ||
			c.want == "" && err.Error() != c.err.Error() {
			t.Errorf("%v: %v", c.err, err)
		}
	}
}
