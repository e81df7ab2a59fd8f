package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"

	"interleave/papaya/checker"
)

// killAll kills servers and nodes until all kills are done or ctx has ended. They are spread over
// the time of the campaign, which takes longer on a machine that is too slow for that. Each round
// of kills has all processes in another order.
func (c *campaign) killAll(ctx context.Context) error {
	dice, deadline := c.dice("kills"), time.Now().Add(c.For)
	var victims []*process
	for c.kills < c.Kills && ctx.Err() == nil {
		mean := time.Until(deadline) / time.Duration(c.Kills-c.kills)
		if !rest(ctx, time.Duration(dice.Float64()*2*float64(mean))) {
			break
		}
		if len(victims) == 0 {
			victims = c.processes()
			dice.Shuffle(len(victims),
				func(i, k int) { victims[i], victims[k] = victims[k], victims[i] })
		}
		if err := c.strike(ctx, dice, victims[0]); err != nil && ctx.Err() == nil {
			return err
		}
		victims = victims[1:]
		if err := c.record.flush(); err != nil {
			return err
		}
	}
	rest(ctx, time.Until(deadline)) // without kills, it is only talk
	return nil
}

// rest waits. It returns false if ctx ends before.
func rest(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// Times around a kill. All are guesses.
const (
	aim    = 500 * time.Millisecond // how long a kill waits for the operation that it shall hit
	hit    = 5 * time.Millisecond   // at most, from the beginning of that operation
	down   = 500 * time.Millisecond // at most, until the start after a kill
	inLife = 300 * time.Millisecond // at most, from a start to a kill during it
)

// strike ends a server or a node and starts it again. Then some operation must be acknowledged. One
// of eight ends is an orderly one. One of eight starts is killed, too.
func (c *campaign) strike(ctx context.Context, dice *rand.Rand, p *process) error {
	signal := syscall.SIGKILL
	if dice.IntN(8) == 0 {
		signal = syscall.SIGTERM
	}
	do := one(dice, []checker.Do{checker.Say, checker.Edit, checker.Redact, checker.Mark,
		checker.Upload})
	if dice.IntN(2) == 0 {
		c.await(ctx, do)
	}
	if !rest(ctx, time.Duration(dice.Float64()*float64(hit))) {
		return nil
	}
	if err := c.end(p, signal); err != nil {
		return err
	}
	if !rest(ctx, time.Duration(dice.Float64()*float64(down))) {
		return p.launch() // all processes run at the end
	}
	if err := p.launch(); err != nil {
		return err
	}
	for dice.IntN(8) == 0 && c.kills < c.Kills {
		if !rest(ctx, time.Duration(dice.Float64()*float64(inLife))) {
			return nil
		}
		if err := c.end(p, syscall.SIGKILL); err != nil {
			return err
		}
		if err := p.launch(); err != nil {
			return err
		}
	}
	if err := p.isUp(ctx); err != nil {
		return err
	}
	return c.goesOn(ctx, p)
}

// await waits until the next operation of a kind begins, for a little.
func (c *campaign) await(ctx context.Context, do checker.Do) {
	begins := c.record.begin(do)
	select {
	case <-begins:
	case <-time.After(aim):
	case <-ctx.Done():
	}
}

// end ends a process and records that before it does so.
func (c *campaign) end(p *process, s syscall.Signal) error {
	e := checker.Event{Type: checker.Killed, Server: p.name}
	if s == syscall.SIGTERM {
		e.Type = checker.Stopped
	} else {
		c.kills++
		if c.kills%100 == 0 {
			c.Tell(fmt.Sprintf("%d kills", c.kills))
		}
	}
	c.record.tell(e)
	return p.end(s)
}

// goesOn waits until an operation is acknowledged, now that a process was started again.
func (c *campaign) goesOn(ctx context.Context, p *process) error {
	select {
	case <-c.record.acknowledged: // an earlier one
	default:
	}
	select {
	case <-c.record.acknowledged:
		return nil
	case <-ctx.Done():
		return nil
	case <-time.After(patience):
		return errors.New("after " + p.name + " was started again, nothing was acknowledged for " +
			patience.String())
	}
}
