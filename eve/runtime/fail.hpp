#pragma once
// Failure: a trap or `fail` throws eve::failure (failure.hpp). It unwinds the task, whose
// destructors give back the permissions. Nothing here is inline, so that calling code stays small
// and its run_next path straight.
#include "base.hpp"

namespace eve {

class string;
class error;

// A place in the Eve text that can fail. Generated code has one static constant for each place.
struct site {
    const char* file;
    int line;
};

// site is null when the place is unknown: the message then begins with the text.
[[noreturn, gnu::cold, gnu::noinline]] void fail(const site* at, const string& text);
[[noreturn, gnu::cold, gnu::noinline]] void fail(const site* at, const char* text);
[[noreturn, gnu::cold, gnu::noinline]] void fail(const site* at, const error& cause);
[[noreturn, gnu::cold, gnu::noinline]] void fail(const char* file, int line, const string& text);
[[noreturn, gnu::cold, gnu::noinline]] void fail_assert(const site* at, const char* expression);
[[noreturn, gnu::cold, gnu::noinline]] void fail_assert(const site* at, const char* expression,
                                                        const string& message);
// Says both values of a comparison. Strings are quoted.
[[noreturn, gnu::cold, gnu::noinline]] void fail_compared(const site* at, const char* expression,
                                                          const string& left, const string& right,
                                                          bool quoted);

[[noreturn, gnu::cold, gnu::noinline]] void fail_index(i64 index, i64 size, const site* at);
[[noreturn, gnu::cold, gnu::noinline]] void fail_cut(i64 low, i64 high, i64 size, const site* at);
[[noreturn, gnu::cold, gnu::noinline]] void fail_size(i64 size, const site* at);
[[noreturn, gnu::cold, gnu::noinline]] void fail_sizes(i64 size, i64 other, const site* at);
[[noreturn, gnu::cold, gnu::noinline]] void fail_overflow(const site* at);
[[noreturn, gnu::cold, gnu::noinline]] void fail_divide(const site* at);
[[noreturn, gnu::cold, gnu::noinline]] void fail_shift(i64 count, int bits, const site* at);
[[noreturn, gnu::cold, gnu::noinline]] void fail_power(const site* at);
[[noreturn, gnu::cold, gnu::noinline]] void fail_convert(const site* at);
[[noreturn, gnu::cold, gnu::noinline]] void fail_key(const site* at);
[[noreturn, gnu::cold, gnu::noinline]] void fail_iterated(const site* at);

// For a catch block of generated code, around the body of a task. Records that the failure came
// through the task that began at this place, and rethrows it.
[[noreturn, gnu::cold, gnu::noinline]] void pass_on(const site* started);

// Ends the process with one line on standard error, when no task can go on.
[[noreturn, gnu::cold, gnu::noinline]] void die(const char* text) noexcept;
[[noreturn, gnu::cold, gnu::noinline]] void die_out_of_memory() noexcept;

} // namespace eve
