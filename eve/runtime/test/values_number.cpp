// Arithmetic against the same in 128 bits, at the limits of every type.
#include "../number.hpp"

#include "values_check.hpp"

#include <cmath>
#include <limits>
#include <vector>

using namespace eve;

namespace {

using wide = __int128;

template <class T> std::vector<T> samples() {
    std::vector<T> v = {T(0),
                        T(1),
                        T(2),
                        T(3),
                        T(7),
                        T(10),
                        T(100),
                        least<T>,
                        T(least<T> + 1),
                        largest<T>,
                        T(largest<T> - 1),
                        T(largest<T> / 2)};
    for (int x : {-1, -2, -7, -100}) {
        if (is_signed<T>) v.push_back(T(x));
    }
    dice d;
    for (int i = 0; i < 10; ++i) v.push_back(T(d.roll()));
    return v;
}

// A product of two u64 that does not fit i128 stays out of the range of T.
wide product(wide a, wide b) {
    wide r;
    (void)__builtin_mul_overflow(a, b, &r);
    return r;
}

template <class T> bool in_range(wide x) { return x >= wide(least<T>) && x <= wide(largest<T>); }

template <class T, class Op> void check(wide exact, T wrapped, Op op) {
    expect(wrapped == T(exact), "the wrapping result is the exact one cut to the width");
    T got{};
    std::string why = failure_of([&] { got = op(); });
    if (in_range<T>(exact))
        expect(why.empty() && wide(got) == exact, "a result that fits is exact");
    else expect(why == "integer overflow", "a result that does not fit fails");
}

template <class T> void check_pairs() {
    for (T a : samples<T>()) {
        check<T>(-wide(a), wrap_neg(a), [&] { return neg(a, &here); });
        for (T b : samples<T>()) {
            check<T>(wide(a) + b, wrap_add(a, b), [&] { return add(a, b, &here); });
            check<T>(wide(a) - b, wrap_sub(a, b), [&] { return sub(a, b, &here); });
            check<T>(product(a, b), wrap_mul(a, b), [&] { return mul(a, b, &here); });
            if (b != 0) {
                check<T>(wide(a) / b, T(wide(a) / b), [&] { return div(a, b, &here); });
                check<T>(wide(a) / b, T(wide(a) / b), [&] { return wrap_div(a, b, &here); });
                expect(wide(rem(a, b, &here)) == wide(a) % b, "remainder");
            } else {
                expect(failure_of([&] { div(a, b, &here); }) == "division by zero",
                       "division by zero");
                expect(failure_of([&] { wrap_div(a, b, &here); }) == "division by zero",
                       "division by zero");
                expect(failure_of([&] { rem(a, b, &here); }) == "division by zero",
                       "remainder by zero");
            }
        }
        for (int n = -1; n <= bits_of<T>; ++n) {
            if (n < 0 || n == bits_of<T>) {
                expect(!failure_of([&] { shl(a, n, &here); }).empty(), "bad shift left");
                expect(!failure_of([&] { shr(a, n, &here); }).empty(), "bad shift right");
            } else {
                expect(shl(a, n, &here) == T(static_cast<unsigned __int128>(a) << n), "shift left");
                expect(shr(a, n, &here) == T(wide(a) >> n), "shift right");
            }
        }
    }
}

template <class To, class From> void check_convert() {
    for (From x : samples<From>()) {
        expect(convert<To>(x) == To(wide(x)), "truncation");
        To got{};
        bool failed = !failure_of([&] { got = convert<To>(x, &here); }).empty();
        expect(failed != in_range<To>(wide(x)) && (failed || wide(got) == wide(x)),
               "checked conversion");
    }
}

template <class To> void check_from_floats() {
    double limit = std::ldexp(1.0, bits_of<To> - is_signed<To>);
    double low = is_signed<To> ? -limit : 0.0;
    double below = is_signed<To> ? std::nextafter(low, -1e30) : -1.0;
    if (is_signed<To> && bits_of<To> < 53) below = low - 1.0;
    expect(convert<To>(limit) == To(static_cast<unsigned __int128>(limit)),
           "the low bits of what is too big");
    expect(convert<To>(-3e10) == To(wide(-3e10)) && convert<To>(0x1.8p70) == To(0),
           "the low bits of what is too small");
    expect(convert<To>(0x1.123456789abcdp64) == To(0x123456789abcd000), "the low bits beyond 64");
    expect(convert<To>(std::nan("")) == To(0), "NaN becomes 0");
    expect(convert<To>(std::numeric_limits<double>::infinity()) == To(0), "infinity becomes 0");
    expect(convert<To>(low) == least<To>, "the least fits");
    expect(convert<To>(42.9) == To(42), "cut towards zero");
    expect(!failure_of([&] { convert<To>(limit, &here); }).empty(), "too big fails");
    expect(!failure_of([&] { convert<To>(below, &here); }).empty(), "too small fails");
    expect(!failure_of([&] { convert<To>(std::nan(""), &here); }).empty(), "NaN fails");
    expect(failure_of([&] { convert<To>(low, &here); }).empty(), "the least does not fail");
    expect(failure_of([&] { convert<To>(-0.5, &here); }).empty(), "-0.5 is 0");
    expect(failure_of([&] { convert<To>(std::nextafter(limit, 0.0), &here); }).empty(),
           "the greatest that fits");
    if (is_signed<To>) expect(convert<To>(-42.9) == To(-42), "cut towards zero");
}

template <class T> void check_type() {
    check_pairs<T>();
    check_convert<i8, T>();
    check_convert<i32, T>();
    check_convert<i64, T>();
    check_convert<u8, T>();
    check_convert<u16, T>();
    check_convert<u64, T>();
    check_from_floats<T>();
}

void check_power() {
    expect(eve::pow(i64(3), 4, &here) == 81 && eve::pow(i64(-2), 63, &here) == least<i64>,
           "powers");
    expect(eve::pow(i64(7), 0, &here) == 1 && eve::pow(i64(0), 0, &here) == 1, "to the power of 0");
    expect(!failure_of([] { eve::pow(i64(2), 63, &here); }).empty(), "2 ** 63 does not fit");
    expect(!failure_of([] { eve::pow(i64(2), -1, &here); }).empty(), "negative power");
    expect(wrap_pow(u8(3), 5, &here) == u8(243) && wrap_pow(i64(2), 64, &here) == 0,
           "wrapping powers");
    expect(eve::pow(2.0, 0.5) == std::sqrt(2.0), "power of floats");
    expect(eve::abs(i64(-3)) == 3 && eve::abs(-0.0) == 0 && !std::signbit(eve::abs(-0.0)),
           "absolute value");
    expect(!failure_of([] { eve::abs(least<i64>, &here); }).empty(),
           "the least has no absolute value");
}

} // namespace

int main() {
    check_type<i8>();
    check_type<i16>();
    check_type<i32>();
    check_type<i64>();
    check_type<u8>();
    check_type<u16>();
    check_type<u32>();
    check_type<u64>();
    check_power();
    return finish();
}
