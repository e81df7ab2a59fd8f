package serve

import (
	"encoding/binary"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"interleave/internal/netns"
)

// This file asks the kernel which sockets have a TCP port, by sock_diag(7). /proc/net/tcp has the
// same, but for each page of it the kernel walks the buckets of all connections. If only listeners
// are asked for, sock_diag walks only theirs.

// States of a socket, from the kernel's include/net/tcp_states.h.
const (
	stateEstablished = 1
	stateCloseWait   = 8
	stateListen      = 10
)

// Sizes of the messages, in bytes.
const (
	diagRequest = 56 // struct inet_diag_req_v2
	diagAnswer  = 72 // struct inet_diag_msg
)

// sockets returns the inodes of the sockets on a local port that are in one of these states, in the
// network namespace of this thread.
func sockets(port int, states ...int) (inodes []string, err error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC,
		unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, fmt.Errorf("asking the kernel for its sockets: %w", err)
	}
	defer unix.Close(fd)
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		more, err := socketsOf(fd, family, port, states)
		if err != nil {
			return nil, fmt.Errorf("asking the kernel for its sockets: %w", err)
		}
		inodes = append(inodes, more...)
	}
	return inodes, nil
}

// socketsOf is sockets for one address family.
func socketsOf(fd int, family byte, port int, states []int) (inodes []string, err error) {
	ask := make([]byte, unix.SizeofNlMsghdr+diagRequest)
	native := binary.NativeEndian
	native.PutUint32(ask[0:], uint32(len(ask)))
	native.PutUint16(ask[4:], unix.SOCK_DIAG_BY_FAMILY)
	native.PutUint16(ask[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	body := ask[unix.SizeofNlMsghdr:]
	body[0], body[1] = family, unix.IPPROTO_TCP
	var mask uint32
	for _, state := range states {
		mask |= 1 << state
	}
	native.PutUint32(body[4:], mask)
	binary.BigEndian.PutUint16(body[8:], uint16(port))
	if err := unix.Sendto(fd, ask, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	buffer := make([]byte, 32<<10)
	for {
		n, _, err := unix.Recvfrom(fd, buffer, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		for rest := buffer[:n]; len(rest) >= unix.SizeofNlMsghdr; {
			size, kind := int(native.Uint32(rest)), native.Uint16(rest[4:])
			if size < unix.SizeofNlMsghdr || size > len(rest) {
				return nil, fmt.Errorf("a message of %d bytes in %d", size, len(rest))
			}
			message := rest[unix.SizeofNlMsghdr:size]
			switch {
			case kind == unix.NLMSG_DONE:
				return inodes, nil
			case kind == unix.NLMSG_ERROR && len(message) >= 4:
				return nil, unix.Errno(-int32(native.Uint32(message)))
			case kind == unix.SOCK_DIAG_BY_FAMILY && len(message) >= diagAnswer:
				if int(binary.BigEndian.Uint16(message[4:])) == port {
					inodes = append(inodes, strconv.Itoa(int(native.Uint32(message[68:]))))
				}
			}
			rest = rest[min(len(rest), (size+3)&^3):]
		}
	}
}

// socketsAt is sockets in the network namespace of a process, which is named by its number or
// "thread-self".
func socketsAt(pid string, port int, states ...int) (inodes []string, err error) {
	path := "/proc/" + pid + "/ns/net"
	theirs, err := os.Readlink(path)
	if err != nil {
		return nil, err
	}
	if ours, err := os.Readlink("/proc/thread-self/ns/net"); err != nil || pid == "thread-self" ||
		ours == theirs {
		path = ""
	}
	err = netns.Do(path, func() (err error) {
		inodes, err = sockets(port, states...)
		return err
	})
	return inodes, err
}

// Connections counts the connections on the server's port that are open on the server's host.
func (s *Server) Connections() (n int, err error) {
	err = netns.Do(s.Net.Path("server"), func() error {
		inodes, err := sockets(s.Port, stateEstablished, stateCloseWait)
		n = len(inodes)
		return err
	})
	return n, err
}
