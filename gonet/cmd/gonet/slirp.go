package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime/debug"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"interleave/gonet/internal/version"
	"interleave/gonet/link"
	"interleave/gonet/slirp"
	"interleave/gonet/wire"
)

// slirpFlags are the flags of `gonet slirp`: those of slirp4netns, and a few of its own.
type slirpFlags struct {
	flags                                  *pflag.FlagSet
	tap                                    tapPlan
	configure, ipv6, noHostLoopback, noDNS bool
	sandbox, seccomp, verbose              bool
	exitFD, readyFD                        int
	api, cidr, mac                         string
	netns, netnsType, userns               string
	outbound, outbound6                    string
	resolvConf, hosts                      string
	target                                 string // a PID, a path or a descriptor
	network                                slirp.Network
	host                                   slirp.Kernel
}

// The bounds on --mtu, in bytes: that of IPv4 (RFC 791), and slirp4netns's.
const (
	leastMTU = 68
	mostMTU  = 65521
)

// slirpName is the device if the user names none, and slirp4netns the other name of the program.
const (
	slirpName   = "tap0"
	slirp4netns = "slirp4netns"
)

func slirpCommand() *cobra.Command { return new(slirpFlags).command() }

// command returns the command whose flags these are.
func (w *slirpFlags) command() *cobra.Command {
	c := &cobra.Command{
		Use:   "slirp [OPTION]... PID|PATH [TAPNAME]",
		Short: "network for a namespace, without privileges: a drop-in for slirp4netns",
		Long: `Makes a tap in the network namespace of a process or a path, and connects it with the network of
this one: TCP, UDP and ping out, ports in by the API socket. It needs no privileges here, and those over
that namespace, as its owner has them.

  gateway 10.0.2.2 (also the host's loopback), DNS 10.0.2.3, guest 10.0.2.100, DHCP from 10.0.2.15 on
  with -6: fd00::2, fd00::3, fd00::100, and router advertisements`,
		Example: `  unshare -Urn sh                                    a namespace of your own; then, with its $$:
  gonet slirp -c $PID tap0                           in another terminal
  gonet slirp -c --netns /run/netns/box --api-socket slirp.sock
  ln -s $(which gonet) slirp4netns                   by this name it is ` + "`gonet slirp`",
		Args:    cobra.MaximumNArgs(2),
		Version: version.String(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := w.complete(args); err != nil {
				return err
			}
			return w.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := c.Flags()
	w.flags = f
	f.BoolVarP(&w.configure, "configure", "c", false,
		"bring the tap and the loopback device up, with addresses and routes")
	f.IntVarP(&w.exitFD, "exit-fd", "e", -1, "end when this descriptor is closed or written to")
	f.IntVarP(&w.readyFD, "ready-fd", "r", -1, "write 1 to this descriptor when all is ready")
	f.IntVarP(&w.tap.MTU, "mtu", "m", 1500, "the MTU of the tap in bytes, at most 65521")
	f.BoolVarP(&w.ipv6, "enable-ipv6", "6", false, "IPv6, too")
	f.StringVarP(&w.api, "api-socket", "a", "", "the path of a Unix socket for port forwards")
	f.StringVar(&w.cidr, "cidr", "10.0.2.0/24", "the network of the guest and its gateway")
	f.BoolVar(&w.noHostLoopback, "disable-host-loopback", false,
		"the gateway's address does not lead to 127.0.0.1 of the host")
	f.BoolVar(&w.noDNS, "disable-dns", false, "no DNS forwarder")
	f.StringVar(&w.netns, "netns", "", "the namespace, in place of the word PID or PATH")
	f.StringVar(&w.netnsType, "netns-type", "",
		"what the namespace is given as: pid, path, or tapfd for the descriptor of a tap or of a "+
			"socket of QEMU (default: a number is a pid)")
	f.StringVar(&w.userns, "userns-path", "",
		"the user namespace to enter (default: the owner of the network namespace, if need be)")
	f.StringVar(&w.outbound, "outbound-addr", "",
		"the address of the host, or its interface, from which to connect")
	f.StringVar(&w.outbound6, "outbound-addr6", "", "the same for IPv6")
	f.StringVar(&w.mac, "macaddress", "", "the hardware address of the tap, with -c")
	f.BoolVar(&w.sandbox, "enable-sandbox", false,
		"drop all capabilities but that for ports below 1024, gain none, and hide the user's files")
	f.BoolVar(&w.seccomp, "enable-seccomp", false,
		"forbid system calls that serve no guest: programs, namespaces, mounts, new code, ...")
	f.StringVar(&w.resolvConf, "resolv-conf", "/etc/resolv.conf",
		"the file that lists the DNS servers of the host; changes are seen")
	f.StringVar(&w.hosts, "hosts", "/etc/hosts",
		"the file of names that the DNS forwarder answers itself; changes are seen; empty: none")
	f.BoolVar(&w.verbose, "verbose", false, "print each failure to standard error")
	return c
}

// complete checks the flags and the words, and fills in what follows from them.
func (w *slirpFlags) complete(args []string) (err error) {
	if w.netns != "" {
		args = append([]string{w.netns}, args...)
	}
	if len(args) == 0 || len(args) > 2 {
		return usagef("a namespace is expected, as PID or PATH, and the tap's name at most")
	}
	w.target, w.tap.Name = args[0], slirpName
	if len(args) == 2 {
		w.tap.Name = args[1]
	}
	switch n, bad := strconv.Atoi(w.target); w.netnsType {
	case "":
	case "path":
		if bad == nil { // a file with a number for its name
			w.target = "./" + w.target
		}
	case "pid", "tapfd":
		if bad != nil || n < 0 {
			return usagef("--netns-type %s: %s is not a number", w.netnsType, w.target)
		}
	default:
		return usagef("--netns-type %s: pid, path or tapfd is expected", w.netnsType)
	}
	if w.tap.MTU < leastMTU || w.tap.MTU > mostMTU || w.ipv6 && w.tap.MTU < wire.IPv6MinMTU {
		return usagef("--mtu %d: from %d to %d are possible, with IPv6 from %d", w.tap.MTU,
			leastMTU, mostMTU, wire.IPv6MinMTU)
	}
	prefix, err := netip.ParsePrefix(w.cidr)
	if err == nil {
		w.network, err = slirp.NewNetwork(prefix, w.ipv6)
	}
	if err != nil {
		return usagef("--cidr %s: %w", w.cidr, err)
	}
	if w.host, err = w.outboundHost(); err != nil {
		return err
	}
	if w.mac != "" {
		m, err := wire.ParseMAC(w.mac)
		if err != nil || m.IsGroup() || !w.configure {
			return usagef("--macaddress %s: the address of a station, with --configure",
				w.mac)
		}
		w.mac = m.String()
	}
	w.tap.Lines, w.tap.Lines6 = w.lines()
	return errors.Join(checkFD("exit-fd", w.exitFD), checkFD("ready-fd", w.readyFD))
}

// lines returns what the ip command does in the namespace, for all and for IPv6.
func (w *slirpFlags) lines() (all, ipv6 []string) {
	if !w.configure {
		return nil, nil
	}
	n, name := &w.network, w.tap.Name
	all = append(all, "link set lo up")
	if w.mac != "" {
		all = append(all, fmt.Sprintf("link set dev %s address %s", name, w.mac))
	}
	all = append(all,
		fmt.Sprintf("link set dev %s mtu %d up", name, w.tap.MTU),
		fmt.Sprintf("addr add %v dev %s", netip.PrefixFrom(n.Guest, n.Prefix.Bits()), name),
		fmt.Sprintf("route add default via %v dev %s", n.Gateway, name))
	if w.ipv6 { // the guest gets another address by router advertisements
		ipv6 = append(ipv6,
			fmt.Sprintf("addr add %v dev %s nodad", netip.PrefixFrom(n.Guest6, n.Prefix6.Bits()),
				name),
			fmt.Sprintf("route add ::/0 via %v dev %s", n.Gateway6, name))
	}
	return all, ipv6
}

// outboundHost returns the host's network with the addresses of --outbound-addr.
func (w *slirpFlags) outboundHost() (k slirp.Kernel, err error) {
	for _, x := range []struct{ flag, value string }{{"outbound-addr", w.outbound},
		{"outbound-addr6", w.outbound6}} {
		if x.value == "" {
			continue
		}
		a, err := addressOrInterface(x.value, x.flag == "outbound-addr6")
		switch {
		case err != nil:
			return k, usagef("--%s %s: %w", x.flag, x.value, err)
		case a.Is4():
			k.Local4 = a
		default:
			k.Local6 = a
		}
	}
	return k, nil
}

// addressOrInterface returns an address, or the first one of an interface that is of a family and
// not of the link only.
func addressOrInterface(text string, ipv6 bool) (netip.Addr, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		return a.Unmap(), nil
	}
	i, err := net.InterfaceByName(text)
	if err != nil {
		return netip.Addr{}, errors.New("neither an address nor an interface")
	}
	all, err := i.Addrs()
	if err != nil {
		return netip.Addr{}, err
	}
	for _, x := range all {
		p, err := netip.ParsePrefix(x.String())
		if err == nil && p.Addr().Is6() == ipv6 && !p.Addr().IsLinkLocalUnicast() {
			return p.Addr(), nil
		}
	}
	return netip.Addr{}, errors.New("the interface has no address of the family")
}

// checkFD checks that a descriptor which the user has named is open, and keeps it from the programs
// that this one starts. A negative one is none.
func checkFD(flag string, fd int) error {
	if fd < 0 {
		return nil
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC); err != nil {
		return usagef("--%s %d: %w", flag, fd, err)
	}
	return nil
}

// run serves until the user stops it, the exit descriptor is closed or the namespace has ended.
func (w *slirpFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	limitMemory()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l, err := w.openLink(ctx, stderr)
	if err != nil {
		return err
	}
	cfg := slirp.Config{Link: l, Network: w.network, Host: w.host, StartTCP: w.host.StartTCP,
		NoHostLoopback: w.noHostLoopback}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return errors.Join(os.NewSyscallError("getrlimit", err), l.Close())
	}
	cfg.Connections, cfg.Flows = shares(limit.Cur)
	if !w.noDNS {
		cfg.Resolvers = slirp.NewResolvConf(w.resolvConf).Servers
		if w.hosts != "" {
			cfg.Hosts = slirp.NewHosts(w.hosts).Lookup
		}
	}
	if w.verbose {
		cfg.Log = func(format string, args ...any) {
			fmt.Fprintf(stderr, "gonet: "+format+"\n", args...)
		}
	}
	s, err := slirp.New(cfg)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	w.endWith(cancel)
	apiEnded := make(chan error, 1)
	if w.api == "" {
		apiEnded <- nil
	} else {
		api, err := listenAPI(w.api)
		if err != nil {
			cancel()
			return errors.Join(err, s.Serve(ctx))
		}
		go func() { // ends with ctx
			defer cancel()
			apiEnded <- s.ServeAPI(ctx, api)
		}()
	}
	if w.seccomp {
		if err := forbidCalls(); err != nil {
			fmt.Fprintln(stderr, "gonet: --enable-seccomp has no effect here:", err)
		}
	}
	w.describe(stdout, l)
	if err := w.ready(); err != nil {
		cancel()
		return errors.Join(err, <-apiEnded, s.Serve(ctx))
	}
	err = s.Serve(ctx)
	cancel()
	if errors.Is(err, unix.EBADFD) {
		fmt.Fprintf(stderr, "gonet: %s was deleted, or its network namespace has ended\n",
			w.tap.Name)
		err = nil
	}
	return errors.Join(err, <-apiEnded)
}

