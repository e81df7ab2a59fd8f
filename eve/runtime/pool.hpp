#pragma once
// A few threads for calls that may block: host names, files that epoll refuses. They start at
// first use, and touch no shared object.
#include "base.hpp"

namespace eve {

struct blocking_call {
    blocking_call* next_call = nullptr;
    // On a pool thread.
    virtual void block() noexcept = 0;

protected:
    ~blocking_call() = default;
};

// Any thread. The call must live until `block` has returned.
void run_blocking(blocking_call& call) noexcept;
// Any thread, at the end: returns when no pool thread is in a call.
void wait_for_blocking() noexcept;

} // namespace eve
