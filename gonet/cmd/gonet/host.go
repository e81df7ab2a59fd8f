package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"interleave/gonet"
	"interleave/gonet/dhcp"
	"interleave/gonet/link"
	"interleave/gonet/wire"
)

// hostFlags holds the flags that all commands with a stack share: the tap or tun, and the addresses
// of both of its ends.
type hostFlags struct {
	tap       string
	tun       string // in place of tap, if it is not empty
	addresses []string
	kernel    []string
	gateway   []string
	routes    []string
	dns       []string
	mac       string
	dhcp      bool
	metrics   string
	capture   string
	netns     string // the network namespace of the device; empty: that of the process
	// configure changes the configuration of the stack, if it is not nil
	configure func(*gonet.Config)
	// the last lease of --dhcp, which `gonet up` requests first when it starts again
	previous dhcp.Lease
}

func (w *hostFlags) flags(f *pflag.FlagSet) {
	f.StringVar(&w.tap, "tap", defaultTap,
		"the network device: created and removed, or used if it exists")
	f.StringVar(&w.tun, "tun", "",
		"a tun in place of the tap: a device that carries IP packets without Ethernet")
	f.StringSliceVar(&w.dns, "dns", nil,
		"a DNS server for the stack (default those of --dhcp, or of IPv6 routers)")
	f.StringVar(&w.mac, "mac", "", "the stack's hardware address (default random)")
	f.BoolVar(&w.dhcp, "dhcp", false,
		"get the address, gateway and DNS servers by DHCP over the tap")
	w.commonFlags(f)
}

// commonFlags adds the flags of every device, a tap or a tun.
func (w *hostFlags) commonFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&w.addresses, "address", []string{"10.9.0.2/24"},
		"the stack's address with its prefix length")
	f.StringSliceVar(&w.kernel, "kernel", nil,
		"the kernel's address on the tap (default the network's first free one); none: do not "+
			"set up the kernel's side")
	f.StringSliceVar(&w.gateway, "gateway", nil,
		"the router for all other networks (default the kernel)")
	f.StringSliceVar(&w.routes, "route", nil, "a network that the kernel reaches through the stack")
	f.StringVar(&w.metrics, "metrics", "",
		"serve statistics for Prometheus at this address of the kernel, as 127.0.0.1:9100")
	f.StringVar(&w.capture, "capture", "", "capture the tap to this file, as pcapng")
}

// defaultTap is the device if the user names none.
const defaultTap = "gonet0"

// device returns the name of the device.
func (w *hostFlags) device() string { return cmp.Or(w.tun, w.tap) }

// openDevice opens the device, a tap or a tun.
func (w *hostFlags) openDevice() (*link.Tap, error) {
	if w.tun != "" {
		return link.OpenTun(w.tun)
	}
	return link.OpenTap(w.tap)
}

// checkTun returns an error for flags that a tun cannot have.
func (w *hostFlags) checkTun() error {
	switch {
	case w.tap != "" && w.tap != defaultTap:
		return usagef("--tap %s, --tun %s: a stack has one device", w.tap, w.tun)
	case w.mac != "":
		return usagef("--mac %s: a tun has no Ethernet, and so no hardware address", w.mac)
	case w.dhcp:
		return usagef("--dhcp: a tun has no Ethernet, which DHCP needs; give --address")
	}
	return nil
}

// hardwareAddress returns that of --mac, or a random one. A tun has none.
func (w *hostFlags) hardwareAddress() (mac wire.MAC, err error) {
	switch {
	case w.tun != "":
		return mac, w.checkTun()
	case w.mac == "":
		_, _ = rand.Read(mac[:])  // never fails
		mac[0] = mac[0]&^1 | 0x02 // an individual address, locally administered
		return mac, nil
	}
	if mac, err = wire.ParseMAC(w.mac); err != nil || mac.IsGroup() {
		return mac, usagef("--mac %s: not the address of a station, as 02:00:00:00:00:01",
			w.mac)
	}
	return mac, nil
}

// plan is the configuration that the flags describe.
type plan struct {
	addresses []netip.Prefix
	kernel    []netip.Prefix
	gateways  []netip.Addr
	routes    []netip.Prefix
	dns       []netip.AddrPort
	mac       wire.MAC
}

