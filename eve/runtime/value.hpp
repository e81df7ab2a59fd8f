#pragma once
// The traits that containers need of their elements, and the memory of containers.
//
// Every Eve value may be moved by copying its bytes: no value points into itself. So containers
// grow by realloc and shift elements by memmove. That code is out of line and the same for all
// types.
#include "fail.hpp"

namespace eve {

// Copies as `.copy()` or = does. Types that are not copied implicitly have a method copy.
template <class T> T copy_of(const T& x) {
    if constexpr (requires { x.copy(); }) return x.copy();
    else return x;
}

// The zero value. That of a handle is a new object: object.hpp specialises this.
template <class T> struct zero {
    static T make() { return T(); }
};
template <class T> T zero_of() { return zero<T>::make(); }

// Whether all zero bytes are the zero value and there is no destructor.
template <class T> inline constexpr bool is_plain = __is_trivially_copyable(T) && __is_trivial(T);

template <class T> void destroy(T* items, i64 n) noexcept {
    if constexpr (!__has_trivial_destructor(T)) {
        for (i64 i = 0; i < n; ++i) items[i].~T();
    }
}

// A type with a spare bit pattern makes its option no larger: it can be constructed from `niche`,
// and is_niche() tells whether it was.
struct niche {};
template <class T>
concept has_niche = requires(const T& x) {
    T(niche{});
    x.is_niche();
};

// Any thread. Memory for n elements of `size` bytes, aligned for all types. The process ends if
// there is none.
void* buffer_new(i64 n, u64 size) noexcept;
void* buffer_resize(void* old, i64 n, u64 size) noexcept;
inline void buffer_free(void* p) noexcept { __builtin_free(p); }

// Subtracted from a container's capacity while it is iterated. The capacity is then negative, so
// the test for a full container finds it too. Readers may iterate at the same time, hence atomic.
inline constexpr i64 pin_unit = i64(1) << 48;
inline constexpr i64 capacity_mask = pin_unit - 1;

// Pins a container during an iteration: a change through another name then fails. Views and arrays
// have a fixed size and no pin.
template <class C> class iteration {
public:
    explicit iteration(const C& c) noexcept : held_(c) {
        if constexpr (requires { held_.pin(); }) held_.pin();
    }
    ~iteration() {
        if constexpr (requires { held_.pin(); }) held_.unpin();
    }
    iteration(const iteration&) = delete;
    iteration& operator=(const iteration&) = delete;

private:
    const C& held_;
};

} // namespace eve
