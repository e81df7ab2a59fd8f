#pragma once
// Timers of one loop: an intrusive heap. Setting, moving and cancelling a timer cost O(log n) and
// allocate nothing but the heap's array.
#include "base.hpp"

namespace eve {

class loop;

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

// Owner only.
class timer_heap {
public:
    timer_heap() noexcept = default;
    timer_heap(const timer_heap&) = delete;
    timer_heap& operator=(const timer_heap&) = delete;
    ~timer_heap();

    bool empty() const noexcept { return size_ == 0; }
    i64 next_ns() const noexcept { return nodes_[0]->at_ns; }
    // Sets the timer. A timer that is set is moved.
    void set(timer_node& timer, i64 at_ns) noexcept;
    void cancel(timer_node& timer) noexcept;
    // Takes the earliest timer out of the heap and returns it, if it has expired; else null.
    timer_node* due(i64 now_ns) noexcept;

private:
    void place(timer_node* timer, i64 index) noexcept;
    void up(timer_node* timer, i64 index) noexcept;
    void down(timer_node* timer, i64 index) noexcept;

    timer_node** nodes_ = nullptr;
    i64 size_ = 0;
    i64 capacity_ = 0;
};

// The time on the monotonic clock.
i64 monotonic_ns() noexcept;

} // namespace eve
