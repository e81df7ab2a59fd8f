#pragma once
// Assertions on comparisons: `assert f(3) == 9` fails with both values.
//
//   assert_eq(f(3), i64(9), &here, "f(3) == 9"); // ...: left is 8, right is 9
#include "fail.hpp"
#include "format.hpp"

namespace eve {

namespace detail {

// Returns the text of a value, which fail_compared cuts.
template <class T> [[gnu::cold, gnu::noinline]] string text_of_side(const T& x, const spec& how) {
    formatter f;
    f.put(x, how);
    return f.take();
}

template <class L, class R>
[[noreturn, gnu::cold, gnu::noinline]] void
fail_sides(const L& left, const R& right, const site* at, const char* expression, const spec& how) {
    fail_compared(at, expression, text_of_side(left, how), text_of_side(right, how),
                  __is_same(L, string));
}

} // namespace detail

// Any thread: the caller may read both values.
template <class L, class R>
void assert_eq(const L& x, const R& y, const site* at, const char* text, const spec& how = {}) {
    if (!(x == y)) [[unlikely]]
        detail::fail_sides(x, y, at, text, how);
}
template <class L, class R>
void assert_ne(const L& x, const R& y, const site* at, const char* text, const spec& how = {}) {
    if (!(x != y)) [[unlikely]]
        detail::fail_sides(x, y, at, text, how);
}
template <class L, class R>
void assert_lt(const L& x, const R& y, const site* at, const char* text, const spec& how = {}) {
    if (!(x < y)) [[unlikely]]
        detail::fail_sides(x, y, at, text, how);
}
template <class L, class R>
void assert_le(const L& x, const R& y, const site* at, const char* text, const spec& how = {}) {
    if (!(x <= y)) [[unlikely]]
        detail::fail_sides(x, y, at, text, how);
}
template <class L, class R>
void assert_gt(const L& x, const R& y, const site* at, const char* text, const spec& how = {}) {
    if (!(x > y)) [[unlikely]]
        detail::fail_sides(x, y, at, text, how);
}
template <class L, class R>
void assert_ge(const L& x, const R& y, const site* at, const char* text, const spec& how = {}) {
    if (!(x >= y)) [[unlikely]]
        detail::fail_sides(x, y, at, text, how);
}

} // namespace eve
