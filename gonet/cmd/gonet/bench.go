package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

// benchFlags holds the flags of bench.
type benchFlags struct {
	rounds int
	time   time.Duration
	pings  int
	tun    bool
	inside bool
}

func benchCommand() *cobra.Command {
	var b benchFlags
	c := &cobra.Command{
		Use:   "bench",
		Short: "measure bulk TCP both ways and the round trip between the stack and this kernel",
		Args:  cobra.NoArgs,
		Long: `Measure bulk TCP both ways and the round trip between the stack and this kernel, over a tap in a network
namespace of its own, which ends with it. Rounds alternate between what is measured; the table has medians.`,
		Example: `  gonet bench
  gonet bench --rounds 11 --time 3s`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if b.rounds < 1 || b.time <= 0 || b.pings < 1 {
				return usagef("bench: --rounds, --time and --pings must be positive")
			}
			if b.inside {
				return b.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			return b.enter(cmd)
		},
	}
	f := c.Flags()
	f.IntVar(&b.rounds, "rounds", 5, "how often each transfer is measured")
	f.DurationVar(&b.time, "time", time.Second, "how long each transfer lasts")
	f.IntVar(&b.pings, "pings", 1000, "pings in each round")
	f.BoolVar(&b.tun, "tun", false, "over a tun in place of a tap")
	f.BoolVar(&b.inside, "inside", false, "measure in this network namespace")
	return c
}

// enter runs the command again in a network namespace of its own, which ends with it. Without the
// privilege for one it makes a user namespace too.
func (b *benchFlags) enter(cmd *cobra.Command) error {
	args := []string{"bench", "--inside", "--rounds", strconv.Itoa(b.rounds), "--time",
		b.time.String(), "--pings", strconv.Itoa(b.pings),
		"--tun=" + strconv.FormatBool(b.tun)}
	try := func(user bool) error {
		c := exec.CommandContext(cmd.Context(), "/proc/self/exe", args...)
		c.Args[0] = os.Args[0]
		c.Stdout, c.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
		c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
		c.WaitDelay = ipTime
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET,
			Pdeathsig: syscall.SIGTERM}
		if user {
			c.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
			c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(),
				Size: 1}}
			c.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(),
				Size: 1}}
		}
		return c.Run()
	}
	err := try(false)
	if errors.Is(err, syscall.EPERM) {
		if err = try(true); errors.Is(err, syscall.EPERM) {
			return fmt.Errorf("no network namespace: %w: run it as root, or allow "+
				"user namespaces", err)
		}
	}
	if err := cmd.Context().Err(); err != nil {
		return err
	}
	if status, ok := errors.AsType[*exec.ExitError](err); ok && status.ExitCode() > 0 {
		return errReported
	}
	return err
}

// benchPort is the port of the kernel's side, in a namespace in which nothing else listens.
const benchPort = 5001

// run measures on a tap or a tun with the default addresses.
func (b *benchFlags) run(ctx context.Context, out, log io.Writer) error {
	w := hostFlags{tap: defaultTap, addresses: []string{"10.9.0.2/24"}}
	if b.tun {
		w.tun = defaultTap
	}
	return w.with(ctx, log, func(h *host) error {
		kernel := h.plan.kernel[0].Addr()
		l, err := net.Listen("tcp", hostPort(kernel, benchPort))
		if err != nil {
			return err
		}
		defer func() { _ = l.Close() }()
		var in, up, half, most []float64
		for range b.rounds {
			for _, inward := range []bool{true, false} {
				rate, err := h.bulk(ctx, l, inward, b.time)
				if err != nil {
					return err
				}
				if inward {
					in = append(in, rate)
				} else {
					up = append(up, rate)
				}
			}
			trips, err := h.trips(ctx, kernel, b.pings)
			if err != nil {
				return err
			}
			half, most = append(half, trips[len(trips)/2]), append(most, trips[len(trips)*99/100])
		}
		t := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
		fmt.Fprintf(t, "\tmedian\tleast\tmost\t\n")
		for _, row := range []struct {
			name   string
			values []float64
		}{
			{"TCP from the kernel, Gbit/s", in}, {"TCP to the kernel, Gbit/s", up},
			{"ping, median, us", half}, {"ping, 99 %, us", most},
		} {
			slices.Sort(row.values)
			n := len(row.values)
			middle := (row.values[(n-1)/2] + row.values[n/2]) / 2
			fmt.Fprintf(t, "%s\t%.1f\t%.1f\t%.1f\t\n", row.name, middle, row.values[0],
				row.values[n-1])
		}
		if err := t.Flush(); err != nil {
			return err
		}
		_, err = fmt.Fprintf(out,
			"%d rounds of %v a transfer, one connection, and %d pings; MTU %d, super-frames %v\n",
			b.rounds, b.time, b.pings, h.tap.Features().MTU, h.tap.Features().TCPv4)
		return err
	})
}

// bulk transfers bytes for the given time, and returns the rate at which they were read, in Gbit/s.
func (h *host) bulk(ctx context.Context, l net.Listener, inward bool,
	lasts time.Duration) (float64, error) {
	near, err := h.DialContext(ctx, "tcp", l.Addr().String())
	if err != nil {
		return 0, err
	}
	defer func() { _ = near.Close() }()
	far, err := l.Accept()
	if err != nil {
		return 0, err
	}
	defer func() { _ = far.Close() }()
	defer context.AfterFunc(ctx, func() { _, _ = near.Close(), far.Close() })()
	from, to := near, far
	if inward {
		from, to = far, near
	}
	start := time.Now()
	written := make(chan error, 1)
	go func() { // ends after lasts, or with the connection
		p := make([]byte, 1<<20)
		var err error
		for err == nil && time.Since(start) < lasts {
			_, err = from.Write(p)
		}
		if err == nil {
			err = from.(interface{ CloseWrite() error }).CloseWrite()
		}
		written <- err
	}()
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{to},
		make([]byte, 256<<10))
	took := time.Since(start)
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	return float64(n) * 8 / 1e9 / took.Seconds(), errors.Join(err, <-written)
}

// trips returns sorted round-trip times in microseconds.
func (h *host) trips(ctx context.Context, to netip.Addr, count int) ([]float64, error) {
	list := make([]float64, 0, count)
	for range count {
		one, cancel := context.WithTimeout(ctx, 5*time.Second)
		trip, err := h.Stack.Ping(one, to, 56)
		cancel()
		if err != nil {
			return nil, err
		}
		list = append(list, float64(trip)/float64(time.Microsecond))
	}
	slices.Sort(list)
	return list, nil
}
