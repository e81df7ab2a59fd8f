#pragma once
// The functions of module math, and min and max of the prelude.
#include "number.hpp"

namespace eve {

template <class T> T min(const T& a, const T& b) { return b < a ? b : a; }
template <class T> T max(const T& a, const T& b) { return a < b ? b : a; }

namespace math {

inline constexpr f64 pi = 3.141592653589793;
inline f64 sqrt(f64 x) noexcept { return __builtin_sqrt(x); }
inline f64 pow(f64 x, f64 y) noexcept { return __builtin_pow(x, y); }
inline f64 floor(f64 x) noexcept { return __builtin_floor(x); }
inline f64 ceil(f64 x) noexcept { return __builtin_ceil(x); }
inline f64 sin(f64 x) noexcept { return __builtin_sin(x); }
inline f64 cos(f64 x) noexcept { return __builtin_cos(x); }
inline f64 exp(f64 x) noexcept { return __builtin_exp(x); }
inline f64 log(f64 x) noexcept { return __builtin_log(x); }

} // namespace math
} // namespace eve