func (w *hostFlags) plan() (p plan, err error) {
	prefixes := func(flag string, values []string) (out []netip.Prefix) {
		for _, v := range values {
			a, bad := netip.ParsePrefix(v)
			if bad != nil {
				err = errors.Join(err,
					usagef("--%s %s: not an address with a prefix length, as "+
						"10.9.0.2/24", flag, v))
			}
			out = append(out, a)
		}
		return out
	}
	if p.mac, err = w.hardwareAddress(); err != nil {
		return p, err
	}
	if !w.dhcp {
		p.addresses = prefixes("address", w.addresses)
	}
	alone := len(w.kernel) == 1 && w.kernel[0] == "none"
	if !alone {
		p.kernel = prefixes("kernel", w.kernel)
	}
	p.routes = prefixes("route", w.routes)
	for _, v := range w.dns {
		a, bad := netip.ParseAddrPort(v)
		if bad != nil {
			var only netip.Addr
			if only, bad = netip.ParseAddr(v); bad != nil {
				err = errors.Join(err, usagef("--dns %s: not an address", v))
			}
			a = netip.AddrPortFrom(only, 53)
		}
		p.dns = append(p.dns, a)
	}
	for _, v := range w.gateway {
		a, bad := netip.ParseAddr(v)
		if bad != nil {
			err = errors.Join(err, usagef("--gateway %s: not an address", v))
		}
		p.gateways = append(p.gateways, a)
	}
	if err != nil {
		return p, err
	}
	for _, a := range p.addresses {
		err = errors.Join(err, checkHostAddress(a))
	}
	if err != nil {
		return p, err
	}
	if !alone && len(w.kernel) == 0 {
		for _, a := range p.addresses {
			if a.IsSingleIP() {
				return p,
					usagef("--address %v: its network has no address for the kernel; "+
						"give --kernel, or a larger network", a)
			}
			p.kernel = append(p.kernel, kernelAddress(a))
		}
	}
	for _, k := range p.kernel {
		if slices.ContainsFunc(p.addresses,
			func(a netip.Prefix) bool { return a.Addr() == k.Addr() }) {
			return p, usagef("--kernel %v: the stack has this address", k)
		}
	}
	if len(p.gateways) == 0 && !w.dhcp {
		for _, a := range p.kernel {
			p.gateways = append(p.gateways, a.Addr())
		}
	}
	for _, r := range p.routes {
		if _, ok := p.via(r); !ok {
			err = errors.Join(err,
				usagef("--route %v: it needs an --address of its family for the kernel "+
					"to send to", r))
		}
	}
	return p, err
}

// checkHostAddress returns an error for an address that a host on a link cannot have.
func checkHostAddress(a netip.Prefix) error {
	first := a.Masked().Addr()
	switch {
	case a.Addr().IsLoopback() || a.Addr().IsMulticast() || a.Addr().IsUnspecified():
		return usagef("--address %v: not the address of a host on a link", a)
	case a.Addr().Is4() && a.Bits() < 31 && a.Addr() == first:
		return usagef("--address %v: it is the address of the network itself", a)
	case a.Addr().Is4() && a.Bits() < 31 && !a.Contains(a.Addr().Next()):
		return usagef("--address %v: it is the broadcast address of its network", a)
	}
	return nil
}

// via returns the stack's address that the kernel uses as the router to a network.
func (p *plan) via(network netip.Prefix) (netip.Addr, bool) {
	for _, a := range p.addresses {
		if a.Addr().Is4() == network.Addr().Is4() {
			return a.Addr(), true
		}
	}
	return netip.Addr{}, false
}

// kernelAddress returns the kernel's default address: the first host address of a's network other
// than a.
func kernelAddress(a netip.Prefix) netip.Prefix {
	first := a.Masked().Addr()
	if a.Addr().BitLen()-a.Bits() > 1 { // a larger network's first address is no host's
		first = first.Next()
	}
	if first == a.Addr() {
		first = first.Next()
	}
	return netip.PrefixFrom(first, a.Bits())
}

// host is a stack on a tap, with all that a command needs for it.
type host struct {
	gonet.Dialer
	flags   *hostFlags
	plan    plan
	tap     *link.Tap
	made    bool // this process has created the device
	client  *dhcp.Client
	capture *capture
	started time.Time
	log     io.Writer
	undo    []func() error // what close calls, last element first
}

