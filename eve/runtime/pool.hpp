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

// While it lives, the pool may have one thread more. For a library whose calls may take long: it
// makes as many of them at a time as it has of these, and others still find a thread.
class pool_room {
public:
    pool_room() noexcept;
    pool_room(const pool_room&) = delete;
    pool_room& operator=(const pool_room&) = delete;
    ~pool_room();
};

// Any thread. The call must live until `block` has returned.
void run_blocking(blocking_call& call) noexcept;
// Any thread. 1: nobody waits for one of the calls any more, nor does the end of the process. -1,
// inside of `block`: that call is about to return.
void change_forsaken(int by) noexcept;
// Any thread, at the end: returns when all other calls have been made.
void wait_for_blocking() noexcept;

} // namespace eve
