#include "loan.hpp"

#include <sys/syscall.h>
#include <unistd.h>

// Each mutation is an error that the tests must find.
#ifdef EVE_MUTATE_LOAN
static constexpr bool mind_owner = false;
#else
static constexpr bool mind_owner = true;
#endif

namespace eve {

constinit bool remote_fences = modelled;

namespace {

// Of linux/membarrier.h, which old systems lack.
constexpr int private_expedited = 1 << 3, register_private_expedited = 1 << 4;

bool membarrier(int command) noexcept { return syscall(SYS_membarrier, command, 0, 0) == 0; }

// Returns when each running thread of the process has passed a fence since the call.
void fence_all_threads() noexcept {
    if constexpr (modelled) return;
    if (remote_fences) membarrier(private_expedited);
}

} // namespace

void prepare_fences() noexcept {
    if constexpr (!modelled) remote_fences = membarrier(register_private_expedited);
}

// The owner stores `inside_` and then loads `taken_`; this stores `taken_` and then loads
// `inside_`, with a fence on both threads between. So at least one of the two sees the other.
bool loan::take(int by) noexcept {
    if (taken_.load(order::relaxed) == 0 && inside()) return false;
    if (!lock_.try_lock()) return false;
    if (taken_.load(order::relaxed) == 0) {
        taken_.store(1, order::seq_cst);
        fence_all_threads();
        if (mind_owner && inside_.load(order::seq_cst) != 0) {
            taken_.store(0, order::release);
            lock_.unlock();
            return false;
        }
    }
    away_.store(1, order::seq_cst);
    guest_.store(by, order::relaxed);
    calls_++;
    return true;
}

bool loan::enter(int by) noexcept {
    lock_.lock();
    if (!away() || guest() != by) {
        lock_.unlock();
        return false;
    }
    calls_++;
    return true;
}

void loan::leave() noexcept {
    calls_--;
    lock_.unlock();
}

// A guest that runs a body has a call under way, and will want to go on with it. Until then the
// poller stays taken, and the owner uses the lock as guests do.
bool loan::come_back() noexcept {
    inside_.store(0, order::release);
    lock_.lock();
    bool was_away = away();
    away_.store(0, order::seq_cst);
    if (calls_ == 0) {
        inside_.store(1, order::relaxed);
        taken_.store(0, order::relaxed);
        lock_.unlock();
    }
    return was_away;
}

void loan::visit_taken() noexcept {
    inside_.store(0, order::release);
    lock_.lock();
}

} // namespace eve
