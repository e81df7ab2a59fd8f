package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"interleave/gonet/link"
)

// tapPlan is a tap in the namespace of a guest.
type tapPlan struct {
	Name  string
	MTU   int      // in bytes
	Lines []string // for the ip command there; none: the user configures the device
	// Lines6 are those of IPv6. A namespace without it is no failure.
	Lines6 []string
}

// slirpTap is the command that makes the tap, as the process that open starts.
const slirpTap = "slirp-tap"

// The descriptors of that process.
const (
	fdSocket = 3 // where it sends the tap's descriptor
	fdNetns  = 4
	fdUserns = 5 // of nsenter
)

// open makes the tap, and returns its descriptor. A process with privileges over the namespace,
// such as root's and that of podman, makes it itself.
//
// Any other must first enter the user namespace that owns the network namespace, where it is root.
// The kernel allows that to processes of one thread only, which one in Go never is. So nsenter, of
// util-linux, enters it and starts this program anew there. That process makes the tap and sends
// its descriptor back over a socket (SCM_RIGHTS). A C constructor before Go's runtime would do it
// in one process, for the price of cgo. Raw system calls behind a fork of ours would run beside a
// runtime that knows nothing of it.
func (p *tapPlan) open(ctx context.Context, target, usernsPath string,
	stderr io.Writer) (int, error) {
	netns, err := openNetns(target)
	if err != nil {
		return 0, err
	}
	defer netns.Close()
	userns, err := openUserns(netns, usernsPath)
	if err != nil {
		return 0, err
	}
	defer userns.Close()
	if usernsPath == "" || isOwnUserns(userns) {
		fd, err := p.make(ctx, netns, stderr)
		if !errors.Is(err, os.ErrPermission) || isOwnUserns(userns) {
			return fd, err
		}
	}
	return p.makeInside(ctx, userns, netns, stderr)
}

// openUserns opens a user namespace: that of a path, or the owner of a network namespace.
func openUserns(netns *os.File, path string) (*os.File, error) {
	if path != "" {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("--userns-path %s: %w", path, err)
		}
		return f, nil
	}
	fd, err := unix.IoctlRetInt(int(netns.Fd()), unix.NS_GET_USERNS)
	if err != nil { // EPERM: the owner is not below this process's user namespace
		return nil, fmt.Errorf("%s: its user namespace: %w", netns.Name(), err)
	}
	return os.NewFile(uintptr(fd), netns.Name()+": its user namespace"), nil
}

// isOwnUserns tells whether a user namespace is that of this process.
func isOwnUserns(userns *os.File) bool {
	ours, err := os.Stat("/proc/self/ns/user")
	if err != nil {
		return false
	}
	theirs, err := userns.Stat()
	return err == nil && os.SameFile(ours, theirs)
}

// make makes the tap with the privileges of this process.
func (p *tapPlan) make(ctx context.Context, netns *os.File, stderr io.Writer) (fd int, err error) {
	err = onNetns(netns, func() error {
		if fd, err = p.attach(ctx, netns); err != nil {
			return err
		}
		if err := ipBatch(ctx, p.Lines); err != nil {
			return errors.Join(err, unix.Close(fd))
		}
		// podman asks for IPv6 whether or not the kernel has it.
		if err := ipBatch(ctx, p.Lines6); err != nil {
			fmt.Fprintln(stderr, "gonet: the guest has no IPv6:", err)
		}
		return nil
	})
	return fd, err
}

// ipBatch runs lines of the ip command.
func ipBatch(ctx context.Context, lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	return ipWith(ctx, strings.Join(lines, "\n")+"\n", nil, "-batch", "-")
}

