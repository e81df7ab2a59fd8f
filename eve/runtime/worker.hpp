#pragma once
// The workers: a fixed set of threads that run everything. Each has a ring of ready roots, a stack
// of frames (forkjoin.hpp) and a poller; who has nothing steals from the others, and sleeps in its
// poller if they have nothing.
#include "poller.hpp"
#include "ready.hpp"
#include "task.hpp"

namespace eve {

struct frame;

struct alignas(128) worker {
    // Of fork-join; see forkjoin.hpp. Owner only, but for `mark`. Frames from here on count as
    // rich; `hungry` when a thief has asked. It stands first, so that a loop that looks at it needs
    // no register beside the worker's.
    atomic<u64> mark{0};
    frame* split = nullptr;  // frames from here on are private
    atomic<u8> overtime{0};  // the root has used up its time: set by the watchdog
    frame* floor = nullptr;  // the first frame that is free where a root or closure starts
    frame* first = nullptr;  // of the stack of frames
    frame* limit = nullptr;  // room(w, k) ends here
    frame* end = nullptr;    // of the stack of frames
    frame* stolen = nullptr; // the stolen frame that it runs, for cancelled()
    scope* within = nullptr; // the scope whose child it runs, for cancelled()
    int id = 0;
    int depth = 0; // of roots and frames run while waiting in a join
    u32 random = 1;
    poller* io = nullptr; // null before the worker has started
    heap* memory = nullptr;

    // Owner only.
    task* hot = nullptr; // the root to run next, whose objects are in the cache
    u32 hot_runs = 0;    // how many in a row came that way
    u32 picks = 0;
    u64 polled = 0;          // when it last looked at its poller, in ticks
    bool takes_hot = false;  // the outermost root has ended and gives back
    bool searcher = false;   // as in idle.hpp
    int patience = 128;      // rounds of its next search
    task* running = nullptr; // for reports
    u64 made = 0, ended = 0; // roots. Over all workers they are equal at the end

    // Shared: the public frames, tail << 32 | split, as indices.
    alignas(128) atomic<u64> open{0};
    ready_ring ready;     // roots that can run
    atomic<u64> turns{0}; // of the worker's loop: written by the owner, read by the watchdog

    // Owner only. Where the frames of a root, handler or closure begin.
    frame* top() const noexcept { return floor; }
};

// The worker that calls; null on other threads.
extern constinit thread_local worker* this_worker;
[[gnu::always_inline]] inline worker* self() noexcept { return this_worker; }

// While one lives, what the calling body calls without passing `top` on (closures of natives) finds
// its frames above.
class floor_guard {
    worker* w_;
    frame* was_;

public:
    floor_guard(worker* w, frame* top) noexcept : w_(w), was_(w->floor) { w->floor = top; }
    floor_guard(const floor_guard&) = delete;
    floor_guard& operator=(const floor_guard&) = delete;
    ~floor_guard() { w_->floor = was_; }
};

// Any thread. A root that can run: onto the worker's own ring, from other threads onto
// a common list.
void make_ready(task* t) noexcept;

// Worker threads only. The process goes on while anything is armed: timers, listeners, sockets,
// work given to a pool. Pool threads give their result to a worker (spawn, or the poller's
// inbox), which disarms.
void arm() noexcept;
void disarm() noexcept;

// Any thread. How many workers there are, and one of them: 0 <= i < workers().
int worker_count() noexcept;
worker* worker_at(int i) noexcept;

struct site;
// On back edges that nothing bounds: fails the body when its time is over (EVE_BUDGET seconds, 60
// by default, 0: no end).
[[gnu::cold, gnu::noinline]] void over_budget(worker* w, const site* at);
[[gnu::always_inline]] inline void pulse(worker* w, const site* at) {
    if (unlikely(w->overtime.load(order::relaxed) != 0)) over_budget(w, at);
}
// The same where the worker is not at hand, or may be none.
[[gnu::always_inline]] inline void pulse(const site* at) {
    if (worker* w = self()) pulse(w, at);
}

// Whether the scope or finish that the caller belongs to has failed, so that its result is not
// wanted any more.
bool cancelled() noexcept;

} // namespace eve
