#pragma once
// Helpers of the tests of values. They may use the STL, which they compare with.
#include "../failure.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

inline int wrong = 0;

inline void expect(bool ok, const char* what, int line = __builtin_LINE(),
                   const char* file = __builtin_FILE()) {
    if (ok) return;
    std::fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
    ++wrong;
}

inline std::string_view view(const eve::string& s) { return {s.data(), std::size_t(s.size())}; }
inline eve::string text(std::string_view s) { return eve::string(s.data(), eve::i64(s.size())); }

inline void expect_text(const eve::string& got, std::string_view want, int line = __builtin_LINE(),
                        const char* file = __builtin_FILE()) {
    if (view(got) == want) return;
    std::fprintf(stderr, "%s:%d: got \"%.*s\", want \"%.*s\"\n", file, line, int(got.size()),
                 got.data(), int(want.size()), want.data());
    ++wrong;
}

inline constexpr eve::site here{"test.eve", 7};

// The message of the failure of work, without the place; "" when it does not fail.
template <class Work> std::string failure_of(Work work) {
    try {
        work();
    } catch (const eve::failure& f) {
        return std::string(view(f.what().text()));
    }
    return "";
}

// Random numbers, the same sequence in every run. A failing test prints its place in it.
struct dice {
    unsigned long state = 88172645463325252ul;
    unsigned long roll() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return state * 0x2545f4914f6cdd1dul;
    }
    long below(long n) { return long(roll() >> 1) % n; }
};

inline int finish() {
    if (wrong != 0) std::fprintf(stderr, "%d wrong\n", wrong);
    return wrong != 0;
}
