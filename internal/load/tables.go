package load

// A connection is a descriptor, and the limit of open files bounds how many a table of descriptors
// holds. A thread may have a table of its own: a load of streams that needs more than one has as
// many threads as tables, several to a core.

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// otherFiles are standard files, epoll, eventfd, schedstat, the runtime's own.
const otherFiles = 32

// threads is how many the load has; apart tells that each has a table of descriptors of its own. A
// limit that is too low is an error here, before a thousand connections fail.
func (p *Plan) threads(known protocol) (n int, apart bool, err error) {
	n = min(max(1, len(p.CPUs)), p.Load.Connections)
	if known.portless {
		return n, false, nil
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, false, fmt.Errorf("reading the limit of descriptors: %w", err)
	}
	need := uint64(p.Load.Connections) + otherFiles
	if limit.Cur >= need {
		return n, false, nil
	}
	if !known.apart || limit.Cur <= otherFiles {
		return 0, false,
			fmt.Errorf("%d connections need %d descriptors and the limit is %d: ulimit -n %d "+
				"raises it", p.Load.Connections, need, limit.Cur, need)
	}
	table := int(limit.Cur - otherFiles)
	return max(n, (p.Load.Connections+table-1)/table), true, nil
}

// takeTable gives the calling thread, which must be locked and end with its goroutine, a table of
// its own. The runtime starts no thread from a locked one, so no other gets it.
func (w *worker) takeTable() error {
	if err := unix.Unshare(unix.CLONE_FILES); err != nil {
		return fmt.Errorf("a table of descriptors for a thread: %w", err)
	}
	return w.watchStop()
}

// watchStop opens what the worker waits in.
func (w *worker) watchStop() (err error) {
	if w.poll, err = newPoller(); err != nil {
		return err
	}
	if e := w.poll.add(int32(w.shared.stopFD), stopTag, unix.EPOLLIN); e != 0 {
		return fmt.Errorf("watching for the stop: %w", e)
	}
	return nil
}

// close frees what the worker has opened. Its thread calls it if its descriptors are its own.
func (w *worker) close() {
	for i := range w.conns {
		w.closeConn(&w.conns[i], connDead)
	}
	w.driver.close()
	if w.poll != nil {
		w.poll.close()
	}
}

// leaveApart closes what the thread has opened when all have measured, for to close it costs
// the others time.
func (w *worker) leaveApart() {
	w.shared.working.Done()
	w.shared.working.Wait()
	w.close()
}
