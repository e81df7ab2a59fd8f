package link

import (
	"bytes"
	"encoding/binary"
	"syscall"
	"unsafe"
)

// On Linux the devices need nothing but package syscall, so that a program that carries the stack
// has no module but the stack's. Other systems are called by golang.org/x/sys.

// ifreq is struct ifreq of netdevice(7): a device, and what is set or returned. Where words have 32
// bits, the kernel uses less of it.
type ifreq struct {
	device [syscall.IFNAMSIZ]byte
	value  [24]byte
}

// newIfreq returns a request about the device with a name, which may be empty.
func newIfreq(name string) (*ifreq, error) {
	r := new(ifreq)
	if len(name) >= len(r.device) { // the last byte is a zero
		return nil, syscall.EINVAL
	}
	copy(r.device[:], name)
	return r, nil
}

// name returns the name of the device, which the kernel may have chosen.
func (r *ifreq) name() string {
	name, _, _ := bytes.Cut(r.device[:], []byte{0})
	return string(name)
}

func (r *ifreq) flags() uint16     { return binary.NativeEndian.Uint16(r.value[:]) }
func (r *ifreq) setFlags(f uint16) { binary.NativeEndian.PutUint16(r.value[:], f) }
func (r *ifreq) mtu() int          { return int(int32(binary.NativeEndian.Uint32(r.value[:]))) }

// ioctlDevice is an ioctl with a request about a device.
func ioctlDevice(fd int, call uintptr, r *ifreq) error {
	return ioctlPointer(fd, call, unsafe.Pointer(r))
}

// ioctlPointer is an ioctl with a pointer to what is set or returned.
func ioctlPointer(fd int, call uintptr, to unsafe.Pointer) error {
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), call,
		uintptr(to)); errno != 0 {
		return errno
	}
	return nil
}

// ioctlInt is an ioctl with a number.
func ioctlInt(fd int, call, value uintptr) error {
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), call, value); errno != 0 {
		return errno
	}
	return nil
}
