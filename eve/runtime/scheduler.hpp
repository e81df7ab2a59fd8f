#pragma once
// The state that all workers share. Internal to the runtime.
#include "forkjoin.hpp"
#include "idle.hpp"

namespace eve {

struct scheduler {
    worker* workers = nullptr;
    int count = 0;
    atomic<u32> stopping{0};
    // sources of later roots: timers, listeners, sockets, calls in the thread pool
    atomic<i64> armed{0};
    idle_set idle;

    // The global run queue: roots that can run and came from no worker, or did not fit into its
    // queue.
    spin_lock lock;
    task *first = nullptr, **last = &first; // under the lock
    atomic<u32> global_size{0};             // number of roots in the global queue

    i64 budget_ms = 0; // of a root; 0: none
    bool tracing = false;
    bool strict = false; // a contained failure also ends the process
    // Threads without a worker that are making a root ready. The workers wait for them at the end.
    atomic<u32> foreign_threads{0};
    u64 foreign_made = 0;  // roots made by threads without a worker. Under the lock
    atomic<u32> opened{0}; // workers that have a poller

    // Read by all workers, and written when one is in a long body, or when all come to rest.
    alignas(64) atomic<u32> stuck{0}; // worker::stuck is set for some workers
    atomic<u32> unwatched{0};         // the watchdog sleeps until call_watchdog
    alignas(64) atomic<u64> taken{0}; // pollers taken so far
};

extern constinit scheduler the_scheduler;

// Owner only. Runs a root with `top` as its first free frame, then gives back its permissions.
// `outermost`: nothing else is under way on this stack.
void run_root(worker* w, task* t, frame* top, bool outermost) noexcept;
// Any worker, while it waits in a join for a frame that `thief` runs (-1: unknown). Runs other
// work if it may. False: it found none.
bool help(worker* w, frame* top, int thief, bool roots) noexcept;
// Wakes a worker, if one sleeps and none searches. Called after work was made visible.
void wake_worker() noexcept;
// Ends the loops of all workers.
void stop_all() noexcept;
// The loop of a worker. Returns after stop_all.
void work(worker* w) noexcept;

// The default poller, which waits for wake() only.
poller* new_futex_poller();

// Add a root to the list of roots and remove it, while EVE_TRACE is set; write the list to
// standard error.
void trace_begin(task* t) noexcept;
void trace_end(task* t) noexcept;
void trace_report() noexcept;
// Number of roots that were made and have not ended. Exact while no worker runs.
u64 roots_left() noexcept;
// Writes to standard error which objects a failed root held.
void trace_held(const task* t) noexcept;

// The watchdog: a thread that checks for roots that take too long and for workers whose poller
// should be served by others, and waits for SIGQUIT.
void start_watchdog();
void stop_watchdog();

// The number of CPUs that the process may use, by affinity and by the quota of its control group.
// At least 1.
int usable_cpus() noexcept;

} // namespace eve
