#pragma once
// What is to happen at a time: an intrusive heap of alarms, one a loop. Setting, moving and taking
// one back cost O(log n) and allocate nothing but the heap's array.
#include "base.hpp"

namespace eve {

class loop;

struct alarm_node {
    i64 at_ns = 0;  // on the monotonic clock
    i64 index = -1; // in the heap; -1: not set
    // Called by the loop's worker at or after at_ns; the alarm is no longer set then.
    virtual void ring(loop& on, i64 now_ns) = 0;
    // The process ends before its time has come.
    virtual void dropped() noexcept {}

protected:
    ~alarm_node() = default;
};

// Owner only.
class alarm_heap {
public:
    alarm_heap() noexcept = default;
    alarm_heap(const alarm_heap&) = delete;
    alarm_heap& operator=(const alarm_heap&) = delete;
    ~alarm_heap();

    bool empty() const noexcept { return size_ == 0; }
    i64 next_ns() const noexcept { return nodes_[0]->at_ns; }
    // Sets the alarm, or moves it when it is set.
    void set(alarm_node& alarm, i64 at_ns) noexcept;
    void take_back(alarm_node& alarm) noexcept;
    // The earliest alarm if its time has come; it is taken out.
    alarm_node* due(i64 now_ns) noexcept;

private:
    void place(alarm_node* alarm, i64 index) noexcept;
    void up(alarm_node* alarm, i64 index) noexcept;
    void down(alarm_node* alarm, i64 index) noexcept;

    alarm_node** nodes_ = nullptr;
    i64 size_ = 0;
    i64 capacity_ = 0;
};

// Time on the monotonic clock.
i64 monotonic_ns() noexcept;

} // namespace eve
