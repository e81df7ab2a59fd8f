package netns

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"interleave/internal/group"
	"interleave/internal/manifest"
)

func need(t *testing.T, hosts manifest.Hosts) {
	t.Helper()
	if err := Able(hosts); err != nil {
		t.Skip("SKIP:", err)
	}
}

// in is Do for a test.
func in(t *testing.T, path string, f func() error) {
	t.Helper()
	if err := Do(path, f); err != nil {
		t.Fatal(err)
	}
}

func TestPair(t *testing.T) {
	need(t, manifest.NetNS)
	p, err := New("test", manifest.NetNS)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var listener net.Listener
	in(t, p.Path("server"), func() (err error) {
		listener, err = net.Listen("tcp4", p.Server.String()+":0")
		return err
	})
	defer listener.Close()
	peers := make(chan string)
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				close(peers)
				return
			}
			host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
			io.WriteString(c, "hello")
			c.Close()
			peers <- host
		}
	}()
	for _, from := range p.Load {
		in(t, p.Path("load"), func() error {
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: from.AsSlice()}, Timeout: 5 * time.Minute}
			c, err := d.Dial("tcp4", listener.Addr().String())
			if err != nil {
				return err
			}
			defer c.Close()
			got, err := io.ReadAll(c)
			if string(got) != "hello" {
				return fmt.Errorf("got %q, %v, want hello", got, err)
			}
			return nil
		})
		if got := <-peers; got != from.String() {
			t.Errorf("the server sees %s, want %v", got, from)
		}
	}
	// A router outside may accept every connection. It is the server only if it says hello.
	if c, err := net.DialTimeout("tcp4", listener.Addr().String(),
		50*time.Millisecond); err == nil {
		c.SetDeadline(time.Now().Add(50 * time.Millisecond))
		if got, _ := io.ReadAll(c); string(got) == "hello" {
			t.Error("the server's namespace is reached from outside")
		}
		c.Close()
	}
	if p.Path("other") != "" {
		t.Errorf("another role has the namespace %s", p.Path("other"))
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	for _, role := range []string{"server", "load"} {
		if _, err := os.Lstat(p.Path(role)); err == nil {
			t.Errorf("%s is left", p.Path(role))
		}
	}
	if err := p.Close(); err != nil {
		t.Error("second Close:", err)
	}
	if err := (*Pair)(nil).Close(); err != nil {
		t.Error("no pair:", err)
	}
}

// TestGroupIn starts a command in the load's namespace as a run does.
func TestGroupIn(t *testing.T) {
	need(t, manifest.NetNS)
	p, err := New("test", manifest.NetNS)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	g, err := group.New("load", group.Options{NetNS: p.Path("load")})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	var out strings.Builder
	cmd := exec.Command("ip", "-brief", "address", "show", "dev", device)
	cmd.Stdout = &out
	if err := g.Start(cmd); err != nil {
		t.Fatal(err)
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, a := range p.Load {
		if !strings.Contains(out.String(), a.String()+"/24") {
			t.Errorf("got %q, want %v among them", out.String(), a)
		}
	}
}

func TestSweep(t *testing.T) {
	need(t, manifest.NetNS)
	live, err := New("test", manifest.NetNS)
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	// the number is beyond any pid_max
	dead := fmt.Sprintf("interleave.%d.1.test-server.%d", 1<<30, os.Getpid())
	if err := ip("", "netns", "add", dead); err != nil {
		t.Fatal(err)
	}
	if err := Sweep(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, dead)); err == nil {
		t.Errorf("%s of a dead run is left", dead)
		remove(dead)
	}
	if _, err := os.Lstat(live.Path("server")); err != nil {
		t.Error("a namespace of a living run was swept")
	}
}

func TestFails(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := New("test", manifest.NetNS); err == nil ||
		!strings.Contains(err.Error(), "apt-get install iproute2") &&
			!strings.Contains(err.Error(), "sudo") {
		t.Errorf("got %v, want the way out", err)
	}
}

// TestHalfMade leaves nothing behind when a later step fails.
func TestHalfMade(t *testing.T) {
	need(t, manifest.NetNS)
	real, err := exec.LookPath("ip")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	script := "#!/bin/sh\ncase $1 in -netns) echo no device >&2; exit 1;; esac\nexec " + real +
		" \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "ip"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":/bin:/usr/bin")
	p, err := New("half-made", manifest.NetNS)
	if err == nil || p != nil || !strings.Contains(err.Error(), "no device") {
		t.Errorf("got %v, %v, want the error of ip", p, err)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*half-made*"))
	if len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
