package play

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"interleave/internal/netns"
)

// ping are the words of: ping SIZE times COUNT.
type ping struct {
	size  int64 // of an echo request, in bytes
	times int64
}

const (
	// maxPing is the largest datagram of IPv4 without its header and that of ICMP, in bytes.
	maxPing = 65_535 - 20 - 8
	// maxPings bounds the requests of one step. Sent every pingEvery, they take 15 seconds.
	maxPings = 3_000
)

func readPing(l *Line) (p ping, err error) {
	p.times = 1
	if p.size, err = l.Number("the bytes of an echo request", 0, maxPing); err != nil {
		return p, err
	}
	if l.Take("times") {
		p.times, err = l.Number("a number of echo requests", 1, maxPings)
	}
	return p, err
}

// pingEvery is the time between two echo requests. After the last one the command ping waits as
// long once more, or twice the longest round trip. What comes later on a busy machine counts as
// lost.
const pingEvery = 5 * time.Millisecond

// pingStatistics is the line with which ping sums up its requests.
var pingStatistics = regexp.MustCompile(`(\d+) packets transmitted, (\d+) received(.*)`)

const (
	// pingTries is how often all requests are sent again if some were not answered: IP may lose
	// packets, and ping gives up early. A host that loses some each time is at fault.
	pingTries = 4
	// pingWait is how long ping waits for the first answer, at least.
	pingWait = 2 * time.Second
	// pingShare is the part of the transcript's limit that it waits if that is longer. A guess.
	pingShare = 10
)

// errUnanswered is a try in which some requests were not answered.
type errUnanswered struct{ error }

// pings sends echo requests by the command ping, which compares each answer with its request. Every
// request must be answered once.
func pings(ctx context.Context, p *Play, _ string, do ping) (err error) {
	ctx, cancel := context.WithDeadlineCause(ctx, p.Deadline,
		errors.New("ping does not end within the transcript's limit"))
	defer cancel()
	for range pingTries {
		if err = p.pingOnce(ctx, do); !errors.As(err, &errUnanswered{}) {
			break
		}
	}
	return err
}

// pingOnce is one try of ping.
func (p *Play) pingOnce(ctx context.Context, do ping) error {
	wait := max(pingWait, time.Until(p.Deadline)/pingShare)
	cmd := exec.CommandContext(ctx, "ping", "-n", "-q", "-c", strconv.FormatInt(do.times, 10), "-s",
		strconv.FormatInt(do.size, 10), "-i", fmt.Sprint(pingEvery.Seconds()), "-W",
		fmt.Sprint(math.Ceil(wait.Seconds())), p.Server.Host)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the laboratory
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := netns.Do(p.Server.Net.Path("load"), cmd.Start); err != nil {
		return fmt.Errorf("ping cannot be started (%w): apt-get install iputils-ping", err)
	}
	failed := cmd.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	said := strings.Join(strings.Fields(out.String()), " ")
	m := pingStatistics.FindStringSubmatch(said)
	switch {
	case m == nil:
		return fmt.Errorf("ping failed (%w): %s", failed, said)
	case strings.Contains(m[3], "duplicates"), strings.Contains(m[3], "corrupted"):
		return fmt.Errorf("an echo request of %d bytes was answered wrongly, or more than once: %s",
			do.size, said)
	case m[1] != m[2]:
		return errUnanswered{fmt.Errorf("%s of %s echo requests of %d bytes were answered: %s",
			m[2], m[1], do.size, said)}
	}
	return nil
}
