package netns

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"interleave/gonet"
	"interleave/gonet/link"
	"interleave/internal/manifest"
)

func newTap(t *testing.T) *Pair {
	t.Helper()
	need(t, manifest.Tap)
	p, err := New("test", manifest.Tap)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// attach puts a stack behind the tap of a pair.
func attach(t *testing.T, p *Pair) *gonet.Stack {
	t.Helper()
	var tap *link.Tap
	in(t, p.Path("server"), func() (err error) {
		tap, err = link.OpenTap(p.Device)
		return err
	})
	s, err := gonet.New(gonet.Config{Link: tap, Addresses: []netip.Prefix{p.Address()},
		NoIPv6: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() }) // a second time, if the test has closed it
	return s
}

// TestTap has a stack behind the tap answer to each address of the load, and attaches a second one
// after it: the tap stays.
func TestTap(t *testing.T) {
	p := newTap(t)
	for range 2 {
		s := attach(t, p)
		l, err := s.Listen("tcp4", ":7")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				io.WriteString(c, c.RemoteAddr().String()) // the client compares it
				c.Close()
			}
		}()
		for _, from := range p.Load {
			in(t, p.Path("load"), func() error {
				d := net.Dialer{LocalAddr: &net.TCPAddr{IP: from.AsSlice()},
					Timeout: 5 * time.Minute}
				c, err := d.Dial("tcp4", netip.AddrPortFrom(p.Server, 7).String())
				if err != nil {
					return err
				}
				defer c.Close()
				if got, err := io.ReadAll(c); string(got) != c.LocalAddr().String() {
					return fmt.Errorf("the server sees %q, want %v (%w)", got, c.LocalAddr(), err)
				}
				return nil
			})
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestTapIsAsUsual checks the promises to a server: the device is persistent, is up, has the peer's
// address and the kernel's default queue length, and takes one server at a time.
func TestTapIsAsUsual(t *testing.T) {
	p := newTap(t)
	show := func(args ...string) string {
		out, err := exec.Command("ip", append([]string{"-netns", filepath.Base(p.Path("load"))},
			args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("ip %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	if p.Path("server") != p.Path("load") || p.Peer() != p.Load[0] {
		t.Errorf("server in %s, load in %s, peer %v", p.Path("server"), p.Path("load"), p.Peer())
	}
	for _, want := range []string{"persist on", "UP", "mtu 1500"} {
		if got := show("-d", "link", "show", p.Device); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := show("addr", "show", "dev", p.Device); !strings.Contains(got, p.Peer().String()+
		"/24") {
		t.Errorf("got %s, want the peer %v", got, p.Peer())
	}
	show("tuntap", "add", "dev", "other", "mode", "tap")
	queue := func(device string) string {
		_, after, _ := strings.Cut(show("link", "show", device), "qlen ")
		return strings.Fields(after)[0]
	}
	if got, want := queue(p.Device), queue("other"); got != want {
		t.Errorf("a queue of %s frames, want the kernel's own %s", got, want)
	}
	attach(t, p)
	in(t, p.Path("server"), func() error {
		if tap, err := link.OpenTap(p.Device); err == nil {
			return fmt.Errorf("two are behind the tap: %w", tap.Close())
		}
		return nil
	})
}

func TestTapIsRemoved(t *testing.T) {
	p := newTap(t)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(p.Path("load")); err == nil {
		t.Errorf("%s is left", p.Path("load"))
	}
	if err := p.Close(); err != nil {
		t.Error("second Close:", err)
	}
}

func TestNoPair(t *testing.T) {
	p, err := New("test", manifest.Local)
	if err != nil || p != nil {
		t.Fatalf("got %v, %v, want nothing", p, err)
	}
	if p.Path("load") != "" {
		t.Error("the loopback device has a namespace")
	}
	in(t, p.Path("load"), func() error { return nil })
}

// TestDo checks that Do moves the thread back, with any result of f.
func TestDo(t *testing.T) {
	p := newTap(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	here := func() string {
		name, err := os.Readlink("/proc/thread-self/ns/net")
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	before, inside := here(), ""
	err := Do(p.Path("load"), func() error { inside = here(); return context.Canceled })
	if err != context.Canceled {
		t.Errorf("got %v, want what f says", err)
	}
	if inside == before || here() != before {
		t.Errorf("before %s, inside %s, after %s", before, inside, here())
	}
	if err := Do(filepath.Join(t.TempDir(), "none"), func() error { return nil }); err == nil {
		t.Error("a namespace that is not there was entered")
	}
}
