package host

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"interleave/gonet"
	"interleave/gonet/link"
)

// TestMain is also the server that the tests start, if they set its variable: it echoes until
// SIGTERM.
func TestMain(m *testing.M) {
	if os.Getenv("HOST_TEST_ADDRESS") == "" {
		os.Exit(m.Run())
	}
	stop, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	l, err := Listen("tcp4", os.Getenv("HOST_TEST_ADDRESS"))
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	os.Stdout.WriteString(l.Addr().String() + "\n")
	<-stop.Done()
	if err := Close(); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Exit(0)
}

// serve starts the server of TestMain and returns its address.
func serve(t *testing.T, address string, env ...string) (cmd *exec.Cmd, where string) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append(env, "HOST_TEST_ADDRESS="+address)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // the process may have ended
		_ = cmd.Wait()
	})
	if where, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the server says %q: %v", where, err)
	}
	return cmd, strings.TrimSpace(where)
}

// testTimeout bounds what must happen at all; nothing is expected to be fast.
const testTimeout = 5 * time.Minute

// try has the server echo and end by SIGTERM, which the client must notice.
func try(t *testing.T, cmd *exec.Cmd, dial func() (net.Conn, error)) {
	t.Helper()
	c, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(testTimeout)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 5)
	if _, err := c.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, got); err != nil || string(got) != "hello" {
		t.Fatalf("got %q, %v", got, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error("the server's end:", err)
	}
	if _, err := c.Read(got); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("after the server's end got %v, want that it is told", err)
	}
}

func TestKernel(t *testing.T) {
	cmd, where := serve(t, "127.0.0.1:0")
	try(t, cmd, func() (net.Conn, error) { return net.Dial("tcp4", where) })
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ text, device, address, gateway, want string }{
		{"tap0 10.0.0.2/24", "tap0", "10.0.0.2/24", "", ""},
		{" tap0\t2001:db8::2/64  2001:db8::1 ", "tap0", "2001:db8::2/64", "2001:db8::1", ""},
		{"", "", "", "", "0 words"},
		{"tap0", "", "", "", "1 words"},
		{"tap0 10.0.0.2/24 10.0.0.1 x", "", "", "", "4 words"},
		{"tap0 10.0.0.2", "", "", "", `got "10.0.0.2"`},
		{"tap0 10.0.0.2/24 gateway", "", "", "", `got "gateway"`},
	} {
		device, got, err := parse(c.text)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: got %v, want %s", c.text, err, c.want)
			}
			continue
		}
		gateway := ""
		if len(got.Gateways) > 0 {
			gateway = got.Gateways[0].String()
		}
		if err != nil || device != c.device ||
			got.Addresses[0] != netip.MustParsePrefix(c.address) || gateway != c.gateway {
			t.Errorf("%q: got %s, %v, %v", c.text, device, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("tap0 10.0.0.2/24 10.0.0.1")
	f.Add("tap0 fe80::1%eth0/64")
	f.Fuzz(func(t *testing.T, text string) {
		device, c, err := parse(text)
		if err != nil {
			return
		}
		c.Link, _ = link.Pair()
		s, err := gonet.New(c)
		if err == nil {
			err = s.Close()
		}
		if device == "" || err != nil && s != nil {
			t.Errorf("%q: %s, %v", text, device, err)
		}
	})
}

func TestWrongVariable(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "HOST_TEST_ADDRESS=:7", Variable+"=tap0")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), `GONET_TAP="tap0": 1 words`) {
		t.Errorf("got %q, %v", out, err)
	}
}
