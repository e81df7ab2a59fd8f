#pragma once
// Arithmetic with a defined result in every case. `add` fails on overflow (run, test, build
// --checked); `wrap_add` wraps (build, and Eve's +%). Division by zero and a bad shift fail in all
// builds.
#include "fail.hpp"

namespace eve {

template <class T> inline constexpr bool is_integer = false;
template <> inline constexpr bool is_integer<i8> = true;
template <> inline constexpr bool is_integer<i16> = true;
template <> inline constexpr bool is_integer<i32> = true;
template <> inline constexpr bool is_integer<i64> = true;
template <> inline constexpr bool is_integer<u8> = true;
template <> inline constexpr bool is_integer<u16> = true;
template <> inline constexpr bool is_integer<u32> = true;
template <> inline constexpr bool is_integer<u64> = true;
template <class T> inline constexpr bool is_float = false;
template <> inline constexpr bool is_float<f32> = true;
template <> inline constexpr bool is_float<f64> = true;
template <class T>
concept integer = is_integer<T>;
template <class T>
concept floating = is_float<T>;
template <class T>
concept number = integer<T> || floating<T>;
template <class T> inline constexpr bool is_signed = T(-1) < T(0);
template <class T> inline constexpr int bits_of = int(sizeof(T) * 8);
template <class T>
inline constexpr T largest = T(is_signed<T> ? (u64(1) << (bits_of<T> - 1)) - 1 : ~u64(0));
template <class T> inline constexpr T least = T(is_signed<T> ? T(-largest<T> - 1) : T(0));

// A parameter of type `plain<T>` is not used to deduce T: add(x, 1, at) has the type of x.
template <class T> struct plain_of { using type = T; };
template <class T> using plain = typename plain_of<T>::type;

template <integer T> constexpr T wrap_add(T a, plain<T> b) noexcept {
    T r;
    (void)__builtin_add_overflow(a, b, &r);
    return r;
}
template <integer T> constexpr T wrap_sub(T a, plain<T> b) noexcept {
    T r;
    (void)__builtin_sub_overflow(a, b, &r);
    return r;
}
template <integer T> constexpr T wrap_mul(T a, plain<T> b) noexcept {
    T r;
    (void)__builtin_mul_overflow(a, b, &r);
    return r;
}
template <integer T> constexpr T wrap_neg(T a) noexcept { return wrap_sub(T(0), a); }

template <integer T> constexpr T add(T a, plain<T> b, const site* at) {
    T r;
    if (__builtin_add_overflow(a, b, &r)) [[unlikely]]
        fail_overflow(at);
    return r;
}
template <integer T> constexpr T sub(T a, plain<T> b, const site* at) {
    T r;
    if (__builtin_sub_overflow(a, b, &r)) [[unlikely]]
        fail_overflow(at);
    return r;
}
template <integer T> constexpr T mul(T a, plain<T> b, const site* at) {
    T r;
    if (__builtin_mul_overflow(a, b, &r)) [[unlikely]]
        fail_overflow(at);
    return r;
}
template <integer T> constexpr T neg(T a, const site* at) { return sub(T(0), a, at); }

template <integer T> constexpr T div(T a, plain<T> b, const site* at) {
    if (b == 0) [[unlikely]]
        fail_divide(at);
    if constexpr (is_signed<T>) {
        if (b == T(-1)) return neg(a, at);
    }
    return T(a / b);
}
// There is no wrapping division: the least number divided by -1 fails in all builds. The name
// exists for generic code.
template <integer T> constexpr T wrap_div(T a, plain<T> b, const site* at) { return div(a, b, at); }
// The remainder has the sign of a. It always fits, so there is no wrapping version.
template <integer T> constexpr T rem(T a, plain<T> b, const site* at) {
    if (b == 0) [[unlikely]]
        fail_divide(at);
    if constexpr (is_signed<T>) {
        if (b == T(-1)) return T(0);
    }
    return T(a % b);
}

// Bits that are shifted out are lost, in checked builds too. A count below 0, or from the width
// on, fails.
template <integer T, integer N> constexpr T shl(T a, N count, const site* at) {
    if (u64(count) >= u64(bits_of<T>)) [[unlikely]]
        fail_shift(i64(count), bits_of<T>, at);
    return T(u64(a) << count);
}
// An arithmetic shift: it copies the sign of a signed number.
template <integer T, integer N> constexpr T shr(T a, N count, const site* at) {
    if (u64(count) >= u64(bits_of<T>)) [[unlikely]]
        fail_shift(i64(count), bits_of<T>, at);
    return T(a >> count);
}

// a to the power of n by squaring. A negative n fails for integers.
template <integer T, integer N> constexpr T wrap_pow(T a, N n, const site* at) {
    if (n < N(0)) [[unlikely]]
        fail_power(at);
    T r = 1;
    for (u64 left = u64(n); left != 0; left >>= 1) {
        if (left & 1) r = wrap_mul(r, a);
        a = wrap_mul(a, a);
    }
    return r;
}
template <integer T, integer N> constexpr T pow(T a, N n, const site* at) {
    if (n < N(0)) [[unlikely]]
        fail_power(at);
    T r = 1;
    for (u64 left = u64(n);;) {
        if (left & 1) r = mul(r, a, at);
        left >>= 1;
        if (left == 0) return r;
        a = mul(a, a, at);
    }
}
inline f64 pow(f64 a, f64 b) noexcept { return __builtin_pow(a, b); }
inline f32 pow(f32 a, f32 b) noexcept { return __builtin_powf(a, b); }

// The same names for floats, for generic code. IEEE 754 gives infinities and NaN.
template <floating T> constexpr T add(T a, plain<T> b, const site*) noexcept { return a + b; }
template <floating T> constexpr T sub(T a, plain<T> b, const site*) noexcept { return a - b; }
template <floating T> constexpr T mul(T a, plain<T> b, const site*) noexcept { return a * b; }
template <floating T> constexpr T div(T a, plain<T> b, const site*) noexcept { return a / b; }
template <floating T> constexpr T neg(T a, const site*) noexcept { return -a; }
template <floating T> constexpr T wrap_add(T a, plain<T> b) noexcept { return a + b; }
template <floating T> constexpr T wrap_sub(T a, plain<T> b) noexcept { return a - b; }
template <floating T> constexpr T wrap_mul(T a, plain<T> b) noexcept { return a * b; }
template <floating T> constexpr T wrap_div(T a, plain<T> b, const site*) noexcept { return a / b; }
template <floating T> constexpr T wrap_neg(T a) noexcept { return -a; }

// The least power of two above every value of To: a number from here on does not fit.
template <integer To>
inline constexpr f64 float_bound = f64(u64(1) << (bits_of<To> - 1)) * (is_signed<To> ? 1.0 : 2.0);

// Whether x, truncated to a whole number, fits To.
template <integer To, number From> constexpr bool fits(From x) noexcept {
    if constexpr (is_float<From>) {
        f64 low = is_signed<To> ? -float_bound<To> : 0.0;
        f64 cut = f64(x);
        if (bits_of<To> <= 32) return cut > low - 1.0 && cut < float_bound<To>;
        return (is_signed<To> ? cut >= low : cut > -1.0) && cut < float_bound<To>;
    } else {
        To r{};
        return !__builtin_add_overflow(x, From(0), &r);
    }
}

// The low 64 bits of x truncated to an integer; 0 for NaN and infinity.
u64 low_bits(f64 x) noexcept;

// Keeps the low bits of a number that does not fit.
template <number To, number From> constexpr To convert(From x) noexcept {
    if constexpr (is_integer<To> && is_float<From>) {
        if (fits<To>(x)) [[likely]]
            return To(x);
        return To(low_bits(f64(x)));
    } else {
        return To(x);
    }
}
// For checked builds: fails when x does not fit.
template <number To, number From> constexpr To convert(From x, const site* at) {
    if constexpr (is_integer<To>) {
        if (!fits<To>(x)) [[unlikely]]
            fail_convert(at);
    }
    return To(x);
}

template <number T> constexpr T abs(T x) noexcept {
    if constexpr (is_float<T>) return x < T(0) || (x == T(0) && 1 / x < T(0)) ? -x : x;
    else return x < T(0) ? wrap_neg(x) : x;
}
template <number T> constexpr T abs(T x, const site* at) {
    if constexpr (is_float<T>) return abs(x);
    else return x < T(0) ? neg(x, at) : x;
}

} // namespace eve
