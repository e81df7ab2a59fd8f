#pragma once
// Names of the integers, and the few language tools that every header needs. Neither this header
// nor any other one includes a header of the standard library: a small program then compiles five
// times faster.

namespace eve {

using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long;
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long;
using f32 = float;
using f64 = double;
using usize = decltype(sizeof 0);
using character = u8;
using duration = i64; // nanoseconds

static_assert(sizeof(i64) == 8 && sizeof(void*) == 8, "Eve runs on 64-bit machines only");

// A build for the seeded scheduler of test/model.hpp: every atomic operation is then a point at
// which threads may switch.
#ifdef EVE_MODEL
inline constexpr bool modelled = true;
#else
inline constexpr bool modelled = false;
#endif

namespace model {
void step();  // any thread of the model: switches to another one, if the seed says so
void yield(); // the same, but prefers another thread: for loops that wait for one
u64 ticks();  // steps so far
} // namespace model

[[gnu::always_inline]] inline constexpr bool likely(bool x) { return __builtin_expect(x, true); }
[[gnu::always_inline]] inline constexpr bool unlikely(bool x) { return __builtin_expect(x, false); }

template <class T> struct bare_of { using type = T; };
template <class T> struct bare_of<T&> { using type = T; };
template <class T> struct bare_of<T&&> { using type = T; };
template <class T> struct bare_of<const T> { using type = T; };
template <class T> struct bare_of<const T&> { using type = T; };
template <class T> struct bare_of<const T&&> { using type = T; };
// T without reference and const.
template <class T> using bare = typename bare_of<T>::type;

template <class T> struct referred_of { using type = T; };
template <class T> struct referred_of<T&> { using type = T; };
template <class T> struct referred_of<T&&> { using type = T; };

template <class T>
[[gnu::always_inline]] constexpr typename referred_of<T>::type&& move(T&& x) noexcept {
    return static_cast<typename referred_of<T>::type&&>(x);
}
template <class T>
[[gnu::always_inline]] constexpr T&& forward(typename referred_of<T>::type& x) noexcept {
    return static_cast<T&&>(x);
}

// `new (place{p}) T(..)` constructs in the storage at p. It does the same as <new>'s placement
// new.
struct place {
    void* at;
};

// Tells the processor that this is a spin loop.
[[gnu::always_inline]] inline void pause() {
    if constexpr (modelled) return model::yield();
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// A clock for short spans. It never goes back on one processor. Its unit is unknown, and below a
// microsecond.
[[gnu::always_inline]] inline u64 ticks() {
    if constexpr (modelled) return model::ticks();
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    u64 t;
    asm volatile("mrs %0, cntvct_el0" : "=r"(t));
    return t;
#else
    return 0;
#endif
}

} // namespace eve

inline void* operator new(eve::usize, eve::place p) noexcept { return p.at; }
inline void operator delete(void*, eve::place) noexcept {}
