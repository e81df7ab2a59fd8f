#pragma once
// A spin lock of one byte, for a few instructions. It is never held over a handler, nor over a
// call that may block.
//
//   locked l(guard);
#include "atomic.hpp"

namespace eve {

// Any thread, all methods.
class spin_lock {
public:
    void lock() noexcept {
        if (unlikely(held_.exchange(1, order::acquire) != 0)) wait();
    }
    bool try_lock() noexcept {
        return held_.load(order::relaxed) == 0 && held_.exchange(1, order::acquire) == 0;
    }
    void unlock() noexcept { held_.store(0, order::release); }

private:
    [[gnu::cold, gnu::noinline]] void wait() noexcept;
    atomic<u8> held_;
};

class locked {
public:
    explicit locked(spin_lock& lock) noexcept : lock_(lock) { lock_.lock(); }
    ~locked() { lock_.unlock(); }
    locked(const locked&) = delete;
    locked& operator=(const locked&) = delete;

private:
    spin_lock& lock_;
};

} // namespace eve
