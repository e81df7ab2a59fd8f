package torture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A storm is a time in which all sessions log in. Any goroutine may use it.
type storm struct {
	began    time.Time
	sessions int
	done     chan struct{} // closed when all are in and have read their histories

	mu     sync.Mutex
	ins    []time.Duration // until a session was registered
	reads  []time.Duration // until it had its histories, too
	served time.Duration   // until a message of a registered session was acknowledged; 0: none was
	away   map[string]int  // why sessions were turned away
}

// begin begins a storm. What the onlooker and those who talk have measured before is forgotten.
func (r *rush) begin(at time.Time) *storm {
	s := &storm{began: at, sessions: len(r.devices), done: make(chan struct{}),
		away: map[string]int{}}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.storm, r.pings, r.waits, r.lates = s, nil, nil, nil
	return s
}

// current returns the storm that is under way, or was last; nil if none was.
func (r *rush) current() *storm {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.storm
}

// await waits until all sessions are in and have read their histories.
func (r *rush) await(ctx context.Context, s *storm) error {
	err := r.wait(ctx, s.done, func() int64 {
		s.mu.Lock()
		defer s.mu.Unlock()
		return int64(len(s.ins) + len(s.reads))
	})
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		return fmt.Errorf("%d of %d sessions are in, and %d have their histories (%s): %w",
			len(s.ins), s.sessions, len(s.reads), s.reasons(), err)
	}
	return nil
}

func (s *storm) enter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ins = append(s.ins, time.Since(s.began))
}

func (s *storm) read() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reads = append(s.reads, time.Since(s.began)); len(s.reads) == s.sessions {
		close(s.done)
	}
}

// turnedAway counts a session that the server did not take.
func (s *storm) turnedAway(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away[why]++
}

// serve notes an acknowledged message of a session that is in.
func (s *storm) serve() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.served == 0 {
		s.served = time.Since(s.began)
	}
}

// firstServed returns when the first message was acknowledged.
func (s *storm) firstServed() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.served
}

// span returns when the first session was registered, and the last one.
func (s *storm) span() (first, last time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ins) == 0 {
		return 0, 0
	}
	return s.ins[0], s.ins[len(s.ins)-1]
}

// reasons lists why sessions were turned away. The caller holds mu.
func (s *storm) reasons() string {
	var list []string
	for _, why := range slices.Sorted(maps.Keys(s.away)) {
		list = append(list, fmt.Sprintf("%d times %q", s.away[why], why))
	}
	if list == nil {
		return "none was turned away"
	}
	return "turned away " + strings.Join(list, ", ")
}

// tellStorm tells how long all sessions took to log in.
func (r *rush) tellStorm(ctx context.Context, what string, s *storm) error {
	f, err := r.figures(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	r.Tell(fmt.Sprintf("%d sessions %s: %s; %s", s.sessions, what, spread(s.ins), s.reasons()))
	if r.furnished.Load() {
		r.Tell("they have the newest messages of their rooms: " + spread(s.reads))
	}
	s.mu.Unlock()
	r.tellPings()
	r.Tell("the server until then: " + f.String())
	return nil
}

// tellPings tells how long the onlooker has waited meanwhile, and how late this program was: that
// much of each time is not the server's.
func (r *rush) tellPings() {
	r.mu.Lock()
	pings, lates := r.pings, r.lates
	r.pings, r.lates = nil, nil
	r.mu.Unlock()
	if len(pings) > 0 {
		r.Tell(fmt.Sprintf("meanwhile %d PINGs of another client were answered: %s", len(pings),
			spread(pings)))
	}
	text := "the clients' own program was late: " + spread(lates)
	if u := usageOf(os.Getpid()); u.cpu > 0 {
		text += fmt.Sprintf("; it has used %v of CPU time until then", round(u.cpu))
	}
	r.Tell(text)
}

// spread describes times: the median, the 99th percentile, the longest.
func spread(all []time.Duration) string {
	if len(all) == 0 {
		return "(nothing)"
	}
	sorted := slices.Sorted(slices.Values(all))
	at := func(percent int) time.Duration { return round(sorted[(len(sorted)-1)*percent/100]) }
	return fmt.Sprintf("half within %v, 99 %% within %v, all within %v", at(50), at(99), at(100))
}

// figures are what the server uses.
type figures struct {
	clients, goroutines int
	usage
}

func (f figures) String() string {
	text := fmt.Sprintf("%d connections, %d goroutines", f.clients, f.goroutines)
	if f.resident > 0 {
		text += fmt.Sprintf(", %d MiB resident, %d MiB at most, %v of CPU time", f.resident>>20,
			f.peak>>20, round(f.cpu))
	}
	return text
}

// figures asks the server for its metrics, and the kernel for its memory.
func (r *rush) figures(ctx context.Context) (f figures, err error) {
	var text bytes.Buffer
	if err := r.admin.Metrics(ctx, &text); err != nil {
		return f, fmt.Errorf("reading the metrics: %w", err)
	}
	for name, value := range map[string]*int{"papaya_clients": &f.clients,
		"papaya_goroutines": &f.goroutines} {
		_, after, found := strings.Cut(text.String(), "\n"+name+" ")
		word, _, _ := strings.Cut(after, "\n")
		n, err := strconv.ParseFloat(word, 64)
		if !found || err != nil {
			return f, fmt.Errorf("the metrics lack %s", name)
		}
		*value = int(n)
	}
	f.usage = r.server.usage()
	return f, nil
}

// tellMemory tells what the server takes while all sessions listen.
func (r *rush) tellMemory(ctx context.Context) error {
	f, err := r.figures(ctx)
	if err != nil {
		return err
	}
	each := ""
	if f.resident > 0 && f.clients > 0 {
		each = fmt.Sprintf("; %.1f KiB for each session, all in all",
			float64(f.resident)/1024/float64(f.clients))
	}
	r.Tell("all are quiet: " + f.String() + each)
	return nil
}

// leftGoroutines is how many goroutines more than at the start may be left. A guess: the log's own
// come and go.
const leftGoroutines = 20

// leavesNothing waits until the server has no connections left, and no more goroutines than before.
func (r *rush) leavesNothing(ctx context.Context, before figures) error {
	late := time.After(patience)
	for {
		f, err := r.figures(ctx)
		if err != nil {
			return err
		}
		if f.clients == 0 && f.goroutines <= before.goroutines+leftGoroutines {
			r.Tell("all have left: " + f.String())
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		case <-late:
			return fmt.Errorf("all have left, and %v after it the server has %v; at its start it "+
				"had %d goroutines", patience, f, before.goroutines)
		}
	}
}

// checkText looks for each acknowledged message in the text of the server, which has ended.
func (r *rush) checkText() error {
	all, err := messagesIn(filepath.Join(r.Folder, "data", "log"))
	if err != nil {
		return fmt.Errorf("reading the text: %w", err)
	}
	times := map[string]int{}
	for _, m := range all {
		times[m.In+" "+m.Text]++
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var wrong []error
	for text, room := range r.acked {
		if n := times[room+" "+text]; n != 1 {
			wrong = append(wrong, fmt.Errorf("%q in %s was acknowledged, and is there %d times",
				text, room, n))
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%d acknowledged messages are lost or there twice: %w", len(wrong),
			errors.Join(wrong[:min(len(wrong), 10)]...))
	}
	r.Tell(fmt.Sprintf("%d messages were acknowledged, and each is in the text once", len(r.acked)))
	return nil
}
