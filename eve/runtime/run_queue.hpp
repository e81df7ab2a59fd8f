#pragma once
// A worker's run queue: a ring buffer of roots that can run. Its owner pushes; any worker pops the
// oldest. A root that does not fit goes to the global queue.
//
//   if (!queue.push(t)) push_global(t);
#include "atomic.hpp"

namespace eve {

struct task;

class run_queue {
public:
    static constexpr u32 capacity = 256; // roots; a guess

    // Owner only. False if it is full.
    bool push(task* t) noexcept;
    // Any thread. Takes the oldest; null if there is none.
    task* pop() noexcept;
    // Any thread. Not exact while others push or pop.
    bool empty() const noexcept { return head_.load(order::seq_cst) == tail_.load(order::seq_cst); }

    u32 size() const noexcept { return tail_.load(order::relaxed) - head_.load(order::relaxed); }

private:
    alignas(64) atomic<u32> head_{0}; // the next to pop; it is not reduced modulo the capacity
    alignas(64) atomic<u32> tail_{0}; // the next to push; written by the owner
    atomic<task*> tasks_[capacity];
};

} // namespace eve
