#pragma once
// One word that threads share. Like std::atomic, but its header costs nothing to compile (std's
// takes a fifth of a second), and the memory order is always written. In a model build every
// operation is a point at which the seed may switch to another thread.
//
//   atomic<u32> count{1};
//   if (count.fetch_sub(1, order::acq_rel) == 1) free_it();
#include "base.hpp"

namespace eve {

enum class order : int {
    relaxed = __ATOMIC_RELAXED,
    acquire = __ATOMIC_ACQUIRE,
    release = __ATOMIC_RELEASE,
    acq_rel = __ATOMIC_ACQ_REL,
    seq_cst = __ATOMIC_SEQ_CST,
};

// Any thread, all methods.
template <class T> class atomic {
    T value_;

    [[gnu::always_inline]] static void before() {
        if constexpr (modelled) model::step();
    }

public:
    constexpr atomic() noexcept : value_() {}
    constexpr explicit atomic(T value) noexcept : value_(value) {}
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;

    [[gnu::always_inline]] T load(order o) const noexcept {
        before();
        return __atomic_load_n(&value_, int(o));
    }
    [[gnu::always_inline]] void store(T x, order o) noexcept {
        before();
        __atomic_store_n(&value_, x, int(o));
    }
    [[gnu::always_inline]] T exchange(T x, order o) noexcept {
        before();
        return __atomic_exchange_n(&value_, x, int(o));
    }
    // On failure `expected` becomes the value that was found.
    [[gnu::always_inline]] bool compare_exchange(T& expected, T x, order done,
                                                 order failed) noexcept {
        before();
        return __atomic_compare_exchange_n(&value_, &expected, x, false, int(done), int(failed));
    }
    [[gnu::always_inline]] T fetch_add(T x, order o) noexcept {
        before();
        return __atomic_fetch_add(&value_, x, int(o));
    }
    [[gnu::always_inline]] T fetch_sub(T x, order o) noexcept {
        before();
        return __atomic_fetch_sub(&value_, x, int(o));
    }
    [[gnu::always_inline]] T fetch_or(T x, order o) noexcept {
        before();
        return __atomic_fetch_or(&value_, x, int(o));
    }
    [[gnu::always_inline]] T fetch_and(T x, order o) noexcept {
        before();
        return __atomic_fetch_and(&value_, x, int(o));
    }
    // The address of the value, for the kernel's futex.
    T* raw() noexcept { return &value_; }
};

} // namespace eve
