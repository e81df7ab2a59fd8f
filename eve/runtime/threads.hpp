#pragma once
// Threads of the system and how they wait. In a model build: the threads of the model.
#include "atomic.hpp"

namespace eve {

// A thread with a stack of its own. The stack is large, reserved but not touched, with a guard
// page below. An overflow is reported in one line instead of a bare fault.
class thread {
public:
    void start(void (*body)(void*), void* argument);
    void join();

private:
    unsigned long handle_ = 0;
    void* stack_ = nullptr;
    usize stack_bytes_ = 0;
};

// Sleeps while the word has this value, at most for this time (-1: no limit). May return early.
void wait_on(atomic<u32>& word, u32 value, i64 timeout_us) noexcept;
void wake_on(atomic<u32>& word, int threads) noexcept;
// The same by address: for the low half of a longer word, or for memory that may be in other use
// by now.
void wait_at(void* word, u32 value, i64 timeout_us) noexcept;
void wake_at(void* word, int threads) noexcept;

// Called by a thread that may receive signals, before any signal can have a handler.
void expect_signals() noexcept;

// Lets another thread run first.
void yield_thread() noexcept;

// A spin loop for a few instructions. It pauses, and yields when the other thread seems to be
// interrupted.
class spinning {
    u32 turns_ = 0;

public:
    void turn() noexcept {
        pause();
        if (++turns_ % 256 == 0) yield_thread();
    }
    u32 turns() const noexcept { return turns_; }
};

// Reserves a large range without touching it, with a guard page at both ends. If address space is
// limited it gets less than it asked for, but at least `least`. If even that fails, the process
// ends.
void* reserve(usize& bytes, usize least) noexcept;
void unreserve(void* start, usize bytes) noexcept;
// The message for a fault in the guard pages of a range.
void name_guard(const void* start, usize bytes, const char* fault) noexcept;

} // namespace eve