// open creates the tap and the stack. If it fails, it undoes what it has done.
func (w *hostFlags) open(ctx context.Context, log io.Writer) (h *host, err error) {
	h = &host{flags: w, log: log, started: time.Now()}
	if h.plan, err = w.plan(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close())
			h = nil
		}
	}()
	if err := w.inside(func() error { return h.attach(ctx) }); err != nil {
		return h, err
	}
	var l link.Link = h.tap
	if w.capture != "" {
		if l, err = h.captureTo(l, w.capture); err != nil {
			return h, err
		}
	}
	if w.dhcp {
		if l, err = h.lease(ctx, l); err != nil {
			return h, err
		}
	}
	config := gonet.Config{Link: l, MAC: h.plan.mac, Addresses: h.plan.addresses,
		Gateways: h.plan.gateways}
	if h.client != nil {
		config.Routes = h.client.Lease().Routes
	}
	if w.configure != nil {
		w.configure(&config)
	}
	h.Stack, err = gonet.New(config)
	if err != nil {
		return h, err
	}
	h.Resolver = h.Stack.SystemResolver(h.plan.dns...)
	h.undo[0] = h.Stack.Close // closes the tap too
	if h.client != nil {
		h.undo = append(h.undo, h.client.Release)
		go h.watchLease()
	}
	return h, h.control()
}

// attach opens the device and sets up the kernel's side of it.
func (h *host) attach(ctx context.Context) (err error) {
	name := h.flags.device()
	_, missing := net.InterfaceByName(name)
	if h.tap, err = h.flags.openDevice(); err != nil {
		return explain(err, name)
	}
	h.undo = append(h.undo, h.tap.Close)
	h.made = missing != nil
	return h.prepare(ctx)
}

// explain adds to an error of the tap what the user can do about it.
func explain(err error, name string) error {
	switch {
	case errors.Is(err, syscall.EBUSY):
		return fmt.Errorf("%w: another process has it (a second gonet?); name another with --tap "+
			"or --tun", err)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%w: it needs CAP_NET_ADMIN: run it as root, or as `unshare -rn "+
			"gonet` in a namespace of your own", err)
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ENODEV),
		errors.Is(err, syscall.ENXIO):
		return fmt.Errorf("%w: this kernel has no tap devices: modprobe tun; for a container, "+
			"--device /dev/net/tun", err)
	case errors.Is(err, syscall.EINVAL):
		return fmt.Errorf("%w: is %s another kind of device, or a name of more than 15 bytes?", err,
			name)
	}
	return err
}

// prepare gives the kernel's side its addresses and routes. If this process has created the device,
// the kernel removes them with it, and nothing needs to be undone.
func (h *host) prepare(ctx context.Context) error {
	name := h.tap.Name()
	add := func(what ...string) error {
		if err := ip(ctx, what...); err != nil {
			return err
		}
		if !h.made {
			what[1] = "del"
			h.undo = append(h.undo, func() error {
				return h.flags.inside(func() error { return ip(context.Background(), what...) })
			})
		}
		return nil
	}
	for _, a := range h.plan.kernel {
		words := []string{"addr", "add", a.String(), "dev", name}
		if a.Addr().Is6() {
			// usable at once: no other station is on this link
			words = append(words, "nodad")
		}
		if err := add(words...); err != nil {
			return err
		}
	}
	// an existing tap may be up already
	if i, err := net.InterfaceByName(name); err != nil || i.Flags&net.FlagUp == 0 {
		if err := ip(ctx, "link", "set", name, "up"); err != nil {
			return err
		}
	}
	for _, a := range h.plan.kernel {
		if a.Addr().Is6() {
			awaitAddress(ctx, a.Addr())
		}
	}
	for _, r := range h.plan.routes {
		via, _ := h.plan.via(r) // plan has checked that there is one
		if err := add("route", "add", r.Masked().String(), "via", via.String(), "dev",
			name); err != nil {
			return err
		}
	}
	return nil
}

// awaitAddress waits until the kernel takes packets for an IPv6 address of its own: it makes the
// route for them a moment after the address was added. Packets until then are lost, and on a tun,
// without neighbour discovery, nobody sends them again. It gives up after a number of tries, not
// after a time, in which the ip command may get no core.
func awaitAddress(ctx context.Context, a netip.Addr) {
	for range addressTries {
		// what is wrong, if the wait is in vain, shows later
		if routed(ctx, a) {
			return
		}
		select {
		case <-time.After(addressPoll):
		case <-ctx.Done():
			return
		}
	}
}

// routed says whether the kernel takes packets for an address of its own.
func routed(ctx context.Context, a netip.Addr) bool {
	ctx, cancel := context.WithTimeout(ctx, ipTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, "ip", "route", "get", a.String()).Output()
	return err == nil && strings.HasPrefix(string(out), "local ")
}

// How often awaitAddress tries, and how long it waits between two tries: three seconds in all, if
// the ip command takes no time. Guesses.
const (
	addressTries = 300
	addressPoll  = 10 * time.Millisecond
)

