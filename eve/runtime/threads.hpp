#pragma once
// Threads of the system and their waiting, or under the model its threads and theirs.
#include "atomic.hpp"

namespace eve {

// A thread with a stack of its own: large, reserved but not touched, with a page below that must
// not be. Going over its end is reported in one line instead of a bare fault.
class thread {
public:
    void start(void (*body)(void*), void* argument);
    void join();

private:
    unsigned long handle_ = 0;
    void* stack_ = nullptr;
    usize stack_bytes_ = 0;
};

// Sleeps while the word has this value, at most so long (-1: no limit). May return early.
void wait_on(atomic<u32>& word, u32 value, i64 timeout_us) noexcept;
void wake_on(atomic<u32>& word, int threads) noexcept;
// The same by address: the low half of a longer word, or what may mean something else by now.
void wait_at(void* word, u32 value, i64 timeout_us) noexcept;
void wake_at(void* word, int threads) noexcept;

// Called by a thread that may receive signals, before any signal can have a handler.
void expect_signals() noexcept;

// Lets another thread run first.
void give_way() noexcept;

// A loop that waits a few instructions for another thread: pauses, and gives way when that one
// was interrupted.
class spinning {
    u32 turns_ = 0;

public:
    void turn() noexcept {
        pause();
        if (++turns_ % 256 == 0) give_way();
    }
    u32 turns() const noexcept { return turns_; }
};

// Large memory that is reserved and not touched, with a forbidden page at both ends. Where address
// space is limited it gets less than it asks for, but not less than `least`; the process ends if
// there is not even that.
void* reserve(usize& bytes, usize least) noexcept;
void unreserve(void* start, usize bytes) noexcept;
// What a fault in the forbidden pages of a range is reported as.
void name_guard(const void* start, usize bytes, const char* fault) noexcept;

} // namespace eve
