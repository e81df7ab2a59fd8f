package serve

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"interleave/internal/freeport"
)

// freePort finds a port for a server. If elsewhere is true, the server is in another network
// namespace, and only its start shows whether the port is free.
func freePort(elsewhere bool) (int, error) {
	if elsewhere {
		return freeport.Any(), nil
	}
	return freeport.Find()
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
