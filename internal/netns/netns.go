// Package netns makes two hosts out of one machine: a network namespace for the load, and for
// the server either another one, joined to it by a pair of virtual Ethernet devices, or the
// far end of a tap.
//
// The trade: loopback is the fastest network there is, with packets of 64 KiB and no device. Two
// namespaces still share the machine's cores and memory, but each packet crosses a device and its
// queue, the MTU is 1500, and the load has addresses of its own: nearer to two hosts, for the price
// of needing root and the ip command. A tap is the same for a server that brings its own stack: the
// kernel hands over frames, and knows nothing of the connections in them.
package netns

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"interleave/internal/group"
	"interleave/internal/manifest"
)

// dir is the folder in which the ip command keeps named namespaces.
const dir = "/run/netns"

// device is the name of the server's device, and of the load's end of the pair. Names are a
// namespace's own, so they need not be unique.
const device = "lab0"

const (
	// loadAddresses is the number of the load's addresses. With their ports they suffice for as
	// many connections as a machine holds. There are not more, since stacks for small machines keep
	// eight neighbours (smoltcp's default), and the server has to answer all of these.
	loadAddresses = 7
	// ports is the number of ports of each address that the load may use: all unprivileged ones.
	ports = "1024 65535"
	// questions is how often the kernel asks for the hardware address of a host, once a second. It
	// asks three times otherwise, and then has no route to a server that got no core meanwhile.
	questions = "60"
	// prefixBits is the length of the network that both hosts are in.
	prefixBits = 24
)

// commandTime bounds one call of the ip command; it takes milliseconds, and more while
// devices are torn down.
const commandTime = 20 * time.Second

// A Pair is two hosts that reach each other and nothing else. A nil Pair is this host and its
// loopback device.
type Pair struct {
	Hosts  manifest.Hosts // NetNS or Tap
	Server netip.Addr     // the server's address
	Load   []netip.Addr   // the load's; the first is the server's peer
	Device string         // the tap, or the server's end of the pair
	names  map[string]string
}

// New makes the two hosts; for manifest.Local it makes nothing and returns nil. The name
// distinguishes them from others of this run in lists. New needs root and iproute2; the error says
// what is missing. A tap is in the namespace of the load, whose end of it is the kernel's. It is
// persistent, is up and has the address of the peer. Its queue and its MTU are the kernel's
// defaults.
func New(name string, hosts manifest.Hosts) (p *Pair, err error) {
	if here(hosts) {
		return nil, nil
	}
	if err := Able(hosts); err != nil {
		return nil, err
	}
	p = &Pair{Hosts: hosts, Server: address(2), Load: []netip.Addr{address(1)}, Device: device,
		names: map[string]string{}}
	for i := 1; i < loadAddresses; i++ {
		p.Load = append(p.Load, address(2+i))
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("making two hosts: %w", err), p.Close())
			p = nil
		}
	}()
	load, err := p.add(name, "load")
	if err != nil {
		return p, err
	}
	if hosts == manifest.Tap {
		p.names["server"] = p.names["load"]
		return p, up(load, "tuntap add dev "+device+" mode tap\n", p.Load...)
	}
	server, err := p.add(name, "server")
	if err != nil {
		return p, err
	}
	if err := up(load, "link add "+device+" type veth peer name "+device+" netns "+server+"\n",
		p.Load...); err != nil {
		return p, err
	}
	return p, up(server, "", p.Server)
}

// here tells whether both hosts are this one. A model that was not read from a file may leave them
// empty.
func here(hosts manifest.Hosts) bool { return hosts == manifest.Local || hosts == "" }

func address(n int) netip.Addr { return netip.AddrFrom4([4]byte{10, 77, 0, byte(n)}) }

// add makes the namespace of a role.
func (p *Pair) add(name, role string) (ns string, err error) {
	ns = group.Unique(name + "-" + role)
	p.names[role] = ns
	return ns, ip("", "netns", "add", ns)
}

