// Package netns makes two hosts out of one machine: a network namespace for the server and one for the load, joined
// by a pair of virtual Ethernet devices.
//
// The trade: loopback is the fastest network there is, with packets of 64 KiB and no device. Two namespaces still share
// the machine's cores and memory, but each packet crosses a device and its queue, the MTU is 1500, and the load has
// addresses of its own: nearer to two hosts, for the price of needing root and the ip command.
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
	"syscall"
	"time"

	"interleave/internal/group"
)

// dir is where the ip command keeps the namespaces that have a name.
const dir = "/run/netns"

// device is the name of each namespace's end of the pair. Names are a namespace's own, so it need not be unique.
const device = "lab0"

// loadAddresses is how many the load gets: at 28,000 ports each, more connections than a machine holds.
const loadAddresses = 32

// commandTime bounds one call of the ip command; it takes milliseconds, and more while devices are torn down.
const commandTime = 20 * time.Second

// A Pair is two namespaces that reach each other and nothing else.
type Pair struct {
	Server netip.Addr   // the server's address
	Load   []netip.Addr // the load's
	names  map[string]string
}

// New makes a pair. The name tells it apart from others of this run in lists. It needs root and iproute2; the error
// says what is missing.
func New(name string) (p *Pair, err error) {
	if err := Able(); err != nil {
		return nil, err
	}
	p = &Pair{
		Server: netip.AddrFrom4([4]byte{10, 77, 0, 1}),
		names:  map[string]string{"server": group.Unique(name + "-server"), "load": group.Unique(name + "-load")},
	}
	for i := range loadAddresses {
		p.Load = append(p.Load, netip.AddrFrom4([4]byte{10, 77, 0, byte(2 + i)}))
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("making two network namespaces: %w", err), p.Close())
			p = nil
		}
	}()
	server, load := p.names["server"], p.names["load"]
	for _, ns := range []string{server, load} {
		if err := ip("", "netns", "add", ns); err != nil {
			return p, err
		}
	}
	if err := ip("", "link", "add", device, "netns", server, "type", "veth", "peer", "name", device, "netns", load); err != nil {
		return p, err
	}
	if err := up(server, p.Server); err != nil {
		return p, err
	}
	return p, up(load, p.Load...)
}

// Able says what stands in the way of namespaces; nil if they can be made. It tries: a container may
// deny them to root as well, and a chroot the mounts that go with them.
func Able() error {
	if os.Geteuid() != 0 {
		return errors.New("network namespaces need root: run it with sudo, or use --hosts local")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return errors.New("network namespaces need the ip command: apt-get install iproute2, or use --hosts local")
	}
	if err := run("unshare", "", "--net", "--mount", "--propagation", "slave", "true"); err != nil {
		return fmt.Errorf("network namespaces cannot be made here (%w): use --hosts local", err)
	}
	return nil
}

// up gives a namespace's device its addresses and switches it and the loopback device on.
func up(ns string, addresses ...netip.Addr) error {
	var batch strings.Builder
	for _, a := range addresses {
		fmt.Fprintf(&batch, "address add %v/24 dev %s\n", a, device)
	}
	fmt.Fprintf(&batch, "link set lo up\nlink set %s up\n", device)
	return ip(batch.String(), "-netns", ns, "-batch", "-")
}

// Path returns the namespace of a role, "server" or "load", for group's Options; "" for another role.
func (p *Pair) Path(role string) string {
	name, ok := p.names[role]
	if !ok {
		return ""
	}
	return filepath.Join(dir, name)
}

// Close removes the namespaces, and the devices with them. A process that still runs in one keeps it alive without a
// name. A second call does nothing; a nil Pair is closed.
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

// Sweep removes the namespaces that runs left behind which were killed.
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
		if err := Able(); err != nil {
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

// run runs a command in a process group of its own, so that Ctrl-C does not end it half way, least of all
// when it cleans up.
func run(name, input string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), commandTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = strings.NewReader(input)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.Join(strings.Fields(string(out)), " "))
	}
	return nil
}
