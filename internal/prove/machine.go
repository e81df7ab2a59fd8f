package prove

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

// lookEvery is the interval of looks at the machine.
const lookEvery = 250 * time.Millisecond

// A look is the state of the machine's counters at a time, in ticks of all cores together.
type look struct {
	at                 time.Time
	load               float64 // the load average of a minute
	total, idle, steal uint64
}

// machine is a record of looks. Any goroutine may use it.
type machine struct {
	mu    sync.Mutex
	looks []look
	stop  chan struct{}
	ended chan struct{}
}

// watchMachine begins to look at the machine's load until end is called.
func watchMachine() (*machine, error) {
	first, err := lookNow()
	if err != nil {
		return nil, err
	}
	m := &machine{looks: []look{first}, stop: make(chan struct{}), ended: make(chan struct{})}
	go m.watch()
	return m, nil
}

func (m *machine) watch() {
	defer close(m.ended)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-m.stop:
			return
		case <-tick.C:
		}
		if now, err := lookNow(); err == nil {
			m.mu.Lock()
			m.looks = append(m.looks, now)
			m.mu.Unlock()
		}
	}
}

func (m *machine) end() {
	close(m.stop)
	<-m.ended
}

// Meanwhile is the load of the machine in some interval.
type Meanwhile struct {
	Load  float64 // the highest load average of a minute
	Busy  float64 // the share of all cores' time that was used, stolen time included
	Steal float64 // the share that the hypervisor gave to others
}

func (w Meanwhile) String() string {
	return fmt.Sprintf("load average %.1f, cores busy %.0f %%, stolen by the hypervisor %.0f %%",
		w.Load, 100*w.Busy, 100*w.Steal)
}

// between returns the load from one time to another, as far as there were looks. For a moment with
// none it is the load between the last two.
func (m *machine) between(from, to time.Time) (w Meanwhile) {
	m.mu.Lock()
	defer m.mu.Unlock()
	first, last := m.looks[0], m.looks[len(m.looks)-1]
	for i := len(m.looks) - 1; i >= 0; i-- {
		l := m.looks[i]
		if !l.at.Before(to) {
			last = l
		}
		if !l.at.After(to.Add(lookEvery)) {
			w.Load = max(w.Load, l.load)
		}
		if first = l; !l.at.After(from) && l.total != last.total {
			break
		}
	}
	if total := float64(last.total - first.total); total > 0 {
		w.Busy = 1 - float64(last.idle-first.idle)/total
		w.Steal = float64(last.steal-first.steal) / total
	}
	return w
}

// idle is the unused share of the cores' time in the last moments.
func (m *machine) idle(since time.Duration) float64 {
	now := time.Now()
	return 1 - m.between(now.Add(-since), now).Busy
}

// lookNow reads /proc/stat and /proc/loadavg, proc(5).
func lookNow() (l look, err error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return l, err
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return l, err
	}
	return parseLook(stat, load)
}

func parseLook(stat, load []byte) (l look, err error) {
	l.at = time.Now()
	line, _, _ := bytes.Cut(stat, []byte("\n"))
	// cpu user nice system idle iowait irq softirq steal guest guest_nice
	fields := bytes.Fields(line)
	if len(fields) < 9 || string(fields[0]) != "cpu" {
		return l, fmt.Errorf("/proc/stat begins with %q, want the line of all cores", line)
	}
	for n, field := range fields[1:9] {
		ticks, err := strconv.ParseUint(string(field), 10, 64)
		if err != nil {
			return l, fmt.Errorf("/proc/stat: %w", err)
		}
		l.total += ticks
		switch n {
		case 3, 4:
			l.idle += ticks
		case 7:
			l.steal = ticks
		}
	}
	first, _, _ := bytes.Cut(load, []byte(" "))
	if l.load, err = strconv.ParseFloat(string(first), 64); err != nil {
		return l, fmt.Errorf("/proc/loadavg: %w", err)
	}
	return l, nil
}
