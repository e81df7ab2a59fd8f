package load

// The engine: its threads, the steps they take together, and the sum of what they counted.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// shared is the state that the threads of an engine share.
type shared struct {
	parts   int
	apart   bool           // each thread has a table of descriptors of its own
	working sync.WaitGroup // that have not ended, if apart
	// requests are due at times fixed before the start
	scheduled bool
	stopFD    int // an eventfd; readable when all must stop
	emit      func(Event)
	atOpen    atomic.Int32 // threads that have come so far
	atClose   atomic.Int32
	roll      *roll  // nil unless the load is of stints
	wakes     []bell // a thread's each, of a load of stints
	job       job
}

// pass reports a stage when the last thread has come to it.
func (s *shared) pass(at *atomic.Int32, stage Stage) {
	if int(at.Add(1)) == s.parts {
		s.emit(Event{At: stage})
	}
}

// An engine runs one plan, once.
type engine struct {
	plan    Plan
	shared  shared
	workers []*worker
	stopped atomic.Bool
	wrong   atomic.Pointer[error] // what was asked and could not be done
	mu      sync.Mutex            // over closed and the descriptor that it tells of
	closed  bool
}

func newEngine(p Plan, emit func(Event)) (*engine, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("reading the load's plan: %w", err)
	}
	known, err := protocolOf(&p)
	if err != nil {
		return nil, err
	}
	parts, apart, err := p.threads(known)
	if err != nil {
		return nil, err
	}
	if err := introduce(p.Sources, p.Addr.Addr()); err != nil {
		return nil, err
	}
	e := &engine{plan: p}
	e.shared.parts, e.shared.apart = parts, apart
	e.shared.emit = emit
	e.shared.scheduled = known.family.Interval(p.Load) > 0
	if e.shared.job, err = known.prepare(&e.plan); err != nil {
		return nil, err
	}
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("creating an eventfd: %w", err)
	}
	e.shared.stopFD = fd
	if p.Stints {
		if err := e.takeStints(); err != nil {
			e.close()
			return nil, err
		}
	}
	for i := range e.shared.parts {
		w, err := newWorker(&e.shared, &e.plan, i)
		if err != nil {
			e.close()
			return nil, err
		}
		e.workers = append(e.workers, w)
	}
	return e, nil
}

// takeStints prepares a load of stints.
func (e *engine) takeStints() error {
	e.shared.roll = newRoll(e.shared.parts)
	for range e.shared.parts {
		b, err := newBell()
		if err != nil {
			return err
		}
		e.shared.wakes = append(e.shared.wakes, b)
	}
	return nil
}

// stint begins a stint. Any goroutine may call it.
func (e *engine) stint(s Stint) error {
	if e.shared.roll == nil {
		return errors.New("a stint was asked of a load that has none")
	}
	err := e.shared.roll.ask(s)
	if err == nil {
		e.wakeAll()
	}
	return err
}

// finish ends a load of stints.
func (e *engine) finish() {
	e.shared.roll.ending.Store(true)
	e.wakeAll()
}

func (e *engine) wakeAll() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	for _, b := range e.shared.wakes {
		b.ring()
	}
}

// stop ends all threads at once. Any goroutine may call it.
func (e *engine) stop() {
	e.stopped.Store(true)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(e.shared.stopFD, one[:])
}

func (e *engine) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	for _, w := range e.workers {
		if !e.shared.apart {
			w.close()
		}
	}
	unix.Close(e.shared.stopFD)
	for _, b := range e.shared.wakes {
		b.close()
	}
}

var errStopped = errors.New("stopped before the load had ended")

// run opens the connections, waits for start, and makes the load. It collects garbage before
// and not during it.
func (e *engine) run(start <-chan struct{}) (*Result, error) {
	limitAt := nanotime() + int64(e.plan.Limit)
	limit := time.NewTimer(e.plan.Limit)
	defer limit.Stop()
	var connected, ended sync.WaitGroup
	connected.Add(len(e.workers))
	e.shared.working.Add(len(e.workers))
	begin := make(chan int64, len(e.workers))
	tuned := make([]error, len(e.workers))
	for i, w := range e.workers {
		ended.Go(func() { tuned[i] = w.run(limitAt, &connected, begin) })
	}
	connected.Wait()
	err := e.awaitStart(start, limit.C)
	if err != nil {
		close(begin)
		ended.Wait()
		return e.partial(), errors.Join(append(tuned, err)...)
	}
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	now := nanotime()
	for range e.workers {
		begin <- now
	}
	ended.Wait()
	if err := errors.Join(tuned...); err != nil {
		return nil, err
	}
	if e.stopped.Load() {
		return nil, errStopped
	}
	return e.result(), nil
}

// awaitStart reports that the connections stand and waits for the word to begin.
func (e *engine) awaitStart(start <-chan struct{}, limit <-chan time.Time) error {
	living := 0
	for _, w := range e.workers {
		living += w.living
	}
	switch {
	case e.stopped.Load():
		return errStopped
	case living == 0:
		return fmt.Errorf("no connection is left to load: %s", e.partial().FirstFail)
	}
	e.shared.emit(Event{At: Connected})
	select {
	case <-start:
	case <-limit:
		if r := e.partial(); r.FirstFail != "" {
			return fmt.Errorf("%d of %d connections stood when the limit of %v had passed: %s",
				living, e.plan.Load.Connections, e.plan.Limit, r.FirstFail)
		}
		return fmt.Errorf("nobody said go within the limit of %v", e.plan.Limit)
	}
	if e.stopped.Load() {
		return errStopped
	}
	return nil
}

// run is the life of a worker's thread. The thread ends with it, so that its core and timer slack
// are those of no other goroutine.
func (w *worker) run(limitAt int64, connected *sync.WaitGroup, begin <-chan int64) error {
	runtime.LockOSThread()
	err := tuneThread(w.cpu)
	if w.shared.apart {
		defer w.leaveApart()
		if err == nil {
			err = w.takeTable()
		}
	}
	if err == nil {
		w.driver.connect(limitAt)
	}
	w.stat, _ = os.Open("/proc/thread-self/schedstat") // some kernels have none
	if w.stat != nil {
		defer w.stat.Close()
	}
	w.limitAt = limitAt
	connected.Done()
	at, ok := <-begin
	if !ok || err != nil {
		return err
	}
	w.begin(at)
	w.loop()
	return nil
}

// partial is the result of a load that did not begin: its errors.
func (e *engine) partial() *Result {
	var all faults
	for _, w := range e.workers {
		all.merge(&w.faults)
	}
	return &Result{Errors: all.kinds, FirstFail: all.first}
}

// result adds up what the workers counted.
func (e *engine) result() *Result {
	total := &Result{Slices: make([]int64, e.plan.slices())}
	var all faults
	opened, closed := int64(never), int64(0)
	for _, w := range e.workers {
		r := w.outcome()
		total.add(r)
		all.merge(&w.faults)
		opened, closed = min(opened, w.openedAt), max(closed, w.closedAt)
	}
	total.Window = time.Duration(max(0, closed-opened))
	if e.shared.roll != nil {
		total.Window, total.Lull = e.shared.roll.total()
	}
	e.shared.job.verify(&all)
	total.Errors, total.FirstFail = all.kinds, all.first
	return total
}
