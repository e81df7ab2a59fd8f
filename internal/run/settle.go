package run

// A duet waits for servers that work on although nobody asks them for anything, as a JVM compiles
// what has just become hot: so they do not take the cores from the model that runs.

import (
	"runtime"
	"time"
)

// settle waits for servers that work on after their warm-up, as JVMs compile: until all rest while
// nobody asks them anything, or for as long as the longest warm-up. In between each is asked for a
// moment, so that no connection rests for too long.
func (d *duet) settle() error {
	for end := time.Now().Add(d.longest); time.Now().Before(end); {
		if quiet, err := d.quiet(settleLook, d.cpu); quiet || err != nil {
			return err
		}
		if err := d.each(func(p *player) error {
			if p.out {
				return nil
			}
			_, err := p.run(leadTime, false)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// calm waits for a server that works on after its stint, as a JVM compiles what has just become
// hot: until it rests, and in all stints together for as long as the longest warm-up. So it does
// not take the cores from the model that runs next. All servers are looked at after their first
// stint, and then those that have worked on.
func (d *duet) calm(p *player, first bool) error {
	if !first && !p.works || p.out || p.gone() || d.waited >= d.longest {
		return nil
	}
	if err := d.each((*player).rested); err != nil {
		return err
	}
	began, quiet := time.Now(), false
	for !quiet && d.waited+time.Since(began) < d.longest {
		var err error
		if quiet, err = d.quiet(calmLook, p.cpu); err != nil {
			return err
		}
	}
	d.waited += time.Since(began)
	return d.each((*player).disturbedNobody)
}

// quiet waits for a moment and tells whether what cpu counts has rested meanwhile.
func (d *duet) quiet(look time.Duration, cpu func() time.Duration) (bool, error) {
	began, used := time.Now(), cpu()
	select {
	case <-time.After(look):
	case <-d.ctx.Done():
		return false, d.ctx.Err()
	}
	return restful(cpu()-used, time.Since(began)), nil
}

// restful tells whether a server that has used so much CPU in a time has rested: it is half of what
// the gate allows.
func restful(used, in time.Duration) bool {
	return float64(used) <= maxResting/2*float64(in)*float64(runtime.NumCPU())
}

// rested counts what the player's server has used at rest while others ran. A moment after its
// stint says nothing of how it rests.
func (p *player) rested() error {
	used, rest := p.stints.Rested(), time.Since(p.since)
	p.works = p.works || rest >= calmLook && !restful(used, rest)
	p.since = time.Now()
	return nil
}

// disturbedNobody leaves out what its server has used since then: no other ran.
func (p *player) disturbedNobody() error {
	p.stints.Calm()
	p.since = time.Now()
	return nil
}
