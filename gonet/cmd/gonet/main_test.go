package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// testTimeout bounds what must happen at all; nothing is expected to be fast.
const testTimeout = 5 * time.Minute

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"gonet": main, "slirp4netns": main, "peer": peer,
		"frames": frames, "load": load, "peersbench": peersBench, "forbidden": forbidden,
		"confined": confined})
}

// TestScripts runs testdata/script/*.txtar: commands as they are typed, each script in a network
// namespace of its own, in which this machine's kernel is the other host. peer and frames are the
// programs below.
func TestScripts(t *testing.T) {
	library, err := filepath.Abs("testdata/library.sh")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("LIBRARY", library)
			env.Setenv("XDG_RUNTIME_DIR", env.WorkDir)
			return nil
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "netns":
				return namespaceError() == nil, nil
			case "root":
				return os.Getuid() == 0, nil
			case "containers":
				err := containersError(library)
				if err != nil {
					t.Logf("podman: %v", err)
				}
				return err == nil, nil
			}
			return false, fmt.Errorf("no condition %q", name)
		},
	})
	if err := namespaceError(); err != nil {
		t.Logf("SKIP: scripts that need a network namespace with a tap (root or user "+
			"namespaces, iproute2, /dev/net/tun): %v", err)
	}
}

// containersError returns why podman cannot run a container in namespaces of its own, or nil. A
// busybox that is linked to libraries does not start there.
func containersError(library string) error {
	dir, err := os.MkdirTemp("", "containers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command("timeout", "300", "unshare", "-nmpfC", "--mount-proc", "--kill-child", "sh",
		"-e", "-c", `. "$LIBRARY"; containers; box; podman run --rm --network none box sh -c :`)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "LIBRARY="+library)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// namespaceError returns why the scripts cannot have a network namespace with a tap, or nil.
func namespaceError() error {
	out, err := exec.Command("timeout", "300", "unshare", "-rnpf", "--kill-child", "ip", "tuntap",
		"add", "dev", "trial0", "mode", "tap").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// fail ends a program of the scripts if there is an error.
func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// peer is a program on the kernel's side. `peer listen ADDRESS` and `peer connect ADDRESS` join a
// connection with standard input and output; `peer http ADDRESS DIR` serves files; `peer socks
// ADDRESS PASSWORD` is a SOCKS5 server, `peer dns ADDRESS` one of DNS.
func peer() {
	how, address := os.Args[1], os.Args[2]
	if how == "socks" {
		serveSocks(address, os.Args[3])
	}
	if how == "dns" {
		serveDNS(address)
	}
	if how == "connect" {
		c, err := net.Dial("tcp", address)
		fail(err)
		copyBoth(c)
		return
	}
	l, err := net.Listen("tcp", address)
	fail(err)
	fmt.Fprintln(os.Stderr, "ready")
	if how == "http" {
		server := http.Server{Handler: http.FileServer(http.Dir(os.Args[3])),
			ReadHeaderTimeout: testTimeout}
		fail(server.Serve(l))
	}
	c, err := l.Accept()
	fail(err)
	copyBoth(c)
}

// copyBoth sends all of its input, closes its sending direction, and then reads to the end. Data
// that arrives after the close proves the half-close.
func copyBoth(c net.Conn) {
	_, err := io.Copy(c, os.Stdin)
	fail(err)
	fail(c.(*net.TCPConn).CloseWrite())
	_, err = io.Copy(os.Stdout, c)
	fail(err)
}

// frames reads a pcapng file and prints a line for each frame: its direction, its type, and its
// length. Without Ethernet the type is the version of IP.
func frames() {
	data, err := io.ReadAll(os.Stdin)
	fail(err)
	le := binary.LittleEndian
	raw := false
	for blocks := 0; len(data) > 0; blocks++ {
		if len(data) < 12 || int(le.Uint32(data[4:])) > len(data) || le.Uint32(data[4:]) < 12 {
			fail(fmt.Errorf("block %d is cut: %d bytes are left", blocks, len(data)))
		}
		n := int(le.Uint32(data[4:]))
		b := data[:n]
		if last := le.Uint32(b[n-4:]); int(last) != n {
			fail(fmt.Errorf("block %d has lengths %d and %d", blocks, n, last))
		}
		if blocks < 2 {
			if want := []uint32{0x0a0d0d0a, 1}[blocks]; le.Uint32(b) != want {
				fail(fmt.Errorf("block %d is of type %#x, want %#x", blocks, le.Uint32(b), want))
			}
			raw = le.Uint16(b[8:]) == 101 // LINKTYPE_RAW
		} else {
			length := int(le.Uint32(b[20:]))
			options := b[28+(length+3)&^3:]
			direction := map[uint32]string{1: "in", 2: "out"}[le.Uint32(options[4:])]
			kind := fmt.Sprintf("ip%d", b[28]>>4)
			if !raw {
				kind = fmt.Sprintf("%04x", b[28+12:28+14])
			}
			fmt.Printf("%s %s %d\n", direction, kind, length)
		}
		data = data[n:]
	}
}

func TestBigFilesArriveWhole(t *testing.T) {
	if err := namespaceError(); err != nil {
		t.Skipf("SKIP: a network namespace with a tap (root or user namespaces, iproute2, "+
			"/dev/net/tun): %v", err)
	}
	dir := t.TempDir()
	big := make([]byte, 30_000_000)
	for i := range big {
		big[i] = byte(i * i >> 9)
	}
	if err := os.WriteFile(filepath.Join(dir, "big"), big, 0o644); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The test's own binary is gonet and peer: testscript selects by the name on the PATH.
	for _, name := range []string{"gonet", "peer"} {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	script := `. "$LIBRARY"
peer http :8000 . 2>peer.err &
await ready peer.err
gonet get -o got http://10.9.0.1:8000/big
kill $!
`
	library, err := filepath.Abs("testdata/library.sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("timeout", "300", "unshare", "-rnpf", "--kill-child", "sh", "-e", "-c",
		script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "LIBRARY="+library,
		"XDG_RUNTIME_DIR="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := os.ReadFile(filepath.Join(dir, "got"))
	if err != nil || !bytes.Equal(got, big) {
		t.Errorf("%d bytes of %d, %v: %x", len(got), len(big), err, sha256.Sum256(got))
	}
}
