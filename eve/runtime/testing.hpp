#pragma once
// Module util.testing: fake time. The rest is written in Eve, in std/util/testing.eve.
#include "async.hpp"

namespace eve::util::testing {

// Any thread. Whether the program has a fake clock.
inline bool faked() noexcept { return the_fake_clock.on(); }

inline async<void> until_rest(duration d) { return sleep_last(d); }

} // namespace eve::util::testing