// softMemory is the size of this process, in bytes, at which garbage is collected before the heap
// has doubled. A guest can make it hold about 150 MiB by connections, so it is above that: below,
// the collection would take half of the processor time.
const softMemory = 192 << 20

// limitMemory keeps the process small, unless the user has set a limit.
func limitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(softMemory)
	}
}

// The most connections and flows of datagrams of a guest, and the descriptors that are kept for all
// else: 256 queries and 128 pings of a guest, and port forwards.
const (
	mostConnections = 4096
	mostFlows       = 1024
	keptDescriptors = 512
)

// shares returns how many connections and flows a guest may have if the process may have so many
// descriptors. A guest that takes its share must not keep port forwards from accepting. A flow has
// two descriptors while another takes its place.
func shares(descriptors uint64) (connections, flows int) {
	rest := max(int(min(descriptors, 1<<20))-keptDescriptors, 3)
	return min(mostConnections, rest/3*2), min(mostFlows, max(rest/3/2, 1))
}

// openLink opens the link to the guest: a tap in its namespace, or a descriptor.
func (w *slirpFlags) openLink(ctx context.Context, stderr io.Writer) (link.Link, error) {
	if w.netnsType == "tapfd" {
		fd, err := strconv.Atoi(w.target)
		if err != nil {
			return nil, err
		}
		return openDescriptor(fd, w.tap.MTU)
	}
	fd, err := w.tap.open(ctx, w.target, w.userns, stderr)
	if err != nil {
		return nil, err
	}
	if w.sandbox {
		err := w.enterSandbox(fd, stderr) // returns only if it fails
		fmt.Fprintln(stderr, "gonet: --enable-sandbox has no effect here:", err)
	}
	t, err := link.NewTap(fd, w.tap.MTU)
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return t, nil
}

