// option, result, error, tuple, fn, callback and failure.
#include "../failure.hpp"
#include "../function.hpp"
#include "../vector.hpp"
#include "values_check.hpp"

#include <thread>
#include <vector>

using namespace eve;

namespace {

// Counts the live instances; can be copied.
struct counted {
    long x;
    static inline long alive = 0;
    counted(long y = 0) : x(y) { ++alive; }
    counted(const counted& o) : x(o.x) { ++alive; }
    counted(counted&& o) noexcept : x(o.x) { ++alive; }
    counted& operator=(const counted&) = default;
    ~counted() { --alive; }
    friend bool operator==(const counted& a, const counted& b) { return a.x == b.x; }
};

template <class T> void check_option(T a, T b) {
    option<T> x, y = a, z(none);
    expect(!x.has() && y.has() && !z.has() && *y == a && x == z && !(x == y), "option");
    x = y;
    expect(x == y && *x == a, "copied");
    y = option<T>(b);
    expect(*y == b && *x == a && *some(b) == b, "assigned");
    option<T> moved = static_cast<option<T>&&>(y);
    expect(*moved == b && moved.take() == b, "moved");
    x = none;
    expect(!x.has() && !x.copy().has() && option<T>(a).copy() == option<T>(a), "emptied");
    option<T>& self = x;
    x = a;
    x = self;
    expect(*x == a, "assigned to itself");
}

static_assert(sizeof(option<eve::string>) == 16, "no bigger than a string");
static_assert(sizeof(option<error>) == 8);
static_assert(sizeof(option<i64>) == 16 && __is_trivially_copyable(option<i64>),
              "in two registers");

void check_options() {
    check_option<i64>(1, 2);
    check_option<bool>(false, true);
    check_option<eve::string>(text("a"), text("a text of more than fifteen bytes"));
    check_option<eve::string>(eve::string(), text("b"));
    check_option<counted>(counted(1), counted(2));
    check_option<option<i64>>(option<i64>(), option<i64>(3));
    check_option<option<eve::string>>(option<eve::string>(), option<eve::string>(text("x")));
    check_option<tuple<i64, eve::string>>(make_tuple(i64(1), text("a")),
                                          make_tuple(i64(1), text("b")));
    expect(counted::alive == 0, "all are destroyed");
    option<vector<i64>> v = vector<i64>::of(1, 2);
    option<vector<i64>> w = v.copy();
    v->push(3);
    expect(w->size() == 2 && v.take().size() == 3, "an option of what is only moved");
    expect(option<i64>() < option<i64>(-5) && option<i64>(1) < option<i64>(2) &&
               !(option<i64>(1) < option<i64>()),
           "none is least");
}

result<i64> half(i64 x) {
    if (x % 2 != 0) return error(7, text("odd"));
    return x / 2;
}

void check_results() {
    result<i64> good = half(4), bad = half(3);
    expect(good.ok() && *good == 2 && !bad.ok() && bad.why().code() == 7, "result");
    expect_text(bad.why().text(), "odd");
    result<i64> copy = bad;
    bad = good;
    expect(bad == good && !copy.ok() && !(copy == good), "assigned");
    result<eve::string> s = text("a text of more than fifteen bytes");
    result<eve::string> t = static_cast<result<eve::string>&&>(s);
    s = error(1, text("why"));
    expect(t.ok() && !s.ok() && s.copy() == s, "moved");
    expect_text(t.take(), "a text of more than fifteen bytes");
    expect(result<i64>().ok() && *result<i64>() == 0, "the zero value is zero");
    result<void> done, failed = error(1, text("no"));
    expect(done.ok() && !failed.ok(), "result of nothing");
    {
        result<counted> c = counted(1), d = error(1, text("x")), e = c;
        d = c;
        c = error(2, text("y"));
        e = static_cast<result<counted>&&>(c);
        expect(!e.ok() && d.ok() && counted::alive == 1, "one value is left");
    }
    expect(counted::alive == 0, "all are destroyed");
}

void check_errors() {
    error nothing;
    expect(nothing.code() == 0 && nothing.text().empty() && !nothing.cause().has() &&
               nothing == error(),
           "zero error");
    error inner = make_error(2, text("no route"));
    error outer(3, text("cannot connect"), inner);
    expect(outer.cause().has() && *outer.cause() == inner && !(outer == inner), "cause");
    option<error> none_of_them;
    expect(!none_of_them.has(), "an option of an error");
    // A chain as long as this one must not be freed by recursion.
    error chain;
    for (int i = 0; i < 300000; ++i) chain = error(i, eve::string(), chain);
    expect(chain.cause()->code() == 299998, "a long chain");
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([outer] {
            for (int i = 0; i < 5000; ++i) {
                error copy = outer;
                if (copy.cause()->code() != 2) std::abort();
            }
        });
    }
    for (auto& t : threads) t.join();
}

