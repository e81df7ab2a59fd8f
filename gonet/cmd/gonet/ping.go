package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"os"
	"time"

	"github.com/spf13/cobra"

	"interleave/gonet/wire"
)

// pingFlags holds the flags of ping.
type pingFlags struct {
	count    int
	size     int
	interval float64
	wait     float64
	quiet    bool
}

// leastInterval is the least interval in seconds, so that the number of outstanding requests is
// bounded. It is that of ping(8) for users other than root.
const leastInterval = 0.002

func pingCommand() *cobra.Command {
	var w hostFlags
	var p pingFlags
	c := &cobra.Command{
		Use:   "ping HOST",
		Short: "ping a host through the stack",
		Args:  cobra.ExactArgs(1),
		Example: `  sudo gonet ping 10.9.0.1
  sudo gonet ping -c 100 -i 0.01 -s 1400 10.9.0.1
  unshare -rn gonet ping -c 3 10.9.0.1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case p.interval < leastInterval:
				return usagef("-i %v: at least %v s", p.interval, leastInterval)
			case p.size < 0 || p.size > 65507:
				return usagef("-s %d: from 0 to 65507 bytes", p.size)
			case p.wait <= 0 || p.count < 0:
				return usagef("-W must be positive, and -c not negative")
			}
			return w.with(cmd.Context(), cmd.ErrOrStderr(), func(h *host) error {
				return h.ping(cmd.Context(), cmd.OutOrStdout(), args[0], &p)
			})
		},
	}
	f := c.Flags()
	f.IntVarP(&p.count, "count", "c", 0, "how many; 0: until Ctrl-C")
	f.IntVarP(&p.size, "size", "s", 56, "bytes of payload")
	f.Float64VarP(&p.interval, "interval", "i", 1, "seconds between two requests")
	f.Float64VarP(&p.wait, "wait", "W", 5, "seconds to wait for a reply")
	f.BoolVarP(&p.quiet, "quiet", "q", false, "print the summary only")
	w.flags(f)
	return c
}

// echo is the result of one request.
type echo struct {
	seq  int
	trip time.Duration
	err  error
}

// ping sends a request in each interval, whether or not the last one was answered, and prints the
// output of ping(8).
func (h *host) ping(ctx context.Context, out io.Writer, name string, p *pingFlags) error {
	to, err := h.lookup(ctx, name)
	if err != nil {
		return err
	}
	headers := wire.IPv4Len + wire.ICMPLen
	if to.Is6() {
		headers = wire.IPv6Len + wire.ICMPLen
	}
	fmt.Fprintf(out, "PING %s (%v) %d(%d) bytes of data.\n", name, to, p.size, p.size+headers)
	answers := make(chan echo)
	// pending counts the requests without a result. Those that are outstanding when the user stops
	// are cancelled.
	sent, pending := 0, 0
	var sum summary
	tick := time.NewTicker(time.Duration(p.interval * float64(time.Second)))
	defer tick.Stop()
	start := time.Now()
	send := func() {
		sent, pending = sent+1, pending+1
		go h.echo(ctx, answers, to, sent, p)
	}
	send()
	due, stopped := tick.C, ctx.Done()
	for pending > 0 || due != nil {
		if p.count > 0 && sent == p.count {
			due = nil
		}
		if pending == 0 && due == nil {
			break
		}
		select {
		case <-due:
			send()
		case e := <-answers:
			pending--
			sum.take(e, out, to, p)
		case <-stopped:
			due, stopped = nil, nil
		case <-h.Stack.Done():
			return h.ended()
		}
	}
	sum.print(out, name, sent, time.Since(start))
	if sum.received == 0 {
		return errReported
	}
	return nil
}

// echo is the goroutine of one request. It ends with the reply, or after p.wait seconds.
func (h *host) echo(ctx context.Context, answers chan<- echo, to netip.Addr, seq int,
	p *pingFlags) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(p.wait*float64(time.Second)))
	defer cancel()
	trip, err := h.Stack.Ping(ctx, to, p.size)
	select {
	case answers <- echo{seq, trip, err}:
	case <-h.Stack.Done():
	}
}

// summary holds sums over all replies, in milliseconds.
type summary struct {
	received            int
	least, most         float64
	total, totalSquares float64
}

func (s *summary) take(e echo, out io.Writer, to netip.Addr, p *pingFlags) {
	if e.err != nil {
		if !p.quiet && !errors.Is(e.err, context.Canceled) {
			said := e.err.Error()
			if errors.Is(e.err, os.ErrDeadlineExceeded) ||
				errors.Is(e.err, context.DeadlineExceeded) {
				said = fmt.Sprintf("no answer from %v", to)
			}
			fmt.Fprintf(out, "icmp_seq=%d: %s\n", e.seq, said)
		}
		return
	}
	ms := float64(e.trip) / float64(time.Millisecond)
	if !p.quiet {
		fmt.Fprintf(out, "%d bytes from %v: icmp_seq=%d time=%.3f ms\n", p.size+8, to, e.seq, ms)
	}
	if s.received == 0 || ms < s.least {
		s.least = ms
	}
	s.received++
	s.most = max(s.most, ms)
	s.total += ms
	s.totalSquares += ms * ms
}

func (s *summary) print(out io.Writer, name string, sent int, took time.Duration) {
	loss := 100 * float64(sent-s.received) / float64(sent)
	fmt.Fprintf(out,
		"\n--- %s ping statistics ---\n%d packets transmitted, %d received, %.3g%% packet loss, "+
			"time %dms\n",
		name, sent, s.received, loss, took.Milliseconds())
	if s.received > 0 {
		mean := s.total / float64(s.received)
		deviation := math.Sqrt(max(s.totalSquares/float64(s.received)-mean*mean, 0))
		fmt.Fprintf(out, "rtt min/avg/max/mdev = %.3f/%.3f/%.3f/%.3f ms\n", s.least, mean, s.most,
			deviation)
	}
}
