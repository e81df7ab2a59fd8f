package push

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"interleave/papaya/hall"
)

// A trial is a queue with a clock of its own. Each account has the devices that devices lists.
type trial struct {
	*queue
	t       *testing.T
	now     time.Time
	owners  map[string]string // endpoint -> account
	results map[string]int
	under   map[string]*lane // requests that are under way
	limited map[string]bool
}

func newTrial(t *testing.T, owners map[string]string) *trial {
	f := &trial{t: t, now: time.Unix(1_000_000, 0), owners: owners, results: map[string]int{},
		under: map[string]*lane{}, limited: map[string]bool{}}
	f.queue = &queue{lanes: map[string]*lane{},
		devices: func(account string) (list []Subscription) {
			for _, endpoint := range slices.Sorted(maps.Keys(f.owners)) {
				if f.owners[endpoint] == account {
					list = append(list, Subscription{Account: account, Endpoint: endpoint})
				}
			}
			return list
		},
		device: func(endpoint string) (Subscription, bool) {
			account, there := f.owners[endpoint]
			return Subscription{Account: account, Endpoint: endpoint}, there
		},
		admits: func(endpoint string) bool { return !f.limited[endpoint] },
		count:  func(result string) { f.results[result]++ }}
	return f
}

// says adds a message to ann.
func (f *trial) says(text string, online bool) {
	f.add(hall.Notice{Account: "ann", Target: "#tea", Text: text, Online: online,
		Time: f.now.UnixMilli()}, f.now)
}

// steps lets a time pass, and returns what is sent then, as "ENDPOINT TEXT".
func (f *trial) steps(d time.Duration) (sent []string) {
	f.t.Helper()
	f.now = f.now.Add(d)
	lanes, next := f.step(f.now)
	for _, l := range lanes {
		if f.under[l.device.Endpoint] != nil {
			f.t.Errorf("%s has two requests at a time", l.device.Endpoint)
		}
		f.under[l.device.Endpoint] = l
		sent = append(sent, l.device.Endpoint+" "+l.notices[0].notice.Text)
	}
	if !next.IsZero() && !next.After(f.now) {
		f.t.Errorf("the next step is at %v, and it is %v", next, f.now)
	}
	slices.Sort(sent)
	return sent
}

// answers ends the request to an endpoint.
func (f *trial) answers(endpoint string, what outcome, wait time.Duration) {
	f.t.Helper()
	l := f.under[endpoint]
	if l == nil {
		f.t.Fatalf("%s has no request", endpoint)
	}
	delete(f.under, endpoint)
	f.done(l, what, wait, f.now)
}

// wants fails the test if other things were sent.
func (f *trial) wants(what string, got []string, want ...string) {
	f.t.Helper()
	if !slices.Equal(got, want) {
		f.t.Errorf("%s: %q is sent, want %q", what, got, want)
	}
}

func TestGrace(t *testing.T) {
	f := newTrial(t, map[string]string{"phone": "ann", "other": "bob"})
	f.says("one", false)
	f.wants("nobody is connected", f.steps(0), "phone one")
	f.answers("phone", delivered, 0)
	f.says("two", true)
	f.wants("somebody may read it", f.steps(grace-1))
	f.says("three", false)
	f.wants("the last session has gone", f.steps(0), "phone three")
	f.answers("phone", delivered, 0)
	f.wants("nobody has read it", f.steps(1), "phone two")
	f.answers("phone", delivered, 0)

	f.says("four", true)
	at := f.now.UnixMilli()
	f.steps(time.Second)
	f.says("five", true)
	f.seen("ann", "#coffee", at+1_000_000)
	f.seen("bob", "#tea", at+1_000_000)
	f.seen("ann", "#tea", at)
	f.wants("one of two is read", f.steps(grace), "phone five")
	f.seen("ann", "#tea", at+1_000_000)
	f.answers("phone", delivered, 0)
	f.wants("all are read or sent", f.steps(time.Hour))
	f.says("six", true)
	f.says("seven", false)
	f.steps(0)
	f.says("eight", false)
	f.answers("phone", failed, 0)
	f.forget(func(n hall.Notice) bool { return n.Text != "eight" })
	f.wants("all but one were removed", f.steps(time.Minute), "phone eight")
	f.answers("phone", delivered, 0)
	f.wants("nothing is left", f.steps(time.Hour))
	if len(f.lanes) != 0 || f.results["sent"] != 5 {
		t.Errorf("%d lanes are left; results %v", len(f.lanes), f.results)
	}
}