void check_tuples() {
    tuple<i64, eve::string, bool> t(1, text("x"), true);
    expect(get<0>(t) == 1 && get<2>(t), "get");
    get<1>(t) = text("y");
    expect_text(get<1>(t), "y");
    tuple<i64, i64> a(1, 2), b(1, 3), c(2, 0);
    expect(a < b && b < c && !(b < a) && c > a && a <= a && a >= a && a == a.copy() && a != b,
           "order");
    tuple<i64, vector<i64>> v(1, vector<i64>::of(4));
    vector<i64> taken = get<1>(static_cast<tuple<i64, vector<i64>>&&>(v));
    expect(taken.size() == 1 && get<1>(v).empty(), "an element is moved out");
    expect(get<0>(tuple<i64, eve::string>()) == 0, "zero tuple");
}

i64 apply(fn<i64(i64)> f, i64 x) { return f(x); }

void check_functions() {
    i64 added = 5;
    expect(apply([&](i64 x) { return x + added++; }, 1) == 6 && added == 6, "fn");
    auto keep = [held = text("a text of more than fifteen bytes"), n = i64(0)](i64 x) mutable {
        return held.size() + (n += x);
    };
    static_assert(sizeof(option<callback<void()>>) == sizeof(callback<void()>));
    callback<i64(i64)> c = keep;
    callback<i64(i64)> d = c;
    expect(c(1) == 34 && d(1) == 35, "copies are one closure");
    expect(same(c, d) && !same(c, callback<i64(i64)>(keep)), "same");
    c = callback<i64(i64)>();
    expect(c(1) == 0 && d(1) == 36, "the zero value does nothing");
    std::vector<std::thread> threads;
    callback<void()> shared = [counts = counted(1)] {
        if (counts.x != 1) std::abort();
    };
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([shared] {
            for (int i = 0; i < 2000; ++i) {
                callback<void()> copy = shared;
                copy();
            }
        });
    }
    for (auto& t : threads) t.join();
    shared = callback<void()>();
    expect(counted::alive == 0, "the last copy frees the closure");
}

void check_failures() {
    static const site spawned{"chat.eve", 3}, outer{"chat.eve", 1};
    try {
        fail(&here, text("no more"));
    } catch (failure& f) {
        f.passed(&spawned);
        f.passed(&outer);
        failure again = f;
        expect_text(again.message(), "test.eve:7: no more");
        expect_text(
            again.trace(),
            "test.eve:7: no more\n    in the task of chat.eve:3\n    in the task of chat.eve:1\n");
        for (int i = 0; i < 20; ++i) f.passed(&outer);
        expect(view(f.trace()).find("and others") != std::string_view::npos, "a long trace ends");
    }
    try {
        fail(&here, error(4, text("cannot"), error(5, text("disk"))));
    } catch (const failure& f) {
        error e = f.as_error();
        expect(e.code() == 4 && e.cause()->code() == 5, "code and cause are kept");
        expect_text(e.text(), "test.eve:7: cannot");
    }
    expect(failure_of([] { fail_assert(&here, "a == b"); }) == "assertion failed: a == b",
           "assert");
    expect(failure_of([] { fail_assert(&here, "a == b", text("sum")); }) ==
               "assertion failed: a == b: sum",
           "assert with a text");
    expect(failure_of([] { fail_compared(&here, "a == b", text("1"), text("2"), false); }) ==
               "assertion failed: a == b: left is 1, right is 2",
           "assert with both sides");
    expect(failure_of([] { fail_compared(&here, "a == b", text("\"\n\x01"), text(""), true); }) ==
               "assertion failed: a == b: left is \"\\\"\\n\\x01\", right is \"\"",
           "assert with both strings");
    expect(failure_of([] { fail("x.eve", 2, text("t")); }) == "t", "fail with a place");
}

} // namespace

int main() {
    check_options();
    check_results();
    check_errors();
    check_tuples();
    check_functions();
    check_failures();
    return finish();
}
