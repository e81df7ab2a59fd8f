#pragma once
// Timers of one loop, and those of the fake clock: an intrusive heap. Setting, moving and
// cancelling a timer cost O(log n) and allocate nothing but the heap's array.
#include "base.hpp"

namespace eve {

class loop;
struct poller;

struct timer_node {
    i64 at_ns = 0;  // on the monotonic clock
    i32 index = -1; // its place in the heap; -1: not set
    // Called by the loop's worker at or after at_ns. The timer is no longer set then.
    virtual void expire(loop& on, i64 now_ns) = 0;
    // Called when the process ends before the timer has expired.
    virtual void dropped() noexcept {}

protected:
    ~timer_node() = default;
};

// A timer on the clock of the program: the monotonic one, or the fake one of a test
// (fake_time.hpp). The fields are those of fake time.
struct clock_timer : timer_node {
    u32 turn = 0;             // among those of the same moment
    bool last = false;        // it comes behind all others of the same moment
    poller* keeper = nullptr; // its worker expires it

protected:
    ~clock_timer() = default;
};

// Owner only. A timer that is earlier expires first; of clock timers of one moment, that of the
// lesser turn.
template <class Timer> class heap_of {
public:
    constexpr heap_of() noexcept = default;
    heap_of(const heap_of&) = delete;
    heap_of& operator=(const heap_of&) = delete;
    ~heap_of() { clear(); }

    bool empty() const noexcept { return size_ == 0; }
    Timer& first() const noexcept { return *nodes_[0]; }
    i64 next_ns() const noexcept { return nodes_[0]->at_ns; }
    // Sets the timer. A timer that is set is moved.
    void set(Timer& timer, i64 at_ns) noexcept;
    void cancel(Timer& timer) noexcept;
    // Takes the earliest timer out of the heap and returns it, if it has expired; else null.
    Timer* due(i64 now_ns) noexcept;
    // Drops all timers.
    void clear() noexcept;

private:
    void place(Timer* timer, i64 index) noexcept;
    void up(Timer* timer, i64 index) noexcept;
    void down(Timer* timer, i64 index) noexcept;

    Timer** nodes_ = nullptr;
    i64 size_ = 0;
    i64 capacity_ = 0;
};

extern template class heap_of<timer_node>;
extern template class heap_of<clock_timer>;
using timer_heap = heap_of<timer_node>;

// The time on the monotonic clock.
i64 monotonic_ns() noexcept;

} // namespace eve
