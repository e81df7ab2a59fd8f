// Strings of every kind against std::string.
#include "../string.hpp"

#include "../vector.hpp"
#include "values_check.hpp"

#include <cmath>
#include <set>
#include <thread>
#include <vector>

using namespace eve;

namespace {

void check_same(const eve::string& s, const std::string& m) {
    expect_text(s, m);
    expect(s == text(m) && !(s < text(m)) && s <= text(m), "equal to the same text made anew");
    expect(s.hash_value() == text(m).hash_value(), "equal strings have equal hashes");
    expect(s.empty() == m.empty(), "empty");
}

void check_literals() {
    expect_text(eve::string(), "");
    expect_text(string::literal("0123456789abcde", 15), "0123456789abcde");
    expect_text(string::literal("0123456789abcdef", 16), "0123456789abcdef");
    const char* words = "a literal of more than fifteen bytes";
    eve::string s = string::literal(words);
    expect(s.data() == words, "a literal is not copied");
    expect(s.cut(2, 30, &here).data() == words + 2, "nor are its long parts");
    expect_text(s.cut(2, 9, &here), "literal");
    expect(s == text(words), "a literal equals the same bytes on the heap");
    expect_text(string::of('x'), "x");
    expect_text(string::of_rune(0x41), "A");
    expect_text(string::of_rune(0xe9), "\u00e9");
    expect_text(string::of_rune(0x20ac), "\u20ac");
    expect_text(string::of_rune(0x1f600), "\U0001f600");
    expect_text(string::of_rune(0xd800), "\ufffd");
    expect_text(string::of_rune(-1), "\ufffd");
}

void check_cuts() {
    std::string m;
    for (int i = 0; i < 2000; ++i) m += char('a' + i % 26);
    eve::string s = text(m);
    dice d;
    for (int i = 0; i < 2000; ++i) {
        long low = d.below(2001), high = low + d.below(2001 - low);
        eve::string part = s.cut(low, high, &here);
        check_same(part, m.substr(std::size_t(low), std::size_t(high - low)));
        long n = part.size();
        if (n > 0)
            check_same(part.cut(n / 3, n, &here),
                       m.substr(std::size_t(low + n / 3), std::size_t(n - n / 3)));
    }
    expect(s.cut(10, 1990, &here).data() == s.data() + 10, "a long part shares the bytes");
    eve::string kept = s.cut(100, 1500, &here);
    s = eve::string();
    check_same(kept, m.substr(100, 1400));
    kept += text("!");
    check_same(kept, m.substr(100, 1400) + "!");
    expect(failure_of([&] { kept.cut(3, 2, &here); }) ==
               "3..2 is out of range: there are 1401 elements",
           "bad cut");
    expect(!failure_of([&] { kept.cut(0, 1402, &here); }).empty(), "cut behind the end");
    expect(!failure_of([&] { kept.cut(-1, 2, &here); }).empty(), "cut before the start");
    expect(failure_of([&] { kept.at(1401, &here); }) ==
               "index 1401 is out of range: there are 1401 elements",
           "bad index");
    expect(kept.at(1400, &here) == '!', "last byte");
}

// Appending in place must not change copies and parts that were made before.
void check_appending() {
    dice d;
    std::vector<std::pair<eve::string, std::string>> pool(6);
    for (int i = 0; i < 20000; ++i) {
        auto& a = pool[std::size_t(d.below(6))];
        auto& b = pool[std::size_t(d.below(6))];
        switch (d.below(6)) {
        case 0:
        case 1:
            a.first += b.first;
            a.second += std::string(b.second);
            break;
        case 2: {
            std::string more(std::size_t(d.below(20)), char('a' + d.below(26)));
            a.first = static_cast<eve::string&&>(a.first) + text(more);
            a.second += more;
            break;
        }
        case 3: a = b; break;
        case 4: {
            long n = a.first.size(), low = d.below(n + 1), high = low + d.below(n - low + 1);
            a.second = a.second.substr(std::size_t(low), std::size_t(high - low));
            a.first = a.first.cut(low, high, &here);
            break;
        }
        default: std::swap(a, b);
        }
        if (a.second.size() > 5000) a = {};
        check_same(a.first, a.second);
        check_same(b.first, b.second);
        check_same(a.first + b.first, a.second + b.second);
    }
}

void check_order() {
    const char* words[] = {
        "",  "a",    "aa", "ab", "abcdefghijklmnop", "abcdefghijklmnopq", "abcdefghijklmno",
        "b", "\xff", "z"};
    for (const char* x : words) {
        for (const char* y : words) {
            std::string_view a = x, b = y;
            expect((text(a) < text(b)) == (a < b) && (text(a) == text(b)) == (a == b) &&
                       (text(a) >= text(b)) == (a >= b),
                   "order by bytes");
        }
    }
}

void check_methods() {
    expect_text(text("Hello, W\u00d6rld zZ").upper(), "HELLO, W\u00d6RLD ZZ");
    expect_text(text("Hello, W\u00d6rld AZ").lower(), "hello, w\u00d6rld az");
    expect_text(text(" \t\r\n x y \n").trim(), "x y");
    expect_text(text("  ").trim(), "");
    eve::string s = text("one, two, three, two, one and a bit more");
    expect(s.starts_with(text("one")) && !s.starts_with(text("two")) &&
               s.starts_with(eve::string()),
           "starts_with");
    expect(s.ends_with(text("more")) && !text("re").ends_with(text("more")) && s.ends_with(s),
           "ends_with");
    expect(*s.find(text("two")) == 5 && !s.find(text("four")).has() && *s.find(eve::string()) == 0,
           "find");
    expect(s.contains(text("three")) && !s.contains(text("Three")), "contains");
    expect_text(s.replace(text("two"), text("2")), "one, 2, three, 2, one and a bit more");
    expect_text(text("aaaa").replace(text("aa"), text("aba")), "abaaba");
    expect_text(text("abc").replace(eve::string(), text("x")), "abc");
    expect_text(text("ab").repeat(9), "ababababababababab");
    expect_text(text("ab").repeat(0), "");
    expect_text(text("ab").repeat(-1), "");
    expect(!failure_of([] { text("ab").repeat(largest<i64>, &here); }).empty(), "a text too long");
    expect_text(eve::join(text("a,b,,c").split(text(",")), text("-")), "a-b--c");
    expect(text("a,b,,c").split(text(",")).size() == 4 &&
               eve::string().split(text(",")).size() == 1,
           "split");
    expect(text("abc").split(eve::string()).size() == 1, "an empty separator splits nothing");
    expect_text(text("\x01\xab z").bytes().hex(), "01ab207a");
    bytes b = text("ab").bytes();
    b.append_text(text("cd"));
    expect_text(b.text(), "abcd");
    expect(eve::join(vector<eve::string>(), text(",")).empty(), "join of nothing");
}

void check_numbers() {
    struct {
        const char* s;
        bool some;
        long want;
    } ints[] = {{"0", true, 0},
                {"-1", true, -1},
                {"+7", true, 7},
                {"9223372036854775807", true, 9223372036854775807},
                {"-9223372036854775808", true, least<i64>},
                {"9223372036854775808", false, 0},
                {"", false, 0},
                {"-", false, 0},
                {"+", false, 0},
                {"+-1", false, 0},
                {" 1", false, 0},
                {"1 ", false, 0},
                {"1x", false, 0},
                {"0x10", false, 0},
                {"00012", true, 12},
                {"1.0", false, 0}};
    for (auto& c : ints) {
        option<i64> got = text(c.s).to_int();
        expect(got.has() == c.some && (!c.some || *got == c.want), c.s);
    }
    struct {
        const char* s;
        bool some;
        double want;
    } floats[] = {
        {"0", true, 0},        {"1.5", true, 1.5},
        {"-2e3", true, -2000}, {"+.5", true, 0.5},
        {"1e400", false, 0},   {"inf", true, INFINITY},
        {"1e-400", true, 0},   {"-1e400", false, 0},
        {"nan(1)", false, 0},  {"", false, 0},
        {"1.5x", false, 0},    {"1,5", false, 0},
        {"0.1", true, 0.1},    {"179769313486231580793e288", true, 1.7976931348623158e308}};
    for (auto& c : floats) {
        option<f64> got = text(c.s).to_float();
        expect(got.has() == c.some && (!c.some || *got == c.want), c.s);
    }
}

// Handles of one buffer in several threads: the count is atomic.
void check_threads() {
    eve::string s = text(std::string(1000, 'x'));
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([s] {
            for (int i = 0; i < 5000; ++i) {
                eve::string copy = s;
                eve::string part = copy.cut(1, 900, &here);
                part += text("y");
            }
        });
    }
    s = eve::string();
    for (auto& t : threads) t.join();
}

void check_hashes() {
    std::set<u64> seen;
    for (int i = 0; i < 20000; ++i) {
        seen.insert(text(std::to_string(i)).hash_value());
        seen.insert(text("a longer prefix of keys " + std::to_string(i)).hash_value());
        seen.insert(text(std::string(std::size_t(i), '\0')).hash_value());
    }
    expect(seen.size() == 60000, "64-bit hashes of 60 000 different strings differ");
}

} // namespace

int main() {
    check_literals();
    check_cuts();
    check_appending();
    check_order();
    check_methods();
    check_numbers();
    check_threads();
    check_hashes();
    return finish();
}
