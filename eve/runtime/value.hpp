#pragma once
// What containers ask of the types of their elements, and the memory that containers live in.
//
// Every Eve value may be moved by copying its bytes: no value points into itself. So
// containers grow by realloc and shift elements by memmove, and that code is out of line and
// the same for all types.
#include "fail.hpp"

namespace eve {

// The copy that `.copy()` and copying by = make: types that are not copied unasked
// have a method copy.
template <class T> T copy_of(const T& x) {
    if constexpr (requires { x.copy(); }) return x.copy();
    else return x;
}

// The zero value. A handle's zero value is a new object: object.hpp specialises this.
template <class T> struct zero {
    static T make() { return T(); }
};
template <class T> T zero_of() { return zero<T>::make(); }

// Whether all zero bytes are the zero value and nothing needs to be destroyed.
template <class T> inline constexpr bool is_plain = __is_trivially_copyable(T) && __is_trivial(T);

template <class T> void destroy(T* items, i64 n) noexcept {
    if constexpr (!__has_trivial_destructor(T)) {
        for (i64 i = 0; i < n; ++i) items[i].~T();
    }
}

// A type with a bit pattern to spare makes an option of itself no bigger: it can be built from
// `niche` and says by is_niche() whether it was.
struct niche {};
template <class T>
concept has_niche = requires(const T& x) {
    T(niche{});
    x.is_niche();
};

// Any thread. Memory for n things of `size` bytes, aligned for all types; the process ends
// if there is none.
void* buffer_new(i64 n, u64 size) noexcept;
void* buffer_resize(void* old, i64 n, u64 size) noexcept;
inline void buffer_free(void* p) noexcept { __builtin_free(p); }

// Set in a container's capacity while it is iterated: negative, so that the test for a full
// container also finds it. Readers may iterate at the same time, hence atomic.
inline constexpr i64 pin_unit = i64(1) << 48;
inline constexpr i64 capacity_mask = pin_unit - 1;

// Holds a container in iteration: who changes it through another name fails. Views and arrays have
// a fixed size and no pin.
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
