#include "lock.hpp"
#include "threads.hpp"

namespace eve {

void spin_lock::wait() noexcept {
    spinning s;
    while (held_.exchange(1, order::acquire) != 0)
        while (held_.load(order::relaxed) != 0) s.turn();
}

} // namespace eve
