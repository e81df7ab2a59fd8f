package servers_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// listening finds the port of a listening TCP socket of a process; 0 if there is none.
func listening(t *testing.T, pid int) int {
	t.Helper()
	own := make(map[string]bool)
	folder := fmt.Sprintf("/proc/%d/fd", pid)
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		if target, err := os.Readlink(filepath.Join(folder, e.Name())); err == nil {
			own[target] = true
		}
	}
	all, err := listeners()
	if err != nil {
		t.Fatalf("asking the kernel for its listeners: %v", err)
	}
	for inode, port := range all {
		if own[fmt.Sprintf("socket:[%d]", inode)] {
			return port
		}
	}
	return 0
}

// listeners returns the port of each listening IPv4 socket by its inode, from sock_diag(7).
// /proc/net/tcp has the same, but to print a page of it the kernel walks the buckets of all
// connections: 60 ms when 28 000 are in TIME_WAIT.
func listeners() (map[uint32]int, error) {
	const (
		byFamily = 20 // SOCK_DIAG_BY_FAMILY
		listens  = 10 // TCP_LISTEN
		header   = syscall.SizeofNlMsghdr
		request  = 56 // struct inet_diag_req_v2
		answer   = 72 // struct inet_diag_msg
	)
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC,
		syscall.NETLINK_INET_DIAG)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	ask := make([]byte, header+request)
	native := binary.NativeEndian
	native.PutUint32(ask[0:], uint32(len(ask)))
	native.PutUint16(ask[4:], byFamily)
	native.PutUint16(ask[6:], syscall.NLM_F_REQUEST|syscall.NLM_F_DUMP)
	ask[header], ask[header+1] = syscall.AF_INET, syscall.IPPROTO_TCP
	native.PutUint32(ask[header+4:], 1<<listens)
	if err := syscall.Sendto(fd, ask, 0,
		&syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		return nil, err
	}
	all := make(map[uint32]int)
	for buffer := make([]byte, 64<<10); ; {
		n, _, err := syscall.Recvfrom(fd, buffer, 0)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		messages, err := syscall.ParseNetlinkMessage(buffer[:n])
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			switch {
			case m.Header.Type == syscall.NLMSG_DONE:
				return all, nil
			case m.Header.Type == syscall.NLMSG_ERROR && len(m.Data) >= 4:
				return nil, syscall.Errno(-int32(native.Uint32(m.Data)))
			case m.Header.Type == byFamily && len(m.Data) >= answer:
				all[native.Uint32(m.Data[68:])] = int(binary.BigEndian.Uint16(m.Data[4:]))
			}
		}
	}
}
