#pragma once
// Time values: instant, nanoseconds since 1970 (UTC), and duration, an i64 of nanoseconds with
// functions in place of methods.
#include "format.hpp"

namespace eve {

struct instant {
    i64 ns = 0;

    static instant from_unix(i64 seconds, const site* here = nullptr);
    static instant from_unix_nanoseconds(i64 n) noexcept { return {n}; }
    // Seconds since 1970, rounded down. Eve's unix: that name is a macro of the compiler.
    i64 unix_() const noexcept { return ns / 1'000'000'000 - (ns % 1'000'000'000 < 0); }
    instant plus(duration d, const site* here = nullptr) const;
    duration since(const instant& earlier, const site* here = nullptr) const;
    bool before(const instant& other) const noexcept { return ns < other.ns; }
    // "2026-11-21T05:30:00.25Z". There is no fraction if it is 0.
    string iso() const;
    i64 unix_nanoseconds() const noexcept { return ns; }
    u64 hash_value() const noexcept { return hash_of(ns); }
    friend bool operator==(const instant& a, const instant& b) noexcept { return a.ns == b.ns; }
    friend bool operator<(const instant& a, const instant& b) noexcept { return a.ns < b.ns; }
};

instant now() noexcept;
// The time since an arbitrary moment before the start of the program.
duration clock() noexcept;

inline f64 seconds(duration d) noexcept { return f64(d) / 1e9; }
inline i64 milliseconds(duration d) noexcept { return d / 1'000'000; }
inline i64 nanoseconds(duration d) noexcept { return d; }
// "1.5s", "250ms", "1m30s", "0s".
string duration_text(duration d);

} // namespace eve
