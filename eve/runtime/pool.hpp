#pragma once
// A few threads for calls that may block: names of hosts, files that epoll refuses. They are
// started when first used and touch no shared object.
#include "base.hpp"

namespace eve {

struct blocking_call {
    blocking_call* next_call = nullptr;
    // On a pool thread.
    virtual void block() noexcept = 0;

protected:
    ~blocking_call() = default;
};

// Any thread. The call lives until `block` has returned.
void run_blocking(blocking_call& call) noexcept;
// Any thread, when no call is wanted any more: returns when no pool thread is in one.
void wait_for_blocking() noexcept;

} // namespace eve
