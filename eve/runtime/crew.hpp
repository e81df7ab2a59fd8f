#pragma once
// What all workers share. Internal to the runtime.
#include "forkjoin.hpp"
#include "idle.hpp"

namespace eve {

struct crew {
    worker* workers = nullptr;
    int count = 0;
    atomic<u32> stopping{0};
    atomic<i64> armed{0}; // what will make roots later: timers, listeners, sockets, work of a pool
    idle_set idle;

    // Roots that can run and have no worker yet, or did not fit into its ring.
    spin_lock lock;
    task *first = nullptr, **last = &first; // under the lock
    atomic<u32> common{0};                  // their number

    i64 budget_ms = 0; // of a root; 0: none
    bool tracing = false;
    bool strict = false; // a contained failure ends the process too
    atomic<u32> outsiders{
        0}; // threads without a worker that are making a root ready: the workers stay until then
    u64 outside_made = 0; // roots made by other threads, under the lock
};

extern constinit crew the_crew;

// Owner only. Runs a root with `top` as its first free frame, and gives back what it held.
// `outermost`: nothing else is under way on this stack.
void run_root(worker* w, task* t, frame* top, bool outermost) noexcept;
// Any worker, while it waits in a join of a frame that `thief` runs (-1: not known): runs something
// else, if it may.
bool help(worker* w, frame* top, int thief, bool roots) noexcept;
// Wakes a worker, if one sleeps and none searches. After work was made visible.
void call_worker() noexcept;
// Ends all workers' loops.
void stop_all() noexcept;
// The loop of a worker, until stop_all.
void work(worker* w) noexcept;

// The default poller, which waits for wake() only.
poller* new_bell();

// Lists and unlists roots while EVE_TRACE is set, and writes the list to standard error.
void trace_begin(task* t) noexcept;
void trace_end(task* t) noexcept;
void trace_report() noexcept;
// Roots made and not ended. Exact while no worker runs.
u64 roots_left() noexcept;
// What a failed root held, on standard error.
void trace_held(const task* t) noexcept;

// The thread that looks for roots that take too long, and for SIGQUIT.
void start_watch();
void stop_watch();

// CPUs that the process may use, by affinity and by the quota of its control group. At least 1.
int usable_cpus() noexcept;

} // namespace eve
