// The default poller: nothing but other workers can bring work.
#include "crew.hpp"
#include "threads.hpp"

namespace eve {
namespace {

struct bell final : poller {
    atomic<u32> rung{0};

    void wait(i64 timeout_us) override {
        if (rung.load(order::acquire) == 0) wait_on(rung, 0, timeout_us);
        rung.store(0, order::seq_cst);
    }
    bool poll() override { return false; }
    void wake() override {
        rung.store(1, order::seq_cst);
        wake_on(rung, 1);
    }
};

} // namespace

poller* new_bell() { return new bell; }

} // namespace eve
