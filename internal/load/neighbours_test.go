package load

import (
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestIntroduce listens at the other end of a pair of devices: each address asks once.
func TestIntroduce(t *testing.T) {
	needRoot(t)
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("SKIP: install iproute2 for the ip command")
	}
	// never unlocked: the thread and its namespace end with the test's goroutine
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skipf("SKIP: no network namespace to be had: %v", err)
	}
	for _, line := range []string{
		"link add near type veth peer name far", "addr add 10.78.0.1/24 dev near",
		"addr add 10.78.0.3/24 dev near",
		"link set near arp off up", "link set far arp off up",
	} {
		if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v: %s", line, err, out)
		}
	}
	near, err := net.InterfaceByName("near")
	for until := time.Now().Add(patience); err == nil &&
		near.Flags&net.FlagRunning == 0; near, err = net.InterfaceByName("near") {
		if time.Now().After(until) { // the kernel's link watch takes a second at most
			t.Fatal("the pair does not come up")
		}
		time.Sleep(time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	far, err := net.InterfaceByName("far")
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: swap(unix.ETH_P_ARP),
		Ifindex: far.Index}); err != nil {
		t.Fatal(err)
	}
	wait := unix.Timeval{Sec: 5}
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait); err != nil {
		t.Fatal(err)
	}
	sources := []netip.Addr{netip.MustParseAddr("10.78.0.1"), netip.MustParseAddr("10.78.0.3")}
	if err := introduce(sources, netip.MustParseAddr("10.78.0.2")); err != nil {
		t.Fatal(err)
	}
	mac := strings.ReplaceAll(near.HardwareAddr.String(), ":", "")
	for _, last := range []string{"01", "03"} {
		frame := make([]byte, 100)
		n, err := unix.Read(fd, frame)
		if err != nil {
			t.Fatal(err)
		}
		want := "ffffffffffff" + mac + "0806" + "0001080006040001" + mac + "0a4e00" + last +
			"000000000000" + "0a4e0002"
		if got := fmt.Sprintf("%x", frame[:n]); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if err := introduce(LoopbackSources(1), netip.MustParseAddr("127.0.0.1")); err != nil {
		t.Errorf("over loopback: %v", err)
	}
	if err := introduce([]netip.Addr{netip.MustParseAddr("10.99.0.1")},
		netip.MustParseAddr("10.78.0.2")); err != nil {
		t.Errorf("from an address that nobody has: %v", err)
	}
}
