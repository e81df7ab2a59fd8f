// Formats against tables and printf, times against gmtime.
#include "../format.hpp"

#include "../array.hpp"
#include "../instant.hpp"
#include "../map.hpp"
#include "../math.hpp"
#include "../result.hpp"
#include "../set.hpp"
#include "values_check.hpp"

#include <charconv>
#include <cmath>
#include <cstring>
#include <ctime>

using namespace eve;

namespace {

template <class T> eve::string put(const T& x, spec how = {}) {
    formatter f;
    f.put(x, how);
    return f.take();
}

void check_integers() {
    expect_text(put(i64(0)), "0");
    expect_text(put(least<i64>), "-9223372036854775808");
    expect_text(put(largest<u64>), "18446744073709551615");
    expect_text(put(i64(-255), {.verb = 'x'}), "-ff");
    expect_text(put(u8(200), {.verb = 'x'}), "c8");
    expect_text(put(i64(8), {.verb = 'o'}), "10");
    expect_text(put(i64(5), {.verb = 'b'}), "101");
    expect_text(put(largest<u64>, {.verb = 'b'}), std::string(64, '1'));
    expect_text(put(i64(0x20ac), {.verb = 'c'}), "\u20ac");
    expect_text(put(u8('x'), {.verb = 'c'}), "x");
    expect_text(put(u8('x'), {.verb = 'c', .width = 3}), "  x");
    expect_text(put(u8('x')), "120");
    expect_text(put(i64(-42), {.width = 8, .zero = true}), "-0000042");
    expect_text(put(i64(-42), {.width = 8, .left = true}), "-42     ");
    dice d;
    for (int i = 0; i < 5000; ++i) {
        long x = long(d.roll()) >> d.below(64);
        short width = short(d.below(25)), prec = short(d.below(25));
        char want[200];
        std::snprintf(want, sizeof want, "%*ld|%0*ld|%-*ld|%.*ld|%*.*ld", width, x, width, x, width,
                      x, prec, x, width, prec, x);
        formatter f;
        f.put(x, {.width = width});
        f.byte('|');
        f.put(x, {.width = width, .zero = true});
        f.byte('|');
        f.put(x, {.width = width, .left = true});
        f.byte('|');
        if (prec > 0) f.put(x, {.prec = prec});
        else
            f.text(want, 0), std::snprintf(want, sizeof want, "%*ld|%0*ld|%-*ld||%*ld", width, x,
                                           width, x, width, x, width, x);
        f.byte('|');
        f.put(x, {.width = width, .prec = short(prec > 0 ? prec : -1)});
        expect_text(f.take(), want);
    }
}

void check_floats() {
    struct {
        double x;
        const char* want;
    } table[] = {{0, "0"},
                 {-0.0, "-0"},
                 {1, "1"},
                 {0.1, "0.1"},
                 {1.0 / 3, "0.3333333333333333"},
                 {100000000, "100000000"},
                 {1e20, "100000000000000000000"},
                 {1e21, "1e+21"},
                 {0.0001, "0.0001"},
                 {0.00001, "1e-05"},
                 {-2.5, "-2.5"},
                 {5e-324, "5e-324"},
                 {1.7976931348623157e308, "1.7976931348623157e+308"},
                 {INFINITY, "inf"},
                 {-INFINITY, "-inf"},
                 {NAN, "nan"}};
    for (auto& c : table) expect_text(put(c.x), c.want);
    expect_text(put(f32(0.1f)), "0.1");
    expect_text(put(f32(16777216.0f)), "16777216");
    expect_text(put(3.14159, {.verb = 'f', .prec = 2}), "3.14");
    expect_text(put(3.14159, {.verb = 'v', .prec = 2}), "3.14");
    expect_text(put(-3.5, {.verb = 'f', .width = 10, .prec = 1, .zero = true}), "-0000003.5");
    expect_text(put(-INFINITY, {.verb = 'f', .width = 6, .zero = true}), "  -inf");
    expect_text(put(1e300, {.verb = 'f', .prec = 3}).cut(0, 10, &here), "1000000000");
    dice d;
    for (int i = 0; i < 20000; ++i) {
        u64 bits = d.roll();
        double x;
        std::memcpy(&x, &bits, 8);
        if (x != x) continue;
        option<f64> back = put(x).to_float();
        expect(back.has() && *back == x, "the shortest text reads back the same");
        short prec = short(d.below(30));
        char want[1000];
        std::snprintf(want, sizeof want, "%.*f %.*e %.*g", prec, x, prec, x, prec, x);
        formatter f;
        f.put(x, {.verb = 'f', .prec = prec});
        f.byte(' ');
        f.put(x, {.verb = 'e', .prec = prec});
        f.byte(' ');
        f.put(x, {.verb = 'g', .prec = prec});
        expect_text(f.take(), want);
    }
}

void check_text() {
    expect_text(put(text("abc"), {.verb = 's', .width = 5}), "  abc");
    expect_text(put(text("\u00e9t\u00e9"), {.verb = 's', .width = 5, .left = true}),
                "\u00e9t\u00e9  ");
    expect_text(put(text("\u00e9t\u00e9"), {.verb = 's', .prec = 2}), "\u00e9t");
    expect_text(put(text("hi"), {.verb = 'x'}), "6869");
    expect_text(put(true, {.width = 6}), "  true");
    bytes b = text("hello").bytes();
    expect_text(put(b, {.verb = 's'}), "hello");
    expect_text(put(b, {.verb = 'x'}), "68656c6c6f");
    expect_text(put(vector<u8>::of(1, 2)), "[1, 2]");
    formatter f;
    std::string want;
    for (int i = 0; i < 3000; ++i) {
        f.put(i64(i));
        f.text(", ", 2);
        want += std::to_string(i) + ", ";
    }
    expect_text(f.take(), want);
    expect_text(f.take(), "");
    f.put(text("again"));
    expect_text(f.take(), "again");
}

struct account {
    i64 cents;
    void print_to(formatter& f, const spec& how) const {
        f.text("account(", 8);
        f.put(cents, how);
        f.byte(')');
    }
};

void check_composed() {
    vector<account> accounts;
    accounts.push({5});
    accounts.push({7});
    expect_text(put(accounts), "[account(5), account(7)]");
    expect_text(put(make_tuple(i64(1), text("x"), 2.5, true)), "(1, x, 2.5, true)");
    expect_text(put(option<i64>(3)), "3");
    expect_text(put(option<eve::string>()), "none");
    expect_text(put(result<i64>(error(1, text("gone")))), "gone");
    expect_text(put(result<i64>(8)), "8");
    expect_text(put(array<i64, 2>::of(15, 16), {.verb = 'x'}), "[f, 10]");
    expect_text(put(set<i64>::of(3, 1)), "{3, 1}");
    map<eve::string, vector<i64>> m;
    m.set(text("b"), vector<i64>::of(1, 2));
    m.set(text("a"), vector<i64>());
    expect_text(put(m), "{b: [1, 2], a: []}");
    map<i64, vector<tuple<i64, u8>>> mixed;
    mixed.set(1'000'000'000, vector<tuple<i64, u8>>::of(make_tuple(i64(15), u8('x')),
                                                        make_tuple(i64(16), u8('y'))));
    expect_text(put(mixed, {.verbs = "txc"}), "{1s: [(f, x), (10, y)]}");
    expect_text(put(make_tuple(make_tuple(i64(1), i64(2)), i64(3)), {.verbs = "vtv"}),
                "((1, 2ns), 3)");
    expect_text(put(vector<option<tuple<bytes, i64>>>(), {.verbs = "sv"}), "[]");
    expect_text(to_text(vector<option<i64>>::of(option<i64>(), option<i64>(1))), "[none, 1]");
}

