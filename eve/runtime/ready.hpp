#pragma once
// A worker's roots that can run: a ring that its owner fills and everybody empties, oldest first.
// What does not fit goes to the common list of all workers.
//
//   if (!ring.push(t)) overflow(t);
#include "atomic.hpp"

namespace eve {

struct task;

class ready_ring {
public:
    static constexpr u32 capacity = 256; // roots; a guess

    // Owner only. False if it is full.
    bool push(task* t) noexcept;
    // Any thread. The oldest; null if there is none.
    task* pop() noexcept;
    // Any thread, not exact while others work on it.
    bool empty() const noexcept { return head_.load(order::seq_cst) == tail_.load(order::seq_cst); }

    u32 size() const noexcept { return tail_.load(order::relaxed) - head_.load(order::relaxed); }

private:
    alignas(64) atomic<u32> head_{0}; // next to pop; counts on without wrapping to the capacity
    alignas(64) atomic<u32> tail_{0}; // next to push; written by the owner
    atomic<task*> tasks_[capacity];
};

} // namespace eve
