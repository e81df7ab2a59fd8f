#include "run_queue.hpp"

namespace eve {

bool run_queue::push(task* t) noexcept {
    u32 tail = tail_.load(order::relaxed);
    if (tail - head_.load(order::acquire) >= capacity) return false;
    tasks_[tail % capacity].store(t, order::relaxed);
    tail_.store(tail + 1, order::seq_cst); // before the check for sleeping workers
    return true;
}

task* run_queue::pop() noexcept {
    u32 head = head_.load(order::acquire);
    for (;;) {
        if (head == tail_.load(order::acquire)) return nullptr;
        // The owner may have stored another task here, but only after head has moved on: the CAS
        // then fails.
        task* t = tasks_[head % capacity].load(order::relaxed);
        if (head_.compare_exchange(head, head + 1, order::acq_rel, order::acquire)) return t;
    }
}

} // namespace eve
