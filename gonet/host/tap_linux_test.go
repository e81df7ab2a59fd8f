package host

import (
	"net"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// namespace makes a network namespace of the test's own with a persistent tap. Commands that the
// test starts, and connections that it makes, are in it.
func namespace(t *testing.T) (device string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("SKIP: a network namespace needs root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("SKIP: install iproute2 for the ip command")
	}
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		t.Skip("SKIP: ", err)
	}
	// never unlocked: the thread and its namespace end with the test's goroutine
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skipf("SKIP: no network namespace to be had: %v", err)
	}
	for _, words := range [][]string{
		{"tuntap", "add", "dev", "lab0", "mode", "tap"}, {"addr", "add", "10.77.0.1/24", "dev",
			"lab0"}, {"link", "set", "lab0", "up"},
	} {
		if out, err := exec.Command("ip", words...).CombinedOutput(); err != nil {
			t.Fatalf("ip %v: %v: %s", words, err, out)
		}
	}
	// The kernel asks for hardware addresses for three seconds otherwise, and then has no route to
	// a stack that got no core meanwhile.
	if err := os.WriteFile("/proc/sys/net/ipv4/neigh/lab0/mcast_solicit", []byte("300"),
		0); err != nil {
		t.Fatal(err)
	}
	return "lab0"
}

// TestTap runs the same program behind a tap. The client is this process, in the tap's namespace.
func TestTap(t *testing.T) {
	device := namespace(t)
	cmd, where := serve(t, "10.77.0.2:7", Variable+"="+device+" 10.77.0.2/24 10.77.0.1")
	if where != "10.77.0.2:7" {
		t.Errorf("it listens at %s", where)
	}
	try(t, cmd, func() (net.Conn, error) { return net.DialTimeout("tcp4", where, testTimeout) })
}
