package slirp

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"syscall"
	"time"

	"interleave/gonet/wire"
)

// Ping implements Host by an unprivileged ICMP socket (icmp(7)): the kernel chooses the identifier,
// fills in the checksum, and hands the socket only what answers it.
func (k Kernel) Ping(ctx context.Context, to netip.Addr, seq uint16, data []byte) error {
	f, err := k.pingSocket(to)
	if err != nil {
		return err
	}
	defer f.Close()
	past := time.Unix(1, 0)
	defer context.AfterFunc(ctx, func() { _ = f.SetDeadline(past) })() // ends the wait
	kind, answer := wire.ICMPEcho, wire.ICMPEchoReply
	if to.Is6() {
		kind, answer = wire.ICMPv6Echo, wire.ICMPv6EchoReply
	}
	m := wire.Echo(kind, 0, seq)
	b := make([]byte, wire.ICMPLen, wire.ICMPLen+len(data)+1)
	m.Put(b)
	if _, err := f.Write(append(b, data...)); err != nil {
		return err
	}
	b = b[:cap(b)] // a longer answer is none, and shows as such
	for {
		n, err := f.Read(b)
		if err != nil {
			return err
		}
		if n >= wire.ICMPLen && b[0] == answer && binary.BigEndian.Uint16(b[6:]) == seq &&
			bytes.Equal(b[wire.ICMPLen:n], data) {
			return nil
		}
	}
}

// pingSocket returns an ICMP socket that is connected to an address.
func (k Kernel) pingSocket(to netip.Addr) (*os.File, error) {
	family, protocol := syscall.AF_INET, syscall.IPPROTO_ICMP
	if to.Is6() {
		family, protocol = syscall.AF_INET6, syscall.IPPROTO_ICMPV6
	}
	fd, err := syscall.Socket(family, syscall.SOCK_DGRAM|syscall.SOCK_NONBLOCK|
		syscall.SOCK_CLOEXEC, protocol)
	switch {
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return nil, fmt.Errorf("%w: %w", ErrNoPing, err)
	case err != nil:
		return nil, os.NewSyscallError("socket", err)
	}
	if from := k.local(to); from.IsValid() {
		err = os.NewSyscallError("bind", syscall.Bind(fd, sockaddr(from)))
	}
	if err == nil {
		err = os.NewSyscallError("connect", syscall.Connect(fd, sockaddr(to)))
	}
	if err != nil {
		return nil, errors.Join(err, syscall.Close(fd))
	}
	return os.NewFile(uintptr(fd), "ping"), nil
}

func sockaddr(a netip.Addr) syscall.Sockaddr {
	if a.Is4() {
		return &syscall.SockaddrInet4{Addr: a.As4()}
	}
	return &syscall.SockaddrInet6{Addr: a.As16()}
}
