package serve

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// firstPort is the lowest port that a server gets. It is above the well-known ports and those of
// most daemons.
const firstPort = 10_000

// FreePort finds a port of 127.0.0.1 on which no process listens and that the kernel gives to no
// client.
func FreePort() (int, error) { return freePort(loopback, false) }

// freePort finds a port of host on which no process listens. It is below the ephemeral range, so
// that no client has it as its own port. Another process may still take the port before the server
// does, so startOn tries again then.
//
// If elsewhere is true, the host is in another network namespace, where freePort cannot look; then
// only the start shows whether the port is free.
func freePort(host string, elsewhere bool) (int, error) {
	first, last := firstPort, ephemeralStart()-1
	if last-first < 1000 {
		first, last = 1024, 65_535 // a range widened by hand: any port must do
	}
	var failed error
	for range 100 {
		port := first + rand.IntN(last-first+1)
		if elsewhere {
			return port, nil
		}
		listener, err := net.Listen("tcp4", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			failed = err
			continue
		}
		if failed = Unlisten(listener.(*net.TCPListener)); failed == nil {
			return port, nil
		}
	}
	return 0, fmt.Errorf("finding a free port between %d and %d: %w", first, last, failed)
}

// Unlisten closes a listener so that its port is free at once. Close alone is not enough while this
// process starts another: until the new process closes what it has inherited, which on a busy
// machine takes milliseconds, it listens, too, and nobody else can. A shutdown ends that for both.
func Unlisten(listener *net.TCPListener) error {
	raw, err := listener.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) {
		failed = os.NewSyscallError("shutdown", syscall.Shutdown(int(fd), syscall.SHUT_RD))
	}); err != nil {
		return err
	}
	return errors.Join(failed, listener.Close())
}

// ephemeralStart returns the first port that the kernel gives to clients. It is 32768 if the kernel
// does not tell.
func ephemeralStart() int {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return 32_768
	}
	var start int
	if _, err := fmt.Sscan(string(text), &start); err != nil {
		return 32_768
	}
	return start
}

// listeners returns the inodes of the sockets that listen on the port in the network namespace of a
// process. It includes listeners on other addresses: no other process should listen on a port that
// a server was told to use.
func listeners(pid string, port int) (map[string]bool, error) {
	inodes := map[string]bool{}
	if found, err := socketsAt(pid, port, stateListen); err == nil {
		for _, inode := range found {
			inodes[inode] = true
		}
		return inodes, nil
	}
	// a kernel without sock_diag has the table in /proc, which also tells why a process is gone
	return listed(pid, port)
}

// listed is listeners by the kernel's tables in /proc.
func listed(pid string, port int) (map[string]bool, error) {
	inodes := map[string]bool{}
	for _, table := range []string{"tcp", "tcp6"} {
		file, err := os.Open(filepath.Join("/proc", pid, "net", table))
		if os.IsNotExist(err) && table == "tcp6" {
			continue // a kernel without IPv6
		}
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(file)
		for lines.Scan() {
			// sl local_address rem_address st tx_queue:rx_queue tr:when retrnsmt uid
			// timeout inode ...
			f := strings.Fields(lines.Text())
			if len(f) < 10 || f[0] == "sl" {
				continue
			}
			if f[3] != "0A" {
				break // listeners come first in the table, and then thousands of other sockets
			}
			at := strings.LastIndexByte(f[1], ':')
			if p, err := strconv.ParseUint(f[1][at+1:], 16, 16); err == nil && int(p) == port {
				inodes[f[9]] = true
			}
		}
		err = lines.Err()
		file.Close()
		if err != nil {
			return nil, fmt.Errorf("reading the kernel's table of sockets: %w", err)
		}
	}
	return inodes, nil
}

// PortOwners returns the processes that listen on a port of this thread's network namespace, by
// number and name; those of other users only if this process may look at them.
func PortOwners(port int) ([]string, error) {
	inodes, err := listeners("thread-self", port)
	if err != nil || len(inodes) == 0 {
		return nil, err
	}
	return holders(inodes), nil
}

// holders names all processes that have one of these sockets open.
func holders(inodes map[string]bool) []string {
	var names []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && len(held(pid, inodes)) > 0 {
			names = append(names, nameOf(pid))
		}
	}
	return names
}

// held returns which of the sockets a process has open.
func held(pid int, inodes map[string]bool) []string {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // gone, or another user's
	}
	var mine []string
	for _, entry := range entries {
		target, err := os.Readlink(filepath.Join(dir, entry.Name()))
		if err != nil {
			continue
		}
		inode, ok := strings.CutPrefix(target, "socket:[")
		if inode = strings.TrimSuffix(inode, "]"); ok && inodes[inode] {
			mine = append(mine, inode)
		}
	}
	return mine
}

// nameOf returns the number and name of a process for messages: "4711 (echo)".
func nameOf(pid int) string {
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return strconv.Itoa(pid)
	}
	return fmt.Sprintf("%d (%s)", pid, strings.TrimSpace(string(comm)))
}
