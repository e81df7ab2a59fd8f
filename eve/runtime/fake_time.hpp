#pragma once
// The clock of a test in fake time. It stands still while a task can run, and while anything that
// is not a timer is under way: a file, a process, a C function. When all workers sleep, it jumps to
// the next timer, and one timer expires. So a test of an hour takes no time, and no task sees the
// clock move.
//
//   if (the_fake_clock.on()) the_fake_clock.set(timer, home, the_fake_clock.now_ns() + d);
#include "lock.hpp"
#include "timer_heap.hpp"

namespace eve {

class fake_clock {
public:
    constexpr fake_clock() noexcept {}

    // Before the workers start; it stays so. A run ends with `close`, which forgets all timers.
    void turn(bool on) noexcept { on_ = on; }
    void close() noexcept;

    // Any thread. Constant while there are workers.
    bool on() const noexcept { return on_; }
    // Any thread. It begins at 0.
    i64 now_ns() const noexcept { return now_.load(order::relaxed); }

    // Worker threads only. Timers of one moment expire in the order in which they were set.
    void set(clock_timer& timer, poller& keeper, i64 at_ns) noexcept;
    void cancel(clock_timer& timer) noexcept;
    // Any worker. So many more of what is armed (arm of worker.hpp) waits only for timers, and for
    // tasks of the program. The clock does not wait for it.
    void count(i64 by) noexcept {
        if (unlikely(on_)) waits_.fetch_add(by, order::relaxed);
    }

    // A worker that counts as asleep. If nothing goes on, the clock jumps to the next timer, and
    // its keeper is told.
    void jump() noexcept;
    // The worker of a keeper that was told. Returns the timer to expire, which is no longer set;
    // null if it was cancelled meanwhile.
    clock_timer* take(const poller& keeper) noexcept;

private:
    bool at_rest() noexcept;

    bool on_ = false;
    atomic<i64> now_{0};
    atomic<i64> waits_{0};
    spin_lock guard_; // of what follows
    heap_of<clock_timer> timers_;
    u32 turn_ = 0;          // of the next timer that is set
    poller* due_ = nullptr; // the keeper that was told and has not taken its timer
};

extern constinit fake_clock the_fake_clock;

// Any thread. The time on the clock of the program.
inline i64 program_ns() noexcept {
    return unlikely(the_fake_clock.on()) ? the_fake_clock.now_ns() : monotonic_ns();
}

// Any thread. Ends the process in fake time: what is on its way between two sockets, or from the
// kernel to a watch, cannot be seen, so the clock could jump too early.
void refuse_in_fake_time(const char* what) noexcept;

// Before run: the program has a fake clock.
void begin_fake_time() noexcept;

} // namespace eve