void check_times() {
    expect_text(instant{0}.iso(), "1970-01-01T00:00:00Z");
    expect_text(instant{1'700'000'000'250'000'000}.iso(), "2023-11-14T22:13:20.25Z");
    expect_text(instant{-1}.iso(), "1969-12-31T23:59:59.999999999Z");
    dice d;
    for (int i = 0; i < 5000; ++i) {
        i64 ns = i64(d.roll());
        i64 seconds = ns / 1'000'000'000 - (ns % 1'000'000'000 < 0);
        std::time_t t = seconds;
        std::tm parts{};
        gmtime_r(&t, &parts);
        char want[64];
        std::strftime(want, sizeof want, "%Y-%m-%dT%H:%M:%S", &parts);
        eve::string got = instant{ns}.iso();
        expect_text(got.cut(0, 19, &here), want);
    }
    i64 before = eve::clock();
    expect(eve::clock() >= before && eve::now().ns > 1'600'000'000'000'000'000, "clocks run");
    struct {
        i64 ns;
        const char* want;
    } spans[] = {{0, "0s"},
                 {1, "1ns"},
                 {1'500, "1.5us"},
                 {250'000'000, "250ms"},
                 {1'500'000'000, "1.5s"},
                 {90'000'000'000, "1m30s"},
                 {3'600'000'000'000, "1h0m0s"},
                 {-1'000'000'000, "-1s"},
                 {least<i64>, "-2562047h47m16.854775808s"}};
    for (auto& c : spans) expect_text(put(c.ns, {.verb = 't'}), c.want);
    expect(seconds(1'500'000'000) == 1.5 && milliseconds(1'500'000'000) == 1500, "units");
    expect(eve::min(i64(2), i64(1)) == 1 && eve::max(text("a"), text("b")) == text("b") &&
               math::sqrt(4.0) == 2.0,
           "min and max");
}

} // namespace

int main() {
    check_integers();
    check_floats();
    check_text();
    check_composed();
    check_times();
    return finish();
}
