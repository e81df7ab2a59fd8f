package push

import (
	"slices"
	"time"

	"interleave/papaya/hall"
)

// Limits of what waits. A device that cannot be reached loses the oldest of its pushes: the
// messages themselves are in the history. All are guesses.
const (
	grace      = 10 * time.Second // for a session to read a message before devices are told
	maxWaiting = 1000             // messages in their grace
	maxQueued  = 16               // pushes of one device
	maxSending = 64               // requests at a time
	maxTries   = 5                // of one push
	maxAge     = 24 * time.Hour   // of one push, here and at the push service
	firstPause = time.Second      // after a failure; it doubles with each further one
	mostPause  = time.Hour        // also where a service asks for a longer one
)

// A queue says which push is sent when. It is a machine: it is given the time, and does no I/O.
type queue struct {
	waiting []waiting // in the order of their ends
	lanes   map[string]*lane
	sending int
	// devices returns the subscriptions of an account, and device the present one of an endpoint.
	devices func(account string) []Subscription
	device  func(endpoint string) (Subscription, bool)
	// admits says whether the rate of a device allows one more.
	admits func(endpoint string) bool
	count  func(result string)
}

// A waiting message is told to devices at a time, unless somebody reads it before.
type waiting struct {
	notice hall.Notice
	at     time.Time
}

// A laneState is what a lane is about.
type laneState int

const (
	ready   laneState = iota // the next push may be sent
	sending                  // a request is under way
	pausing                  // until a time, after a failure
)

// A lane has the pushes of one endpoint, which are sent one after another.
type lane struct {
	device   Subscription // that of the request that is under way
	notices  []queued
	state    laneState
	until    time.Time
	tries    int // of the first push
	failures int // since the last success
}

// A queued push may be sent until a time.
type queued struct {
	notice hall.Notice
	until  time.Time
}

// An outcome is what has become of a request.
type outcome int

const (
	delivered outcome = iota
	gone              // the push service knows no such subscription: it never will again
	refused           // it does not take this push
	failed            // it may take it later
)

// add takes a message that an account may miss.
func (q *queue) add(n hall.Notice, now time.Time) {
	at := now
	if n.Online {
		at = now.Add(grace)
	}
	i := len(q.waiting)
	for i > 0 && q.waiting[i-1].at.After(at) {
		i--
	}
	q.waiting = slices.Insert(q.waiting, i, waiting{n, at})
	if len(q.waiting) > maxWaiting {
		q.waiting = slices.Delete(q.waiting, 0, 1)
		q.count("dropped")
	}
}

// seen forgets what an account has read: messages up to a time, in milliseconds since 1970.
func (q *queue) seen(account, target string, until int64) {
	q.forget(func(n hall.Notice) bool {
		return n.Account == account && n.Target == target && n.Time <= until
	})
}

// forget takes back messages that are chosen. A push that is being sent is not stopped.
func (q *queue) forget(chosen func(hall.Notice) bool) {
	q.waiting = slices.DeleteFunc(q.waiting, func(w waiting) bool { return chosen(w.notice) })
	for _, l := range q.lanes {
		l.remove(func(one queued) bool { return chosen(one.notice) })
	}
}

// remove removes pushes that are chosen, but not the one that is being sent.
func (l *lane) remove(chosen func(queued) bool) (removed int) {
	from := 0
	if l.state == sending {
		from = 1
	} else if len(l.notices) > 0 && chosen(l.notices[0]) {
		l.tries = 0
	}
	before := len(l.notices)
	rest := slices.DeleteFunc(l.notices[from:], chosen)
	l.notices = l.notices[:from+len(rest)]
	return before - len(l.notices)
}

// step moves messages whose grace has ended to the lanes of their account's devices, and returns
// the lanes whose first push is to be sent now. The caller tells done of each. next is when step
// must be called again, or zero.
func (q *queue) step(now time.Time) (send []*lane, next time.Time) {
	due := 0
	for due < len(q.waiting) && !q.waiting[due].at.After(now) {
		q.enqueue(q.waiting[due].notice, now)
		due++
	}
	q.waiting = slices.Delete(q.waiting, 0, due)
	if len(q.waiting) > 0 {
		next = q.waiting[0].at
	}
	for endpoint, l := range q.lanes {
		if l.state == pausing && !l.until.After(now) {
			l.state = ready
		}
		switch l.state {
		case sending:
		case pausing:
			if next.IsZero() || l.until.Before(next) {
				next = l.until
			}
		case ready:
			if q.sending < maxSending && q.begin(endpoint, l, now) {
				send = append(send, l)
			}
		}
	}
	return send, next
}

// begin prepares a lane for a request. It removes a lane that has nothing to send.
func (q *queue) begin(endpoint string, l *lane, now time.Time) bool {
	device, there := q.device(endpoint)
	for range l.remove(func(one queued) bool {
		// The device may have another owner by now.
		return !there || one.notice.Account != device.Account || one.until.Before(now)
	}) {
		q.count("dropped")
	}
	if len(l.notices) == 0 {
		delete(q.lanes, endpoint)
		return false
	}
	l.device, l.state = device, sending
	q.sending++
	return true
}

// enqueue adds a push to the lanes of an account's devices.
func (q *queue) enqueue(n hall.Notice, now time.Time) {
	for _, device := range q.devices(n.Account) {
		if !q.admits(device.Endpoint) {
			q.count("dropped")
			continue
		}
		l := q.lanes[device.Endpoint]
		if l == nil {
			l = &lane{}
			q.lanes[device.Endpoint] = l
		}
		l.notices = append(l.notices, queued{n, now.Add(maxAge)})
		if len(l.notices) <= maxQueued {
			continue
		}
		oldest := 0
		if l.state == sending {
			oldest = 1
		} else {
			l.tries = 0
		}
		l.notices = slices.Delete(l.notices, oldest, oldest+1)
		q.count("dropped")
	}
}

// next is done with the first push of a lane.
func (q *queue) next(l *lane, result string) {
	q.count(result)
	l.notices, l.tries = slices.Delete(l.notices, 0, 1), 0
}

// done takes the outcome of a request. wait is how long the service asks to wait before the next.
func (q *queue) done(l *lane, what outcome, wait time.Duration, now time.Time) {
	q.sending--
	l.state = ready
	switch what {
	case delivered:
		l.failures = 0
		q.next(l, "sent")
	case gone:
		q.count("gone")
		delete(q.lanes, l.device.Endpoint)
	case refused:
		q.next(l, "refused")
	case failed:
		pause := min(firstPause<<min(l.failures, 20), mostPause)
		l.state, l.until = pausing, now.Add(max(pause, min(wait, mostPause)))
		l.failures++
		if l.tries++; l.tries >= maxTries {
			q.next(l, "failed")
		}
	}
}