// unshared says that this process has made a namespace, and so can make more.
var unshared atomic.Bool

// Able returns an error if two hosts of a kind cannot be made. It tries to make them until that has
// succeeded once: a container may deny namespaces even to root, and a chroot may deny their mounts.
func Able(hosts manifest.Hosts) error {
	if here(hosts) {
		return nil
	}
	if os.Geteuid() != 0 {
		return errors.New("network namespaces need root: run it with sudo")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return errors.New("network namespaces need the ip command: apt-get install iproute2")
	}
	if !unshared.Load() {
		err := run("unshare", "", "--net", "--mount", "--propagation", "slave", "true")
		if err != nil {
			return fmt.Errorf("network namespaces cannot be made here: %w", err)
		}
		unshared.Store(true)
	}
	if hosts != manifest.Tap {
		return nil
	}
	tun, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
	if err != nil { // no device, no module, or a container that must not
		return fmt.Errorf("a tap needs /dev/net/tun (%w): modprobe tun; for a container "+
			"--device /dev/net/tun", err)
	}
	return tun.Close()
}

// up makes a namespace's device by the first line, gives it its addresses and sets it and the
// loopback device up.
func up(ns, first string, addresses ...netip.Addr) error {
	var batch strings.Builder
	batch.WriteString(first)
	for _, a := range addresses {
		fmt.Fprintf(&batch, "address add %v dev %s\n", netip.PrefixFrom(a, prefixBits), device)
	}
	fmt.Fprintf(&batch, "link set lo up\nlink set %s up\n", device)
	if err := ip(batch.String(), "-netns", ns, "-batch", "-"); err != nil {
		return err
	}
	return Do(filepath.Join(dir, ns), func() error {
		for file, text := range map[string]string{"ip_local_port_range": ports,
			"neigh/" + device + "/mcast_solicit": questions} {
			if err := os.WriteFile("/proc/sys/net/ipv4/"+file, []byte(text), 0o644); err != nil {
				return err
			}
		}
		return nil
	})
}

// Address is the server's, with the length of its network.
func (p *Pair) Address() netip.Prefix { return netip.PrefixFrom(p.Server, prefixBits) }

// Peer is the address of the load's end.
func (p *Pair) Peer() netip.Addr { return p.Load[0] }

// Path returns the namespace of a role, "server" or "load", for group's Options; "" for another
// role, and for the loopback device. The server behind a tap runs in the namespace of the load,
// which has the tap.
func (p *Pair) Path(role string) string {
	if p == nil {
		return ""
	}
	name, ok := p.names[role]
	if !ok {
		return ""
	}
	return filepath.Join(dir, name)
}

// Close removes the namespaces, and the devices with them. A process that still runs in one keeps
// it alive without a name. A second call, and one of a nil Pair, does nothing.
func (p *Pair) Close() error {
	if p == nil {
		return nil
	}
	var failed error
	for role := range p.names {
		failed = errors.Join(failed, remove(filepath.Base(p.Path(role))))
	}
	return failed
}

// Sweep removes the namespaces of runs that were killed.
func Sweep() error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for namespaces that a dead run left: %w", err)
	}
	var failed error
	for _, e := range entries {
		if !group.Dead(e.Name()) {
			continue
		}
		if err := Able(manifest.NetNS); err != nil {
			return fmt.Errorf("removing the namespace %s of a dead run: %w", e.Name(), err)
		}
		failed = errors.Join(failed, remove(e.Name()))
	}
	return failed
}

func remove(name string) error {
	if _, err := os.Lstat(filepath.Join(dir, name)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return ip("", "netns", "delete", name)
}

// ip runs the ip command with its input.
func ip(input string, args ...string) error { return run("ip", input, args...) }

// run runs a command in a process group of its own, so that Ctrl-C does not interrupt it, above all
// during a clean-up.
func run(name, input string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), commandTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = strings.NewReader(input)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err,
			strings.Join(strings.Fields(string(out)), " "))
	}
	return nil
}