// endWith has the exit descriptor end the process, if there is one. Like slirp4netns it does so for
// any event: the end of a pipe, or data.
func (w *slirpFlags) endWith(cancel context.CancelFunc) {
	if w.exitFD < 0 {
		return
	}
	f := os.NewFile(uintptr(w.exitFD), "exit-fd")
	go func() { // ends with the descriptor, or with the process
		_, _ = f.Read(make([]byte, 1)) // an error is an event, too
		cancel()
	}()
}

// ready tells the ready descriptor, if there is one, that the guest has its network.
func (w *slirpFlags) ready() error {
	if w.readyFD < 0 {
		return nil
	}
	f := os.NewFile(uintptr(w.readyFD), "ready-fd")
	_, err := f.WriteString("1")
	return errors.Join(err, f.Close())
}

// listenAPI listens at a Unix socket for the user alone. A socket that a killed process has left is
// removed, one that is in use is not.
func listenAPI(path string) (net.Listener, error) {
	if c, err := net.Dial("unix", path); err == nil {
		return nil, errors.Join(fmt.Errorf("--api-socket %s: another process serves it", path),
			c.Close())
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// describe prints the addresses.
func (w *slirpFlags) describe(out io.Writer, l link.Link) {
	line := func(name string, value any) { fmt.Fprintf(out, "%-9s %v\n", name, value) }
	n := &w.network
	line("guest", w.tap.Name)
	line("mtu", l.Features().MTU)
	line("network", n.Prefix)
	line("gateway", n.Gateway)
	if !w.noDNS {
		line("names", n.DNS)
	}
	if w.ipv6 {
		line("network6", n.Prefix6)
	}
	if w.api != "" {
		line("api", w.api)
	}
	line("ready", "Ctrl-C ends it")
}