// ipTime bounds one call of the ip command, which takes milliseconds.
const ipTime = 20 * time.Second

func ip(ctx context.Context, args ...string) error { return ipWith(ctx, "", nil, args...) }

// ipWith is ip with an input, and a file that the command finds at descriptor 3 unless it is nil.
func ipWith(ctx context.Context, input string, file *os.File, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, ipTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "ip", args...)
	cmd.Stdin = strings.NewReader(input)
	if file != nil {
		cmd.ExtraFiles = []*os.File{file}
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("the ip command is not there: install iproute2, or set the tap up " +
			"yourself and give --kernel none")
	}
	if err != nil {
		err = cmp.Or(ctx.Err(), err) // Ctrl-C kills the ip command too
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err,
			strings.TrimSpace(string(out)))
	}
	return nil
}

// leaseTime is how long to wait for a DHCP lease: with RFC 2131's back-off the client asks five
// times.
const leaseTime = time.Minute

// lease gets the addresses by DHCP. Flags take precedence over the server's values.
func (h *host) lease(ctx context.Context, l link.Link) (link.Link, error) {
	w := h.flags
	ctx, cancel := context.WithTimeout(ctx, leaseTime)
	defer cancel()
	name, _ := os.Hostname() // the host name is optional
	c, err := dhcp.Acquire(ctx, l, dhcp.Config{MAC: h.plan.mac, Host: name, Previous: w.previous})
	if err != nil {
		return nil, fmt.Errorf("tap %s: %w", h.tap.Name(), err)
	}
	h.client = c
	got := c.Lease()
	w.previous, w.mac = got, h.plan.mac.String() // the server identifies the client by its MAC
	h.plan.addresses = []netip.Prefix{got.Address}
	if len(h.plan.gateways) == 0 && got.Router.IsValid() {
		h.plan.gateways = []netip.Addr{got.Router}
	}
	if len(h.plan.dns) == 0 {
		for _, a := range got.DNS {
			h.plan.dns = append(h.plan.dns, netip.AddrPortFrom(a, 53))
		}
	}
	return c, nil
}

// watchLease is the goroutine that closes the stack when its lease has ended, since the address may
// be another's then. It ends with the stack.
func (h *host) watchLease() {
	select {
	case <-h.client.Lost():
		fmt.Fprintf(h.log, "gonet: tap %s: the lease of %v has ended\n", h.tap.Name(),
			h.plan.addresses[0])
		_ = h.Stack.Close() // close reports the error
	case <-h.Stack.Done():
	}
}

// leaseLost tells whether the stack has ended because its lease has.
func (h *host) leaseLost() bool {
	if h.client == nil {
		return false
	}
	select {
	case <-h.client.Lost():
		return true
	default:
		return false
	}
}

// close undoes what open has done, in reverse order.
func (h *host) close() (err error) {
	for i := len(h.undo) - 1; i >= 0; i-- {
		if bad := h.undo[i](); bad != nil && !errors.Is(bad, net.ErrClosed) &&
			!errors.Is(bad, os.ErrClosed) && !errors.Is(bad, link.ErrClosed) {
			err = errors.Join(err, bad)
		}
	}
	h.undo = nil
	return err
}

// with opens a host, runs f on it, and closes it.
func (w *hostFlags) with(ctx context.Context, log io.Writer, f func(h *host) error) error {
	h, err := w.open(ctx, log)
	if err != nil {
		return err
	}
	return errors.Join(f(h), h.close())
}

// lookup returns the address of a name. name may be an address too.
func (h *host) lookup(ctx context.Context, name string) (netip.Addr, error) {
	if a, err := netip.ParseAddr(name); err == nil {
		return a, nil
	}
	list, err := h.Resolver.LookupNetIP(ctx, "ip", name)
	if err != nil {
		return netip.Addr{}, err
	}
	return list[0].Unmap(), nil
}

// ended returns the error of a stack that has ended by itself.
func (h *host) ended() error {
	return fmt.Errorf("%s %s: the stack has ended: %w", h.tap.Kind(), h.tap.Name(), h.Stack.Err())
}

// station returns the stack's hardware address behind a space, or nothing on a tun.
func (h *host) station() string {
	if h.tap.Features().L3 {
		return ""
	}
	return " " + h.Stack.MAC().String()
}

// wait blocks until the user stops the command or the stack ends. Only the latter is an error.
func (h *host) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-h.Stack.Done():
		return h.ended()
	}
}

func hostPort(a netip.Addr, port int) string { return netip.AddrPortFrom(a, uint16(port)).String() }
