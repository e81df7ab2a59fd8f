package play

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"interleave/internal/netns"
)

// pingEvery is between two echo requests. After the last one ping waits as long once more, or twice
// the longest round trip: what a busy machine hands over later counts as lost.
const pingEvery = 5 * time.Millisecond

// pingStatistics is the line of ping that says what came of all requests.
var pingStatistics = regexp.MustCompile(`(\d+) packets transmitted, (\d+) received(.*)`)

const (
	// pingTries is how often requests are sent that are not all answered: IP may lose packets, and
	// ping gives up early. A host that loses some each time is at fault.
	pingTries = 4
	// pingWait is for the first answer of a try.
	pingWait = 2 * time.Second
)

// errUnanswered is a try in which not all requests were answered.
type errUnanswered struct{ error }

// ping sends echo requests with the ping command, which holds each answer against what it sent.
// Every one must be answered once.
func (p *play) ping(ctx context.Context, do *ping) (err error) {
	ctx, cancel := context.WithDeadlineCause(ctx, p.deadline,
		errors.New("ping does not end within the transcript's limit"))
	defer cancel()
	for range pingTries {
		if err = p.pingOnce(ctx, do); !errors.As(err, &errUnanswered{}) {
			break
		}
	}
	return err
}

func (p *play) pingOnce(ctx context.Context, do *ping) error {
	cmd := exec.CommandContext(ctx, "ping", "-n", "-q", "-c", strconv.FormatInt(do.times, 10), "-s",
		strconv.FormatInt(do.size, 10),
		"-i", fmt.Sprint(pingEvery.Seconds()), "-W", fmt.Sprint(pingWait.Seconds()), p.server.Host)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the laboratory
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := netns.Do(p.server.Net.Path("load"), cmd.Start); err != nil {
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
