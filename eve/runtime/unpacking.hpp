#pragma once
// What the unpackers of util.compress, util.zstd and util.brotli have in common.
#include "result.hpp"

namespace eve::unpacking {

// Codes of errors, as in their declarations in std/util.
constexpr i64 damaged = 1;
constexpr i64 cut_off = 2;
constexpr i64 too_large = 3;

inline error wrong_before() { return error(damaged, string::literal("the data was wrong before")); }

// What finish says of data that is no whole stream.
inline error unfinished(bool failed) {
    return failed ? wrong_before() : error(cut_off, string::literal("the data ends early"));
}

// Unpacks data that is there as a whole.
template <typename unpacker> result<bytes> whole(unpacker u, const bytes& data) {
    result<bytes> out = u.write(data);
    if (!out.ok()) return out.why();
    result<void> end = u.finish();
    if (!end.ok()) return end.why();
    return out;
}

} // namespace eve::unpacking
