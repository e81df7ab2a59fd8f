package load

// When requests are due: fixed before the start, whatever the server does.

import (
	"math"
	"math/rand/v2"
)

// A schedule yields due times in nanoseconds, in rising order. Constant gaps are computed from the
// request's number, so that no rounding adds up; exponential gaps are drawn from a seeded source.
type schedule struct {
	next  int64 // when the next request is due
	base  int64
	gap   float64 // mean, in ns
	phase float64 // of a gap, where several threads share a rate
	n     uint64  // requests so far
	exact float64 // due time of the next one since base, exponential
	rng   *rand.Rand
	begun bool
	// when its clock was stopped last
	paused int64
}

// newSchedule makes the part-th of parts schedules that together have rate requests a second.
func newSchedule(rate float64, gaps string, seed uint64, part, parts int) *schedule {
	s := &schedule{gap: 1e9 / rate * float64(parts), phase: float64(part) / float64(parts),
		next: never}
	if gaps == "exponential" {
		s.rng = rand.New(rand.NewPCG(seed, uint64(part)))
	}
	return s
}

// begin starts the schedule at a time; the first request is due at once, or a random gap later.
func (s *schedule) begin(at int64) {
	s.base, s.n, s.exact, s.begun = at, 0, 0, true
	if s.rng != nil {
		s.exact = s.rng.ExpFloat64() * s.gap
	}
	s.next = s.due()
}

func (s *schedule) due() int64 {
	if s.rng != nil {
		return s.base + int64(s.exact)
	}
	return s.base + int64(math.Round((float64(s.n)+s.phase)*s.gap))
}

// advance goes on to the next request.
func (s *schedule) advance() {
	s.n++
	if s.rng != nil {
		s.exact += s.rng.ExpFloat64() * s.gap
	}
	s.next = s.due()
}

func (s *schedule) end() { s.next = never }

// pause stops the clock of a schedule, and resume lets it go on: what was due so long after the
// pause is due so long after that. A schedule that has not begun begins.
func (s *schedule) pause(at int64) { s.paused, s.next = at, never }

func (s *schedule) resume(at int64) {
	if !s.begun {
		s.begin(at)
		return
	}
	s.base += at - s.paused
	s.next = s.due()
}

// A ramp says how many connections may be begun by now. A listener's backlog holds 4096: burst
// fills a quarter of it, and perSecond (a guess) is what a server that forks for each client
// accepts on a busy core.
type ramp struct {
	start     int64
	burst     float64
	perSecond float64
}

func newRamp(now int64, threads int) ramp {
	return ramp{start: now, burst: 1024 / float64(threads), perSecond: 4000 / float64(threads)}
}

func (r ramp) allowed(now int64) int {
	return int(r.burst + r.perSecond*float64(now-r.start)/1e9)
}