// attach opens the descriptor of the tap. The thread is in the guest's namespace, and is there
// again afterwards.
//
// The descriptor of a tap keeps the network namespace alive in which it was opened, and then the
// guest's would never end, nor would this process. So the tap is made in a namespace that is
// otherwise empty, and moves. When the guest's namespace ends, the kernel deletes the tap, and its
// reader hears of it. A tap that the user has made there is used where it is.
func (p *tapPlan) attach(ctx context.Context, netns *os.File) (int, error) {
	if _, err := net.InterfaceByName(p.Name); err == nil {
		return attachTap(p.Name)
	}
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return 0, os.NewSyscallError("unshare", err)
	}
	fd, err := attachTap(p.Name)
	if err != nil {
		return 0, err
	}
	err = ipWith(ctx, "", netns, "link", "set", "dev", p.Name, "netns", "/proc/self/fd/3")
	if err == nil {
		err = os.NewSyscallError("setns", unix.Setns(int(netns.Fd()), unix.CLONE_NEWNET))
	}
	if err != nil {
		return 0, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

// attachTap opens a descriptor of a tap of the thread's network namespace, as link.NewTap takes it.
func attachTap(name string) (int, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("tap %s: /dev/net/tun: %w", name, err)
	}
	r, err := unix.NewIfreq(name)
	if err == nil {
		r.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, r)
	}
	if err != nil {
		return 0, errors.Join(fmt.Errorf("tap %s: TUNSETIFF: %w", name, err), unix.Close(fd))
	}
	return fd, nil
}

// makeInside makes the tap with the privileges of a process in a user namespace.
func (p *tapPlan) makeInside(ctx context.Context, userns, netns *os.File,
	stderr io.Writer) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, os.NewSyscallError("socketpair", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	defer ours.Close()
	defer theirs.Close()
	plan, err := json.Marshal(p)
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, "nsenter", "--preserve-credentials",
		fmt.Sprintf("--user=/proc/self/fd/%d", fdUserns), "--", self, slirpTap, string(plan))
	cmd.ExtraFiles = []*os.File{fdSocket - 3: theirs, fdNetns - 3: netns, fdUserns - 3: userns}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return 0, errors.New("the nsenter command is not there: install util-linux")
	}
	if err != nil {
		return 0, fmt.Errorf("nsenter: %w: %s", cmp.Or(ctx.Err(), err),
			strings.TrimSpace(string(out)))
	}
	if _, err := stderr.Write(out); err != nil {
		return 0, err
	}
	return receiveFD(int(ours.Fd()))
}

// slirpTapCommand is the process in the user namespace: not for users.
func slirpTapCommand() *cobra.Command {
	return &cobra.Command{
		Use:    slirpTap,
		Short:  "what `gonet slirp` starts in another user namespace",
		Args:   cobra.ExactArgs(1),
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			var p tapPlan
			if err := json.Unmarshal([]byte(args[0]), &p); err != nil {
				return err
			}
			fd, err := p.make(cmd.Context(), os.NewFile(fdNetns, "the guest's"),
				cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return os.NewSyscallError("sendmsg",
				unix.Sendmsg(fdSocket, []byte{1}, unix.UnixRights(fd), nil, 0))
		},
	}
}

// receiveFD returns the descriptor that was sent over a socket.
func receiveFD(socket int) (int, error) {
	control := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(socket, make([]byte, 1), control, unix.MSG_CMSG_CLOEXEC|
		unix.MSG_DONTWAIT)
	if err != nil {
		return 0, os.NewSyscallError("recvmsg", err)
	}
	messages, err := unix.ParseSocketControlMessage(control[:n])
	if err != nil || len(messages) != 1 {
		return 0, fmt.Errorf("no descriptor was sent: %w", cmp.Or(err, errors.ErrUnsupported))
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return 0, fmt.Errorf("no descriptor was sent: %w", cmp.Or(err, errors.ErrUnsupported))
	}
	return fds[0], nil
}

// openDescriptor makes a link of a descriptor: that of a tap, or of a socket on which QEMU sends
// frames, `-netdev stream` or `-netdev dgram`.
func openDescriptor(fd, mtu int) (link.Link, error) {
	if err := checkFD("netns-type tapfd", fd); err != nil {
		return nil, err
	}
	return link.NewDescriptor(fd, link.Features{MTU: mtu})
}
