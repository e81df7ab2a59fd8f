package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// gvproxy, of containers/gvisor-tap-vsock, is the network of podman's virtual machines, on gVisor.
// It has no tap: a machine of QEMU brings it frames over a Unix socket. So a bridge stands for the
// machine, whose processor time does not count.

// The network of gvproxy.
const (
	gvproxyGuest  = "192.168.127.2"
	gvproxyRouter = "192.168.127.1"
)

// startGvproxy starts gvproxy, and a bridge in the guest.
func (g *peerGuest) startGvproxy() error {
	dir := os.Getenv("XDG_RUNTIME_DIR")
	frames := filepath.Join(dir, fmt.Sprintf("frames%d", g.port))
	control := filepath.Join(dir, fmt.Sprintf("control%d", g.port))
	// It always forwards a port to SSH of the guest.
	cmd := exec.Command(g.program.file, "-mtu", strconv.Itoa(g.mtu), "-listen-qemu",
		"unix://"+frames, "-listen", "unix://"+control, "-ssh-port", strconv.Itoa(20_000+g.port))
	cmd.Stderr = &g.said
	if err := cmd.Start(); err != nil {
		return err
	}
	g.pid = cmd.Process.Pid
	if err := awaitFiles(cmd, frames, control); err != nil {
		return err
	}
	if err := startReady(append(inGuest(g.guest), "load", "bridge", frames,
		strconv.Itoa(g.mtu))); err != nil {
		return fmt.Errorf("the bridge: %w", err)
	}
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _,
		_ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", control)
	}}}
	defer client.CloseIdleConnections()
	answer, err := client.Post("http://gvproxy/services/forwarder/expose", "application/json",
		strings.NewReader(fmt.Sprintf(`{"local": "0.0.0.0:%d", "remote": "%s:%d"}`, g.port,
			gvproxyGuest, g.port)))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(answer.Body) // the status says enough
		return fmt.Errorf("expose: %s %s", answer.Status, text)
	}
	return nil
}

// awaitFiles waits until files are there, or the program has ended that makes them.
func awaitFiles(cmd *exec.Cmd, files ...string) error {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		missing := false
		for _, file := range files {
			_, err := os.Stat(file)
			missing = missing || err != nil
		}
		if !missing {
			return nil
		}
		select {
		case err := <-ended:
			return errors.Join(errors.New("it has ended"), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// bridge makes a tap, and carries its frames over a Unix socket, each behind its length in four
// bytes: QEMU's -netdev stream.
func bridge(socket string, mtu string) {
	for _, line := range []string{
		"link set lo up",
		"tuntap add dev " + slirpName + " mode tap",
		"link set dev " + slirpName + " mtu " + mtu + " up",
		"addr add " + gvproxyGuest + "/24 dev " + slirpName,
		"route add default via " + gvproxyRouter,
	} {
		fail(runWords(append([]string{"ip"}, strings.Fields(line)...)...))
	}
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	fail(err)
	r, err := unix.NewIfreq(slirpName)
	fail(err)
	r.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
	fail(unix.IoctlIfreq(fd, unix.TUNSETIFF, r))
	tap := os.NewFile(uintptr(fd), slirpName)
	c, err := net.Dial("unix", socket)
	fail(err)
	fmt.Println("ready")
	const longest = 1 << 17
	go func() { // ends with the process
		in, b := bufio.NewReaderSize(c, longest), make([]byte, longest)
		for {
			_, err := io.ReadFull(in, b[:4])
			fail(err)
			n := binary.BigEndian.Uint32(b)
			_, err = io.ReadFull(in, b[:n])
			fail(err)
			_, err = tap.Write(b[:n])
			fail(err)
		}
	}()
	for b := make([]byte, longest); ; {
		n, err := tap.Read(b[4:])
		fail(err)
		binary.BigEndian.PutUint32(b, uint32(n))
		_, err = c.Write(b[:4+n])
		fail(err)
	}
}
