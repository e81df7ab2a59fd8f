// Clocks, and time as text.
#include "instant.hpp"

#include "fake_time.hpp"

#include <ctime>

namespace eve {

namespace {

constexpr i64 second = 1'000'000'000;
constexpr i64 day = 86'400;

i64 read_clock(clockid_t which) noexcept {
    timespec t{};
    clock_gettime(which, &t);
    return i64(t.tv_sec) * second + t.tv_nsec;
}

struct date {
    i64 year;
    i64 month;
    i64 day_of_month;
};

// The Gregorian calendar, in eras of 400 years from 1 March of year 0 (after Howard Hinnant's
// "chrono-compatible low-level date algorithms").
date date_of(i64 days_since_1970) noexcept {
    i64 days = days_since_1970 + 719'468;
    i64 era = (days >= 0 ? days : days - 146'096) / 146'097;
    i64 of_era = days - era * 146'097;
    i64 year = (of_era - of_era / 1'460 + of_era / 36'524 - of_era / 146'096) / 365;
    i64 of_year = of_era - (365 * year + year / 4 - year / 100);
    i64 month = (5 * of_year + 2) / 153;
    return {year + era * 400 + (month >= 10), month < 10 ? month + 3 : month - 9,
            of_year - (153 * month + 2) / 5 + 1};
}

// Writes a point and the digits of `part` billionths, without trailing zeros. Writes nothing for
// 0.
void put_fraction(formatter& f, i64 part, int digits) {
    if (part == 0) return;
    while (part % 10 == 0) {
        part /= 10;
        --digits;
    }
    f.byte('.');
    f.put(part, {.prec = short(digits)});
}

void put_two(formatter& f, i64 x, char behind) {
    f.put(x, {.prec = 2});
    f.byte(behind);
}

} // namespace

// Fake time begins at 2000-01-01T00:00:00Z.
constexpr i64 fake_start_ns = 946'684'800 * second;

instant now() noexcept {
    if (unlikely(the_fake_clock.on())) return {fake_start_ns + the_fake_clock.now_ns()};
    return {read_clock(CLOCK_REALTIME)};
}

duration clock() noexcept { return program_ns(); }

namespace {

[[noreturn]] void fail_instant(const site* here) { fail(here, "an instant is from 1677 to 2262"); }

} // namespace

instant instant::from_unix(i64 seconds, const site* here) {
    i64 ns;
    if (__builtin_mul_overflow(seconds, second, &ns)) fail_instant(here);
    return {ns};
}

instant instant::plus(duration d, const site* here) const {
    i64 then;
    if (__builtin_add_overflow(ns, d, &then)) fail_instant(here);
    return {then};
}

duration instant::since(const instant& earlier, const site* here) const {
    duration d;
    if (__builtin_sub_overflow(ns, earlier.ns, &d)) fail(here, "a duration is 292 years at most");
    return d;
}

string instant::iso() const {
    i64 rest = ns % second, whole = ns / second;
    if (rest < 0) {
        rest += second;
        --whole;
    }
    i64 of_day = whole % day, days = whole / day;
    if (of_day < 0) {
        of_day += day;
        --days;
    }
    date d = date_of(days);
    formatter f;
    f.put(d.year, {.prec = 4});
    f.byte('-');
    put_two(f, d.month, '-');
    put_two(f, d.day_of_month, 'T');
    put_two(f, of_day / 3600, ':');
    put_two(f, of_day / 60 % 60, ':');
    f.put(of_day % 60, {.prec = 2});
    put_fraction(f, rest, 9);
    f.byte('Z');
    return f.take();
}

string duration_text(duration d) {
    formatter f;
    if (d < 0) f.byte('-');
    u64 left = d < 0 ? wrap_neg(u64(d)) : u64(d);
    if (left < u64(second)) {
        // Below a second, the largest unit that fits at least once.
        u64 unit = left < 1'000 ? 1 : left < 1'000'000 ? 1'000 : 1'000'000;
        f.put(left / unit);
        put_fraction(f, i64(left % unit), unit == 1 ? 0 : unit == 1'000 ? 3 : 6);
        if (left == 0) f.text("s", 1);
        else if (unit == 1) f.text("ns", 2);
        else if (unit == 1'000) f.text("us", 2);
        else f.text("ms", 2);
        return f.take();
    }
    u64 seconds = left / u64(second);
    if (seconds >= 3600) {
        f.put(seconds / 3600);
        f.byte('h');
    }
    if (seconds >= 60) {
        f.put(seconds / 60 % 60);
        f.byte('m');
    }
    f.put(seconds % 60);
    put_fraction(f, i64(left % u64(second)), 9);
    f.byte('s');
    return f.take();
}

} // namespace eve
