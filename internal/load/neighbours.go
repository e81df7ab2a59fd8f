package load

// The server learns the load's addresses before anything is measured. Each address asks for the
// server by ARP once, as a host that comes up does, so the server has it in its neighbour cache.
// Else a stack that asks for its neighbours itself (smoltcp: one a second) would be measured by how
// long it takes to find seven of them.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// introduce sends the requests, from the device that has the addresses. Addresses of the loopback
// device need none. Without the permission to open the socket, nothing is sent.
func introduce(sources []netip.Addr, to netip.Addr) error {
	if len(sources) == 0 || to.IsLoopback() {
		return nil
	}
	device, err := holder(sources[0])
	if err != nil || device == nil || len(device.HardwareAddr) != 6 {
		return err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0) // it hears nothing
	if errors.Is(err, unix.EPERM) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("telling the server where we are: %w", err)
	}
	defer unix.Close(fd)
	all := &unix.SockaddrLinklayer{Protocol: swap(unix.ETH_P_ARP), Ifindex: device.Index, Halen: 6,
		Addr: [8]byte{255, 255, 255, 255, 255, 255}}
	for _, source := range sources {
		if err := unix.Sendto(fd, whoHas(device.HardwareAddr, source, to), 0, all); err != nil {
			return fmt.Errorf("telling the server where %v is: %w", source, err)
		}
	}
	return nil
}

// holder is the device that has an address; nil if none says that it has.
func holder(a netip.Addr) (*net.Interface, error) {
	devices, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("looking for the device of %v: %w", a, err)
	}
	for i := range devices {
		addresses, err := devices[i].Addrs()
		if err != nil {
			return nil, fmt.Errorf("looking for the device of %v: %w", a, err)
		}
		for _, p := range addresses {
			if prefix, err := netip.ParsePrefix(p.String()); err == nil && prefix.Addr() == a {
				return &devices[i], nil
			}
		}
	}
	return nil, nil
}

// whoHas is a request of ARP for Ethernet and IPv4 (RFC 826).
func whoHas(mac net.HardwareAddr, source, target netip.Addr) []byte {
	p := []byte{0, 1, 8, 0, 6, 4, 0, 1}
	p = append(p, mac...)
	p = append(p, source.AsSlice()...)
	p = append(p, make([]byte, 6)...)
	return append(p, target.AsSlice()...)
}

// swap puts a number in the order of the network.
func swap(n uint16) uint16 {
	var b [2]byte
	binary.BigEndian.PutUint16(b[:], n)
	return binary.NativeEndian.Uint16(b[:])
}
