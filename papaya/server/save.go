package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"interleave/papaya/hall"
	"interleave/papaya/log"
)

// Every change is in a batch of the stream, which is the journal of the state. The saved state only
// makes a start short, and lets the log drop older batches. The goroutine that owns the hall takes
// no part in it: saveLoop reads the last saved state and the batches since then from the log, has a
// hall of its own apply them, and saves that. A kill at any moment so leaves the last state and the
// batches since then, which are enough.

// The state is saved after so many batches or bytes, but at most once in saveEvery or saveFull, and
// after saveLate if anything has changed. A start then has few batches to read, and the log may
// drop older ones. It is not saved before restShare times as long as the last time has taken has
// passed. The text is synced once in syncEvery. After a crash its last lines are written again from
// the log.
const (
	saveBatches = 20000
	saveBytes   = 64 << 20
	saveEvery   = time.Minute
	saveFull    = 5 * time.Second // instead of saveEvery, if there are too many bytes
	saveLate    = time.Hour
	restShare   = 4
	syncEvery   = time.Second
)

// retainFor is how long the log keeps the batches before a saved state. A server of the cluster
// that cannot reach the log for less than that finds what it needs. A single server needs them only
// for a backup that is being made, for which the batches since the last state but one are enough.
const retainFor = time.Hour

// catchUpTimeout bounds how long saveLoop reads the log for one state. A guess.
const catchUpTimeout = 10 * time.Minute

// writeByte is how long a byte of a state may take beyond appendTimeout: 10 MB/s, a slow disk.
const writeByte = 100 * time.Nanosecond

// A savePoint is a batch up to which the state is to be saved.
type savePoint struct {
	sequence uint64
	batches  int // that were applied since the last point
}

// A snapshot is a state that was saved.
type snapshot struct {
	sequence uint64
	at       time.Time
}

// syncLoop syncs the text and returns memory to the system.
func (s *server) syncLoop(ctx context.Context) {
	ticker := time.NewTicker(syncEvery)
	defer ticker.Stop()
	var rest burstCollector
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := s.config.Text.Sync(); err != nil {
				s.config.Logger.Error("the text could not be saved", "reason", err)
			}
			rest.afterBurst()
		}
	}
}

// saveLoop saves states.
func (s *server) saveLoop(ctx context.Context) {
	since := 0 // batches since the saved state
	for {
		select {
		case <-ctx.Done():
			return
		case p := <-s.points:
			begun := time.Now()
			since += p.batches
			if err := s.saveAt(ctx, savePoint{p.sequence, since}); err == nil {
				since = 0
			} else if ctx.Err() == nil {
				s.config.Logger.Error("the state could not be saved", "reason", err)
			}
			s.saveTook.Store(int64(time.Since(begun)))
		}
	}
}

// saveAt saves the state at a point. It takes the state of the hall itself if the log does not have
// it: somebody has removed the folder of the stream, say.
func (s *server) saveAt(ctx context.Context, p savePoint) error {
	state, err := s.catchUp(ctx, p)
	if err == nil && state == nil { // another server has saved a later one
		s.inLog.Store(max(p.sequence, s.inLog.Load()))
		return nil
	}
	if err != nil && ctx.Err() == nil {
		s.config.Logger.Warn("the log lacks a part of the state, which is saved from memory",
			"reason", err)
		p.sequence, state, err = s.stateInMemory(ctx)
	}
	if err != nil {
		return err
	}
	return s.write(p.sequence, state)
}

// errCaughtUp ends the reading of the log.
var errCaughtUp = errors.New("all read")

// catchUp makes the state at a point from the last saved one and the batches since then. It returns
// nil if the saved one is not older than the point.
func (s *server) catchUp(ctx context.Context, p savePoint) ([]byte, error) {
	ctx, cancel := log.WithRunningTime(ctx, catchUpTimeout)
	defer cancel()
	sequence, saved, err := s.config.Log.LoadState(ctx)
	if err != nil || sequence >= p.sequence {
		return nil, err
	}
	h, err := s.shadow(saved)
	if err != nil {
		return nil, err
	}
	last, read := sequence, 0
	err = s.config.Log.Follow(ctx, sequence, func(n uint64, data []byte) error {
		if n > p.sequence {
			return errCaughtUp
		}
		if s.config.Shared && n != last+1 {
			return fmt.Errorf("after batch %d comes %d", last, n)
		}
		if err := applyTo(h, n, data); err != nil {
			return err
		}
		last = n
		if read++; n == p.sequence {
			return errCaughtUp
		}
		return nil
	})
	switch {
	case !errors.Is(err, errCaughtUp):
		return nil, err
	case last != p.sequence, !s.config.Shared && read != p.batches:
		return nil, fmt.Errorf("%d batches after %d, up to %d of %d; want %d", read, sequence,
			last, p.sequence, p.batches)
	}
	return h.Save()
}