// TestReadWhileItWaits: a push that a device could not be given is taken back when it is read on
// another one.
func TestReadWhileItWaits(t *testing.T) {
	f := newTrial(t, map[string]string{"phone": "ann"})
	f.says("one", false)
	f.steps(0)
	f.says("two", false)
	f.steps(0)
	f.answers("phone", failed, 0)
	f.seen("ann", "#tea", f.now.UnixMilli())
	f.wants("both are read", f.steps(time.Hour))
}

// TestDeviceThatCannotBeReached: pushes wait in a bounded number, the newest ones, and are tried
// again after pauses that grow, within bounds.
func TestDeviceThatCannotBeReached(t *testing.T) {
	f := newTrial(t, map[string]string{"phone": "ann", "laptop": "ann"})
	for n := range maxQueued + 5 {
		f.says(fmt.Sprint(n), false)
	}
	got := f.steps(0)
	f.wants("the oldest are dropped", got, "laptop 5", "phone 5")
	pause := firstPause
	for try := 1; ; try++ {
		f.answers("phone", failed, 0)
		if try == maxTries {
			break
		}
		f.wants("too early", f.steps(pause-1))
		f.wants("again", f.steps(1), "phone 5")
		pause *= 2
	}
	f.wants("the first is given up", f.steps(pause), "phone 6")
	f.answers("phone", failed, 100*time.Hour)
	f.wants("a service asks for too long a pause", f.steps(mostPause-1))
	f.wants("it ends", f.steps(1), "phone 6")
	f.answers("phone", refused, 0)
	f.wants("a push is refused", f.steps(0), "phone 7")
	f.answers("phone", delivered, 0)
	f.wants("all well", f.steps(0), "phone 8")
	f.answers("phone", failed, 3*time.Second)
	f.wants("Retry-After counts", f.steps(3*time.Second-1))
	f.wants("Retry-After ends", f.steps(1), "phone 8")
	f.answers("phone", failed, 0)
	f.wants("what is a day old is dropped", f.steps(maxAge+1))
	want := map[string]int{"dropped": 10 + maxQueued - 3, "failed": 1, "refused": 1, "sent": 1}
	if !maps.Equal(f.results, want) {
		t.Errorf("results %v, want %v", f.results, want)
	}
	f.wants("the other device has a lane of its own", f.steps(0))
	f.answers("laptop", delivered, 0)
}

// TestManyAtATime: requests are bounded, and all lanes get their turn.
func TestManyAtATime(t *testing.T) {
	owners := map[string]string{}
	for n := range 3 * maxSending {
		owners[fmt.Sprintf("device%d", n)] = "ann"
	}
	f := newTrial(t, owners)
	f.says("one", false)
	seen := map[string]bool{}
	for range 3 {
		sent := f.steps(0)
		if len(sent) != maxSending {
			t.Fatalf("%d requests at a time, want %d", len(sent), maxSending)
		}
		for _, s := range sent {
			endpoint, _, _ := strings.Cut(s, " ")
			seen[endpoint] = true
			f.answers(endpoint, delivered, 0)
		}
	}
	if len(seen) != len(owners) {
		t.Errorf("%d devices were told, want %d", len(seen), len(owners))
	}
}

// TestDeviceThatChanges: what was for one account is not sent to the next owner of the device, nor
// to a device that was removed.
func TestDeviceThatChanges(t *testing.T) {
	f := newTrial(t, map[string]string{"phone": "ann", "old": "ann"})
	f.says("one", false)
	f.says("two", false)
	f.steps(0)
	f.owners["phone"] = "bob"
	delete(f.owners, "old")
	f.answers("phone", failed, 0)
	f.answers("old", gone, 0)
	f.wants("it is bob's now", f.steps(time.Hour))
	if len(f.lanes) != 0 || f.results["gone"] != 1 {
		t.Errorf("%d lanes are left; results %v", len(f.lanes), f.results)
	}
	f.owners["phone"], f.limited["phone"] = "ann", true
	f.says("three", false)
	f.wants("the rate is bounded", f.steps(0))
	for range maxWaiting + 10 {
		f.says("flood", true)
	}
	if len(f.waiting) != maxWaiting {
		t.Errorf("%d messages wait, want %d", len(f.waiting), maxWaiting)
	}
}
