#include "idle.hpp"

namespace eve {

void idle_set::forget() noexcept {
    word_.store(0, order::relaxed);
    for (atomic<u8>& a : asleep_) a.store(0, order::relaxed);
    last_ = 0;
}

int idle_set::wake_one() noexcept {
    u64 seen = word_.load(order::seq_cst);
    if (sleepers(seen) == 0 || (seen & searching)) return -1;
    return wake();
}

int idle_set::wake() noexcept {
    locked guard(lock_);
    u64 word = word_.load(order::relaxed);
    if (sleepers(word) == 0 || (word & searching)) return -1;
    int id = last_;
    while (asleep_[id].load(order::relaxed) == 0) id = (id + 1) % most;
    last_ = id;
    asleep_[id].store(0, order::relaxed);
    word_.store((word - 1 + waking) | searching, order::seq_cst);
    return id;
}

bool idle_set::begin_search() noexcept {
    if (word_.load(order::relaxed) & searching) return false;
    locked guard(lock_);
    u64 word = word_.load(order::relaxed);
    if (word & searching) return false;
    word_.store(word | searching, order::seq_cst);
    return true;
}

void idle_set::end_search() noexcept {
    locked guard(lock_);
    word_.store(word_.load(order::relaxed) & ~searching, order::seq_cst);
}

void idle_set::enter(int id, bool searched) noexcept {
    locked guard(lock_);
    asleep_[id].store(1, order::relaxed);
    u64 word = word_.load(order::relaxed);
    word_.store((searched ? word & ~searching : word) + 1, order::seq_cst);
}

bool idle_set::leave(int id) noexcept {
    locked guard(lock_);
    if (asleep_[id].load(order::relaxed) == 0) return true;
    asleep_[id].store(0, order::relaxed);
    word_.store(word_.load(order::relaxed) - 1 + waking, order::seq_cst);
    return false;
}

} // namespace eve
