#pragma once
// The workers: a fixed set of threads that run all tasks. Each has a run queue of roots, a stack
// of frames (forkjoin.hpp) and a poller. A worker without work steals from the others. If they
// have none, it sleeps in its poller.
#include "poller.hpp"
#include "run_queue.hpp"
#include "task.hpp"

namespace eve {

struct frame;

struct alignas(128) worker {
    // For fork-join; see forkjoin.hpp. Owner only, except `mark`: with frames up to here enough
    // children are ready; steal_requested when a thief waits. It is the first field, so a loop
    // that tests it needs no register beside the worker's.
    atomic<u64> mark{0};
    frame* split = nullptr;  // frames from here on are private
    atomic<u8> overtime{0};  // the root has used up its time; set by the watchdog
    frame* floor = nullptr;  // the first free frame when a root or closure starts
    frame* first = nullptr;  // of the stack of frames
    frame* limit = nullptr;  // room(w, k) is false from here on
    frame* end = nullptr;    // of the stack of frames
    frame* stolen = nullptr; // the stolen frame that it runs, for cancelled()
    scope* within = nullptr; // the scope whose child it runs, for cancelled()
    int id = 0;
    int depth = 0; // number of nested roots and frames that it runs while waiting in a join
    u32 random = 1;
    poller* io = nullptr; // null until the worker has started
    // Owner only. The poller that it is inside of: its own, or one that it serves; see loan.hpp.
    poller* inside = nullptr;
    bool starts = false; // owner only: a body has made channels, which start at the next poll
    heap* memory = nullptr;

    // Owner only.
    task* run_next = nullptr; // the root to run next, while its objects are in the cache
    u32 run_next_count = 0;   // how many in a row were run_next
    u32 picks = 0;
    u64 polled = 0;             // time of the last poll, in ticks
    bool sets_run_next = false; // the outermost root has ended and gives back its permissions
    bool searcher = false;      // see idle.hpp
    int search_rounds = 128;    // rounds of the next search
    task* running = nullptr;    // for reports
    u64 ended = 0;              // roots that ended here. See `made`

    // Shared: the public frames, tail << 32 | split, as indices.
    alignas(128) atomic<u64> open{0};
    run_queue queue; // roots that can run
    // Written by the owner, read by the watchdog: turns of the worker's loop, and roots that were
    // made here. The sums of `made` and of `ended` over all workers are equal at the end.
    atomic<u64> turns{0};
    atomic<u64> made{0};
    // Written by the watchdog: the worker is in a long body, and its poller may be taken.
    atomic<u32> stuck{0};

    // Owner only. The first frame of a root, handler or closure.
    frame* top() const noexcept { return floor; }
};

// Any thread. A worker runs that nobody watches: it woke, or it was away. If the watchdog has come
// to rest, wakes it.
void call_watchdog() noexcept;
// Owner only. It is back at its poller, which was taken meanwhile.
[[gnu::cold, gnu::noinline]] void came_back(worker* w) noexcept;

// Owner only, inside of its poller or, as a guest, of another one: while it lives, the worker runs
// a body and the poller is lent. Does nothing for a worker that is inside none.
class lent {
    worker* w_;
    poller* inside_;

public:
    explicit lent(worker* w) noexcept : w_(w), inside_(w->inside) {
        if (!inside_) return;
        w->inside = nullptr;
        if (likely(inside_ == w->io)) inside_->lending.lend();
        else inside_->lending.step_out();
    }
    lent(const lent&) = delete;
    lent& operator=(const lent&) = delete;
    ~lent() {
        if (!inside_) return;
        if (unlikely(inside_ != w_->io)) inside_->lending.step_in();
        else if (unlikely(inside_->lending.take_back())) came_back(w_);
        w_->inside = inside_;
    }
};

// The worker of the calling thread; null on other threads.
extern constinit thread_local worker* this_worker;
[[gnu::always_inline]] inline worker* self() noexcept { return this_worker; }

// While it lives, calls that do not pass `top` (closures of natives) use the frames above.
class floor_guard {
    worker* w_;
    frame* was_;

public:
    floor_guard(worker* w, frame* top) noexcept : w_(w), was_(w->floor) { w->floor = top; }
    floor_guard(const floor_guard&) = delete;
    floor_guard& operator=(const floor_guard&) = delete;
    ~floor_guard() { w_->floor = was_; }
};

// Any thread. The root can run: a worker pushes it onto its own queue, other threads onto the
// global queue.
void make_ready(task* t) noexcept;

// Worker threads only. The process stays alive while anything is armed: timers, listeners,
// sockets, calls in the thread pool. Pool threads give their result to a worker (by spawn or
// mail), which disarms.
void arm() noexcept;
void disarm() noexcept;

// Any thread. The number of workers, and worker i, 0 <= i < worker_count().
int worker_count() noexcept;
worker* worker_at(int i) noexcept;

struct site;
// On back edges without a known bound: fails the body when its time is over (EVE_BUDGET seconds,
// 60 by default, 0: no limit).
[[gnu::cold, gnu::noinline]] void over_budget(worker* w, const site* at);
[[gnu::always_inline]] inline void check_budget(worker* w, const site* at) {
    if (unlikely(w->overtime.load(order::relaxed) != 0)) over_budget(w, at);
}
// The same for code without a worker pointer. There may be no worker.
[[gnu::always_inline]] inline void check_budget(const site* at) {
    if (worker* w = self()) check_budget(w, at);
}

// Whether some worker's root is over its time. Set by the watchdog.
extern atomic<u32> roots_over_time;
[[gnu::cold, gnu::noinline]] void end_over_budget(const site* at) noexcept;
// Where a function begins that may call itself: check_budget, at the price of one test.
[[gnu::always_inline]] inline void check_recursion(const site* at) {
    if (unlikely(roots_over_time.load(order::relaxed) != 0)) check_budget(at);
}
// The same in a function that cannot fail: the process ends when the time is over.
[[gnu::always_inline]] inline void bound_recursion(const site* at) noexcept {
    if (unlikely(roots_over_time.load(order::relaxed) != 0)) end_over_budget(at);
}

// Whether the scope or finish of the caller has failed, so that its result is not wanted.
bool cancelled() noexcept;

} // namespace eve