// shadow makes a hall from a saved state, or from nothing as recover does. It has no clients, and
// tells nobody what happens.
func (s *server) shadow(saved []byte) (*hall.Hall, error) {
	c := s.hallConfig()
	c.Server = "" // a server with a name serves clients
	c.Push, c.Preview, c.Ordered, c.End, c.Read = nil, nil, nil, nil, nil
	c.MsgidsFrom = nil
	c.Banned, c.TurnedAway, c.Reporting, c.Reported = nil, nil, nil, nil
	if saved == nil {
		return hall.New(c, s.from), nil
	}
	return hall.Load(c, saved)
}

// applyTo applies a batch of the log to a hall without clients.
func applyTo(h *hall.Hall, sequence uint64, data []byte) error {
	b, rest, err := hall.ReadBatch(data)
	if err != nil {
		return fmt.Errorf("batch %d: %w", sequence, err)
	}
	if !h.Begin(b) {
		return nil
	}
	if err := applyEntries(h, sequence, rest); err != nil {
		return err
	}
	h.Lines()
	h.Removed()
	return nil
}

// stateInMemory copies the state of the hall. All clients wait meanwhile.
func (s *server) stateInMemory(ctx context.Context) (sequence uint64, state []byte, err error) {
	var now hall.Snapshot
	done := make(chan struct{})
	select {
	case s.events <- event{do: func() (hall.Entry, bool) {
		sequence, now = s.applied, s.hall.Snapshot()
		s.saved, s.unsaved, s.unread = s.applied, 0, 0
		close(done)
		return hall.Entry{}, false
	}}:
	case <-ctx.Done():
		return 0, nil, ctx.Err()
	}
	select {
	case <-done:
	case <-ctx.Done():
		return 0, nil, ctx.Err()
	}
	state, err = now.Encode()
	return sequence, state, err
}

// saveSome gives a point to saveLoop if much has changed and saveLoop is idle.
func (s *server) saveSome(now time.Time) {
	n, since := s.applied-s.saved, now.Sub(s.savedAt)
	if (n < saveBatches || since < saveEvery) && (s.unsaved < saveBytes ||
		since < saveFull) && (n == 0 || since < saveLate) || len(s.points) == cap(s.points) ||
		since < restShare*time.Duration(s.saveTook.Load()) {
		return
	}
	s.savePoint(now)
}

// savePoint gives the newest batch to saveLoop as a point.
func (s *server) savePoint(now time.Time) {
	s.points <- savePoint{s.applied, s.unread} // nobody else sends
	s.saved, s.savedAt, s.unsaved, s.unread = s.applied, now, 0, 0
}

// save writes the state at the end, when nobody waits any more.
func (s *server) save() error {
	if s.hall == nil || s.applied == s.inLog.Load() {
		return nil
	}
	state, err := s.hall.Save()
	if err != nil {
		return err
	}
	return s.write(s.applied, state)
}

// write saves a state, and has the log drop the batches that older states have made unnecessary.
func (s *server) write(sequence uint64, state []byte) error {
	if err := s.config.Text.Sync(); err != nil {
		return err
	}
	ctx, cancel := log.WithRunningTime(context.Background(),
		appendTimeout+time.Duration(len(state))*writeByte)
	defer cancel()
	if err := s.config.Log.SaveState(ctx, sequence, state); err != nil {
		return err
	}
	s.inLog.Store(sequence)
	now := time.Now()
	old := 0
	for old < len(s.snapshots) && (!s.config.Shared || now.Sub(s.snapshots[old].at) > retainFor) {
		old++
	}
	var err error
	if old > 0 {
		if last := s.snapshots[old-1].sequence; last > 0 {
			err = s.config.Log.Forget(ctx, last)
		}
		s.snapshots = s.snapshots[old:]
	}
	s.snapshots = append(s.snapshots, snapshot{sequence, now})
	return err
}
