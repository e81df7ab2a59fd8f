// The default poller. It waits on a futex, and only other workers wake it.
#include "scheduler.hpp"
#include "threads.hpp"

namespace eve {
namespace {

struct futex_poller final : poller {
    atomic<u32> woken{0};

    void wait(i64 timeout_us) override {
        if (woken.load(order::acquire) == 0) wait_on(woken, 0, timeout_us);
        woken.store(0, order::seq_cst);
    }
    bool poll() override { return false; }
    void wake() override {
        woken.store(1, order::seq_cst);
        wake_on(woken, 1);
    }
};

} // namespace

poller* new_futex_poller() { return new futex_poller; }

} // namespace eve
